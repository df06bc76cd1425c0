//! `--rate auto`: the most that the machine does, measured first, and the rates that follow from it.

use super::args::Rates;
use super::measure;
use super::prepare::Job;
use super::rate::PRESET;
use crate::cli::RunArgs;
use crate::engines;
use crate::error::AppError;
use crate::output;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use threadwise_document::numbers::{self, rounded};
use threadwise_machine::Topology;
use threadwise_runner::{Reason, guard};
use threadwise_store::Store;
use threadwise_study::Run;

/// Rates of `auto`, as shares of the most that any treatment does in a closed loop; the last is an overload.
const SHARES: [f64; 6] = [0.2, 0.4, 0.6, 0.75, 0.9, 1.05];

/// Blocks of the study that finds the most.
const BLOCKS: u32 = 2;

/// Rounds of such a block.
const ROUNDS: u32 = 4;

/// The arguments with the rates that `auto` stands for; the same if rates are given.
///
/// # Errors
/// The study that finds the most fails.
pub fn found(args: &RunArgs, topology: &Topology, stop: &Arc<AtomicBool>) -> Result<RunArgs, AppError> {
    let is_preset =
        args.study.as_deref() == Some(PRESET) && args.rates.rate.is_none() && args.resume.is_none();
    if args.rates.rate != Some(Rates::Auto) && !is_preset {
        return Ok(args.clone());
    }
    if args.resume.is_some() {
        return Err(AppError::Input(
            "--resume continues at the rates that the study has: leave --rate out".to_owned(),
        ));
    }
    if args.measure.plan {
        let why =
            "--rate auto is measured, and --plan measures nothing: give rates, such as --rate 50,100,200";
        return Err(AppError::Input(why.to_owned()));
    }
    let most = most_per_s(args, topology, stop)?;
    let rates: Vec<f64> = SHARES.iter().map(|share| rounded(share * most, 2)).collect();
    output::tell(&format!(
        "threadwise: the most is {} requests a second: rates are {}",
        numbers::set_number(rounded(most, 3)),
        rates.iter().map(|rate| numbers::set_number(*rate)).collect::<Vec<_>>().join(", ")
    ));
    let mut found = args.clone();
    found.rates.rate = Some(Rates::PerSecond(rates));
    Ok(found)
}

/// Requests a second of the fastest treatment, each session sending its next one when the last is done.
fn most_per_s(args: &RunArgs, topology: &Topology, stop: &Arc<AtomicBool>) -> Result<f64, AppError> {
    let folder = tempfile::tempdir().map_err(|error| {
        AppError::Failed(format!("cannot make a temporary folder: {error}; set TMPDIR to a folder with room"))
    })?;
    let mut closed = args.clone();
    closed.rates.rate = None;
    closed.rates.arrivals = None;
    closed.measure.budget = None;
    closed.until = None;
    closed.measure.blocks = Some(BLOCKS);
    closed.slices.rounds = Some(ROUNDS);
    closed.long_windows = Some(0);
    closed.measure.no_probe = true;
    closed.measure.no_html = true;
    closed.measure.html = None;
    closed.measure.output = Some(folder.path().join("most.threadwise"));
    let is_transaction = !closed.transactions.transaction.is_empty();
    if closed.engine.as_deref().is_some_and(engines::is_server) && !is_transaction {
        closed.set.push(("loop".to_owned(), "client".to_owned()));
    }
    output::tell("threadwise: finding the most that this machine does, for the rates");
    let mut job = Job::fresh(&closed, topology)?;
    if !job.is_simulated() {
        let busy =
            guard::check_start(topology, &engines::servers(), args.measure.allow_busy, job.is_users_server());
        busy.map_err(AppError::refused)?;
    }
    let outcome = measure::measure(&mut job, topology, &closed, Instant::now(), stop)?;
    if outcome.reason == Reason::Interrupted {
        return Err(AppError::Interrupted("stopped before the rates were found; nothing is kept".to_owned()));
    }
    let runs = Store::open(&job.output).and_then(|store| store.runs()).map_err(AppError::failed)?;
    let most = runs.iter().filter_map(steps_per_s).fold(0.0, f64::max);
    match most > 0.0 {
        true => Ok(most),
        false => Err(AppError::Failed(
            "no treatment did any request, so that there is no rate to begin with: give --rate 200/s, or see why with \
             the same command without --rate"
                .to_owned(),
        )),
    }
}

/// Steps a second of a run's windows; `None` if it failed.
fn steps_per_s(run: &Run) -> Option<f64> {
    let window_ns: u64 = run.slices.iter().map(|slice| slice.window_ns).sum();
    let steps: u64 = run.slices.iter().flat_map(|slice| &slice.sessions).map(|session| session.steps).sum();
    (run.status.is_valid() && window_ns > 0).then(|| steps as f64 * 1e9 / window_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_two_digits() {
        for (value, with_two) in [(1234.5, 1200.0), (0.0999, 0.1), (99.6, 100.0), (7.0, 7.0)] {
            assert!((rounded(value, 2) / with_two - 1.0).abs() < 1e-9, "{value}");
        }
    }
}
