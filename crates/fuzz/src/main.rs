//! Mutated inputs for everything that reads others' data, without a nightly compiler: mutants of valid
//! inputs, made from a seed and a number, so that each can be made again. `cargo xtask fuzz` starts this.
//!
//! Exit codes: 0 nothing was found, 1 something was found or too few inputs got past the outermost check,
//! 2 the command line is wrong.

// A program for contributors: it prints to the terminal, and looks for panics.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::expect_used)]

mod mutate;
mod random;
mod run;
mod supervise;
mod target;
mod targets;
#[cfg(test)]
mod tests;

use clap::Parser;
use run::Plan;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};
use supervise::Report;
use target::Kind;
use targets::TARGETS;

/// Folder of inputs of findings.
const FOLDER: &str = "target/fuzz";
/// Time for each target where a number of inputs ends it.
const LONG: Duration = Duration::from_secs(86_400);

/// Mutated inputs for everything that reads what others wrote.
#[derive(Parser)]
#[command(bin_name = "cargo xtask fuzz")]
struct Asked {
    /// Time for each target, minutes (default: 1)
    #[arg(long)]
    minutes: Option<u64>,
    /// The same in seconds
    #[arg(long, conflicts_with = "minutes")]
    seconds: Option<u64>,
    /// End after this number of inputs of each target
    #[arg(long)]
    inputs: Option<u64>,
    /// One target; all without it, two at once
    #[arg(long, value_parser = kind)]
    target: Option<&'static Kind>,
    /// Seed of the inputs (default: the time)
    #[arg(long)]
    seed: Option<u64>,
    /// Only the input of this number
    #[arg(long)]
    input: Option<u64>,
    /// A kept input
    #[arg(long, requires = "target")]
    file: Option<PathBuf>,
    /// In the process of a target
    #[arg(long, hide = true, value_parser = |text: &str| serde_json::from_str::<Plan>(text))]
    inside: Option<Plan>,
}

fn main() -> ExitCode {
    match Asked::parse().run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("fuzz: {why}");
            ExitCode::from(2)
        }
    }
}

fn kind(name: &str) -> Result<&'static Kind, String> {
    let known = || TARGETS.map(|kind| format!("\n  {:<16} {}", kind.name, kind.about)).concat();
    let found = TARGETS.iter().find(|kind| kind.name == name);
    found.ok_or_else(|| format!("no target '{name}'; targets are:{}", known()))
}

impl Asked {
    fn plan(&self) -> Plan {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let seconds = self.seconds.or(self.minutes.map(|minutes| 60 * minutes));
        let (from, to) = match self.input {
            Some(number) => (number, number + 1),
            None => (0, self.inputs.unwrap_or(u64::MAX)),
        };
        let usual = if self.inputs.is_some() { LONG } else { Duration::from_secs(60) };
        let time = seconds.map_or(usual, Duration::from_secs);
        Plan { seed: self.seed.unwrap_or(now.as_secs()), from, to, time }
    }

    fn run(&self) -> Result<bool, String> {
        let (plan, kinds) = (self.plan(), self.target.map_or(TARGETS.iter().collect(), |kind| vec![kind]));
        if let Some(inside) = self.inside {
            return run::run(kinds[0], inside).map(|()| true);
        }
        if let Some(path) = &self.file {
            let input = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
            let judged = run::judged(&mut (kinds[0].make)(), |_| input);
            println!("{}: {judged:?}", path.display());
            return Ok(judged.is_ok());
        }
        println!("seed {}, {} s for each target", plan.seed, plan.time.as_secs());
        println!("{:<16} {:>9} {:>8} {:>9} {:>8}", "target", "inputs", "past", "inputs/s", "findings");
        let folder = Path::new(FOLDER);
        let show = |kind: &Kind, report: &Report| print(kind, plan.seed, folder, report);
        supervise::all(&kinds, plan, 2, folder, show)
    }
}

/// A line for the target, and what to do about each finding.
fn print(kind: &Kind, seed: u64, folder: &Path, report: &Report) {
    let rate = report.inputs as f64 / report.ran_s.max(0.001);
    let (name, share, found) = (kind.name, 100.0 * report.share(), report.findings.len());
    println!("{name:<16} {:>9} {share:>7.1}% {rate:>9.0} {found:>8}", report.inputs);
    if report.share() < 0.5 {
        println!("  {name}: fewer than half of the inputs get past the outermost check: mutate them less");
    }
    for finding in &report.findings {
        let (number, what) = (finding.number, &finding.what);
        let file = supervise::input_file(folder, kind, seed, number);
        println!("  {name}: {what} ({} inputs)", finding.times);
        println!(
            "    {}; again: cargo xtask fuzz --target {name} --seed {seed} --input {number}",
            file.display()
        );
    }
}
