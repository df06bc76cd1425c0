//! `threadwise run`: from a preset or study definition to a verdict, a result file and a report.

mod args;
mod arms;
mod boots;
mod bound;
mod command;
mod external;
mod factors;
mod fault;
mod options;
mod prepare;
mod program;
mod rate;
mod saturation;
mod server;
mod space;
pub mod transaction;
mod vcpus;
mod watch;
mod worklist;

use crate::cli::RunArgs;
use crate::commands::{self, screen, topology};
use crate::engines;
use crate::error::AppError;
use crate::opened::Opened;
use crate::output;
pub use args::{
    CommandArgs, MeasureArgs, RateArgs, SliceArgs, TransactionArgs, VcpuArgs, metric, server as server_name,
};
pub use boots::{root as boot_root, this_boot};
use prepare::Job;
use std::path::Path;
use std::time::Instant;
use threadwise_analysis::{Facts, cost};
use threadwise_document::{Prose, prose};
use threadwise_machine::{Memory, Topology};
use threadwise_report::{html, json, terminal};
use threadwise_runner::{Outcome, Reason, guard};
use threadwise_study::transaction::written_to;
use threadwise_study::{Workload, plan_block};

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
    let outcome = match watch::measure(&mut job, &topology, args, began, &stop) {
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

/// Prints the results and writes the report. Returns what is wrong with the study, if anything.
fn tell(args: &RunArgs, job: &Job) -> Result<Option<String>, AppError> {
    let opened = Opened::open(&job.output)?;
    let facts = Facts { asked: job.asked, ..opened.facts() };
    let mut document = threadwise_analysis::document(&facts);
    document.screen.files = files(&job.output, job.html.as_deref());
    let text = match args.measure.json {
        true => format!("{}\n", json::report(&facts, &document)),
        false => screen::shown(&document, args.measure.all),
    };
    let page = || html::render(&document).map_err(AppError::failed);
    let replaces = args.resume.is_some().then_some(html::REPORT);
    output::deliver(output::print(&text), job.html.as_deref(), replaces, page).map_err(
        |error| match error {
            AppError::Failed(why) => {
                AppError::Failed(format!("{why}; the study is in {}", job.output.display()))
            }
            other => other,
        },
    )?;
    if args.measure.all && !args.measure.json {
        output::print(&closing(&job.output, job.html.as_deref()))?;
    }
    Ok(opened.problem())
}

/// An invalid study is an error for scripts, though its results were printed.
fn valid(problem: Option<String>, job: &Job) -> Result<(), AppError> {
    let Some(problem) = problem else { return Ok(()) };
    let store = output::shell_word(&job.output);
    Err(AppError::Failed(format!(
        "the study is not valid as a whole: {problem}; its runs and their reasons: threadwise export {store}"
    )))
}

/// The head of the results: the machine, what is measured on it, and for how long.
fn brief(job: &Job, topology: &Topology) -> String {
    let all = &job.study.treatments;
    let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).take(MOST_NAMED).collect();
    let more = all.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let left_out = match job.study.left_out.len() {
        0 => String::new(),
        some => format!("; {some} left out (--plan shows why)"),
    };
    let line = terminal::topology_line(topology);
    format!("{line}\n{}: {}{more}{left_out}\n{}\n\n", job.study.name, names.join(", "), job.price())
}

/// Maximum treatments named before a study.
const MOST_NAMED: usize = 6;

/// Where the other results are.
fn files(store: &Path, html: Option<&Path>) -> Prose {
    let again = Prose::command(format!("threadwise report {} --all", output::shell_word(store)));
    match html {
        Some(page) => prose!("page {} · everything: {}", page.display().to_string(), again),
        None => prose!("everything: {}", again),
    }
}

/// The head of the results with --all: the machine, and the placement of each treatment.
fn opening(job: &Job, topology: &Topology) -> Result<String, AppError> {
    let style = output::style();
    let mut text =
        format!("{}\n\n{}\n", terminal::topology_line(topology), terminal::drawing(topology, style));
    if job.is_complete() && job.whole.external.is_some() {
        // The study is complete: its arm no longer matters, and this machine may lack a treatment.
        return Ok(text + "\n");
    }
    let plan = plan_block(&job.study, topology, 0).map_err(AppError::refused)?;
    let width = job.study.treatments.iter().map(|treatment| treatment.name.len()).max().unwrap_or(0);
    text.push_str("Treatments (logical CPUs of the first block; every block has its own draw):\n");
    for (treatment, placement) in job.study.treatments.iter().zip(&plan.placements) {
        let streams = placement.sessions.iter().take(treatment.sessions as usize);
        let cpus: Vec<String> = streams.map(ToString::to_string).collect();
        // Jobs of a list share their placement.
        let is_shared = cpus.len() > 16 || job.study.workload == Workload::WorkList;
        let shown = if is_shared { placement.set().to_string() } else { cpus.join(" ") };
        let (one, many) = match job.study.workload {
            Workload::Tpch => ("stream ", "streams"),
            Workload::WorkList => ("job ", "jobs"),
            _ => ("session ", "sessions"),
        };
        let plural = if treatment.sessions == 1 { one } else { many };
        let dop = treatment.options.get("dop").map_or(String::new(), |dop| format!(", DOP {dop}"));
        let short = match job.study.short_sessions(treatment) {
            0 => String::new(),
            short => format!(", {short} of short queries beside"),
        };
        let memory = match &treatment.memory {
            Memory::Local => String::new(),
            other => format!(", memory={other}"),
        };
        let (name, sessions) = (&treatment.name, treatment.sessions);
        text.push_str(&format!("  {name:<width$}  {sessions:>3} {plural} on {shown}{dop}{short}{memory}\n"));
    }
    for line in &job.study.left_out {
        text.push_str(&format!("  left out: {line}\n"));
    }
    for line in job.study.placement_remarks(topology) {
        text.push_str(&format!("  {line}\n"));
    }
    text.push_str(&worklist::shown(&job.study));
    text.push_str(&command::shown(&job.study));
    text.push_str(&transaction::shown(&job.study));
    text.push_str(&format!("{}\n", job.price()));
    for remark in job.remarks.iter().chain(&arms::remark(&job.study)) {
        text.push_str(&format!("{remark}\n"));
    }
    text.push('\n');
    Ok(text)
}

/// Where the results are stored.
fn closing(store: &Path, html: Option<&Path>) -> String {
    let mut text = format!("Result file: {}\n", store.display());
    if let Some(html) = html {
        text.push_str(&format!("Report:      {}\n", html.display()));
    }
    text.push_str(&format!("Again:       threadwise report {}\n", output::shell_word(store)));
    text
}

/// The command that continues a study, with everything it needs: permissions apply to one start, and the folders of
/// data and reports must be given again.
fn going_on(job: &Job, args: &RunArgs) -> String {
    let measure = &args.measure;
    let mut words = format!("threadwise run --resume {}", output::shell_word(&job.output));
    let mut flag = |is_given: bool, option: &str| words.push_str(if is_given { option } else { "" });
    flag(measure.allow_busy, " --allow-busy");
    flag(command::has_commands(&job.study), " --allow-commands");
    flag(args.yes, " --yes");
    flag(measure.no_html, " --no-html");
    flag(measure.json, " --json");
    // A limit of time was too short or is the user's choice, and is not repeated.
    let mut named = |option: &str, value: Option<String>| {
        words.extend(value.map(|value| format!(" {option} {value}")));
    };
    for database in written_to(&job.study) {
        named("--may-write", Some(output::quoted(&database)));
    }
    named("--data-dir", measure.data_dir.as_deref().map(output::shell_word));
    named("--arm", job.part.as_ref().map(|(part, _)| output::quoted(&part.arm)));
    words
}

/// An early end is an error for scripts, though its results were printed.
fn ended(outcome: &Outcome, job: &Job, args: &RunArgs) -> Result<(), AppError> {
    let resume = format!("continue with: {}", going_on(job, args));
    match &outcome.reason {
        Reason::PlanDone | Reason::TargetReached => Ok(()),
        Reason::BudgetOver => {
            output::tell(
                "threadwise: the budget ended before every interval reached its target; wider ones are marked",
            );
            Ok(())
        }
        Reason::Interrupted if outcome.blocks == 0 => {
            Err(AppError::Interrupted(format!("stopped before the first block was complete; {resume}")))
        }
        Reason::Interrupted => Err(AppError::Interrupted(format!(
            "stopped after {} complete block(s); {resume}",
            outcome.blocks
        ))),
        Reason::OthersWaited(why) => Err(AppError::Refused(format!("stopped: {why}; {resume}"))),
        Reason::Short(short) if outcome.blocks == 0 => Err(AppError::refused(short)),
        Reason::Short(short) => Err(AppError::Refused(format!(
            "{short}; {} complete block(s) are kept, {resume} --budget {}",
            outcome.blocks,
            short.budget_to_go_on()
        ))),
    }
}
