//! `threadwise run`: from a preset or study definition to a verdict, a result file and a report.

mod args;
mod arms;
mod boots;
mod bound;
mod command;
mod external;
mod factors;
mod fault;
mod measure;
mod options;
mod plan;
mod prepare;
mod program;
mod rate;
mod report;
mod saturation;
mod server;
mod space;
pub mod transaction;
mod vcpus;
mod worklist;

use crate::cli::RunArgs;
use crate::commands::{self, topology};
use crate::engines;
use crate::error::AppError;
use crate::output;
pub use args::{
    CommandArgs, MeasureArgs, RateArgs, SliceArgs, TransactionArgs, VcpuArgs, metric, server as server_name,
};
pub use boots::{root as boot_root, this_boot};
use plan::{brief, opening};
use prepare::Job;
use report::{ended, tell, valid};
use std::time::Instant;
use threadwise_analysis::cost;
use threadwise_runner::{Reason, guard};

/// Measures, stores, analyses, reports.
pub fn run(args: &RunArgs) -> Result<(), AppError> {
    if let Some(source) = &args.transactions.transactions_from {
        return transaction::draft(source, args);
    }
    let began = Instant::now();
    let topology = topology::live()?;
    let stop = commands::stop_flag_of_study()?;
    let args = &saturation::found(args, &topology, &stop)?;
    let mut job = match &args.resume {
        Some(file) => Job::resumed(args, file, &topology)?,
        None => Job::fresh(args, &topology)?,
    };
    if let Some(fault) = job.asked.prices.and_then(|prices| cost::fault(&prices, &job.whole)) {
        return Err(AppError::Input(fault));
    }
    if args.measure.plan && !job.is_complete() {
        arms::check(&job.study, &topology)?;
    }
    if !job.is_simulated() && !args.measure.plan && !job.is_complete() {
        guard::check_process_limits(&job.study, guard::ProcessLimits::read()).map_err(AppError::refused)?;
        guard::check_start(&topology, &engines::servers(), args.measure.allow_busy, job.is_users_server())
            .map_err(AppError::refused)?;
        commands::unless_stopped(&stop)?;
        arms::confirm(&job.study, &topology, args.yes)?;
    }
    if !args.measure.json || args.measure.plan {
        let whole = args.measure.plan || args.measure.all;
        output::print(&if whole { opening(&job, &topology)? } else { brief(&job, &topology) })?;
    }
    if args.measure.plan {
        return Ok(());
    }
    if job.is_complete() {
        output::tell("threadwise: this study is already complete; here is its report");
        return valid(tell(args, &job)?, &job);
    }
    let outcome = match measure::measure(&mut job, &topology, args, began, &stop) {
        Ok(outcome) => outcome,
        Err(error) => {
            // Earlier results are still shown; the error comes last.
            if job.output.exists() && !args.measure.json {
                let _ = tell(args, &job);
            }
            return Err(error);
        }
    };
    // One block gives no interval.
    let is_too_short = matches!(outcome.reason, Reason::Short(_)) && outcome.blocks < 2;
    let problem = if outcome.blocks > 0 && !is_too_short { tell(args, &job)? } else { None };
    ended(&outcome, &job, args)?;
    external::next(&job.whole, outcome.blocks, &job.output, args)?;
    valid(problem, &job)
}
