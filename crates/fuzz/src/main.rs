//! Mutated inputs for everything that reads others' data, without a nightly compiler: mutants of valid
//! inputs, made from a seed and a number, so that each can be made again. `cargo xtask fuzz` starts this.
//!
//! Exit codes: 0 nothing was found, 1 something was found or too few inputs got past the outermost check,
//! 2 the command line is wrong.

// A program for contributors: it prints to the terminal.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod mutate;
mod random;
#[cfg(test)]
mod regressions;
mod run;
mod supervise;
mod target;
mod targets;

use run::Plan;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use supervise::Report;
use target::Kind;
use targets::TARGETS;

const USAGE: &str = "\
usage: cargo xtask fuzz [--minutes N | --seconds N] [--inputs N] [--target NAME] [--seed S] [--input N]
       cargo xtask fuzz --target NAME --file PATH

  --minutes N    time for each target (default: 1)
  --seconds N    the same in seconds
  --inputs N     end after N inputs of each target
  --target NAME  one target; all without it, two at once
  --seed S       seed of the inputs (default: the time)
  --input N      only the input of this number
  --file PATH    a kept input";

/// Folder of inputs of findings.
const FOLDER: &str = "target/fuzz";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["--inside", name, seed, from, to, milliseconds] => [seed, from, to, milliseconds]
            .map(number)
            .into_iter()
            .collect::<Result<Vec<u64>, _>>()
            .and_then(|all| {
                let time = Duration::from_millis(all[3]);
                run::run(kind(name)?, Plan { seed: all[0], from: all[1], to: all[2], time }).map(|()| true)
            }),
        ["help" | "--help" | "-h", ..] => {
            println!("{USAGE}");
            Ok(true)
        }
        _ => Asked::read(&words).and_then(|asked| asked.run()),
    };
    match outcome {
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
    TARGETS
        .iter()
        .find(|kind| kind.name == name)
        .ok_or_else(|| format!("no target '{name}'; targets are:{}", known()))
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("'{text}' is not a whole number"))
}

/// The command line.
struct Asked {
    kinds: Vec<&'static Kind>,
    plan: Plan,
    file: Option<PathBuf>,
}

impl Asked {
    fn read(words: &[&str]) -> Result<Self, String> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let mut plan = Plan { seed: now.as_secs(), from: 0, to: u64::MAX, time: Duration::from_secs(60) };
        let (mut kinds, mut file) = (TARGETS.iter().collect(), None);
        for pair in words.chunks(2) {
            match *pair {
                ["--minutes", value] => plan.time = Duration::from_secs(60 * number(value)?),
                ["--seconds", value] => plan.time = Duration::from_secs(number(value)?),
                ["--inputs", value] => {
                    (plan.to, plan.time) = (number(value)?, plan.time.max(Duration::from_secs(86_400)))
                }
                ["--seed", value] => plan.seed = number(value)?,
                ["--target", value] => kinds = vec![kind(value)?],
                ["--input", value] => (plan.from, plan.to) = (number(value)?, number(value)? + 1),
                ["--file", value] => file = Some(PathBuf::from(value)),
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(Self { kinds, plan, file })
    }

    fn run(&self) -> Result<bool, String> {
        if let Some(path) = &self.file {
            let [kind] = self.kinds[..] else { return Err("--file needs --target".to_owned()) };
            let input = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
            let judged = run::judged(&mut (kind.make)()?, |_| input);
            println!("{}: {judged:?}", path.display());
            return Ok(judged.is_ok());
        }
        println!("seed {}, {} s for each target", self.plan.seed, self.plan.time.as_secs());
        println!("{:<16} {:>9} {:>8} {:>9} {:>8}", "target", "inputs", "past", "inputs/s", "findings");
        let folder = Path::new(FOLDER);
        let show = |kind: &Kind, report: &Report| print(kind, self.plan.seed, folder, report);
        supervise::all(&self.kinds, self.plan, 2, folder, show)
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
