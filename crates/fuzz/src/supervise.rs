//! Runs targets in separate processes, some at once, and reports their outcome.
//!
//! A process that dies or hangs has named its input before; it is started again after that one.

use crate::random::Random;
use crate::run::{Event, MOST_FINDINGS, Plan};
use crate::target::{Kind, write};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// A faulty input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its number under the seed.
    pub number: u64,
    /// What happened.
    pub what: String,
    /// Number of inputs with the same fault.
    pub times: usize,
}

/// Outcome of one target.
#[derive(Debug, Default)]
pub struct Report {
    /// Number of inputs tried.
    pub inputs: u64,
    /// Those that got past the outermost check.
    pub past: u64,
    /// Time for them, seconds.
    pub ran_s: f64,
    /// The first input of each kind of fault.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Share of inputs past the outermost check.
    pub fn share(&self) -> f64 {
        self.past as f64 / self.inputs.max(1) as f64
    }

    /// Whether nothing was found, and at least half of the inputs got past the outermost check.
    pub fn passed(&self) -> bool {
        // The share of one input means nothing.
        self.findings.is_empty() && self.inputs > 0 && (self.share() >= 0.5 || self.inputs == 1)
    }

    fn add(&mut self, number: u64, what: &str) {
        // The same fault occurs with other numbers and names.
        let plain = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || ",.:".contains(c));
        let alike = |text: &str| text.split_whitespace().filter(plain).take(12).collect::<String>();
        match self.findings.iter_mut().find(|finding| alike(&finding.what) == alike(what)) {
            Some(finding) => finding.times += 1,
            None => self.findings.push(Finding { number, what: what.to_owned(), times: 1 }),
        }
    }
}

/// Runs the targets, `jobs` at once, and passes each report to `done` as soon as it is ready.
///
/// # Errors
/// A process cannot be started, or a target cannot be made ready.
pub fn all(
    kinds: &[&Kind],
    plan: Plan,
    jobs: usize,
    folder: &Path,
    done: impl Fn(&Kind, &Report) + Sync,
) -> Result<bool, String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut passed = true;
        while let Some(kind) = kinds.get(next.fetch_add(1, Ordering::Relaxed)) {
            let report = one(kind, plan, folder).map_err(|why| format!("{}: {why}", kind.name))?;
            done(kind, &report);
            passed &= report.passed();
        }
        Ok(passed)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(worker)).collect();
        let outcomes =
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)));
        outcomes.collect::<Result<Vec<bool>, String>>().map(|passed| !passed.contains(&false))
    })
}

fn one(kind: &Kind, mut plan: Plan, folder: &Path) -> Result<Report, String> {
    let mut report = Report::default();
    while plan.from < plan.to && report.findings.len() < MOST_FINDINGS && !plan.time.is_zero() {
        plan = process(kind, plan, &mut report)?;
    }
    keep(kind, plan.seed, &report, folder);
    Ok(report)
}

/// Runs a process to its end and adds what it says; what is left of the plan.
fn process(kind: &Kind, plan: Plan, report: &mut Report) -> Result<Plan, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let inside = serde_json::to_string(&plan).map_err(|error| error.to_string())?;
    let started = Command::new(program)
        .args(["--target", kind.name, "--inside", &inside])
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let failed = |error: std::io::Error| format!("its process: {error}");
    let mut child = started.map_err(failed)?;
    let stderr = child.stderr.take();
    let errors = std::thread::spawn(move || {
        let mut message = String::new();
        // What was read before an error is its message.
        let _ = stderr.map(|mut from| from.read_to_string(&mut message));
        message
    });
    let (mut begun, mut ended, mut since) = (None, false, Instant::now());
    for line in child.stdout.take().into_iter().flat_map(|from| BufReader::new(from).lines()) {
        match serde_json::from_str(&line.map_err(failed)?) {
            Ok(Event::Begun(number)) => {
                if begun.replace(number).is_none() {
                    since = Instant::now();
                }
                report.inputs += 1;
            }
            Ok(Event::Past) => report.past += 1,
            Ok(Event::Found(what)) => report.add(begun.unwrap_or_default(), &what),
            Ok(Event::Ended) => ended = true,
            // What the program itself printed.
            Err(_) => {}
        }
    }
    let status = child.wait().map_err(failed)?;
    let message = errors.join().unwrap_or_default();
    let ran = since.elapsed();
    report.ran_s += ran.as_secs_f64();
    match (begun, ended) {
        (_, true) => Ok(Plan { from: plan.to, ..plan }),
        (None, false) => Err(format!("it was not ready: {}", message.trim())),
        (Some(number), false) => {
            report.add(number, &death(status, &message));
            Ok(Plan { from: number + 1, time: plan.time.saturating_sub(ran), ..plan })
        }
    }
}

fn death(status: ExitStatus, message: &str) -> String {
    let last = message.trim().lines().next().unwrap_or_default();
    match status.signal() {
        Some(signal) => format!("killed by signal {signal}: {last}"),
        None => format!("{status}: {last}"),
    }
}

/// The file of a finding's input.
pub fn input_file(folder: &Path, kind: &Kind, seed: u64, number: u64) -> PathBuf {
    folder.join(format!("{}-{seed}-{number}.input", kind.name))
}

/// Makes the inputs of all findings again and writes them side by side.
fn keep(kind: &Kind, seed: u64, report: &Report, folder: &Path) {
    if report.findings.is_empty() {
        return;
    }
    let target = (kind.make)();
    for Finding { number, .. } in &report.findings {
        let input = (target.input)(&mut Random::of(seed, *number));
        write(&input_file(folder, kind, seed, *number), &input);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_fault_with_other_numbers_is_one_finding() {
        let mut report = Report { inputs: 10, past: 5, ..Report::default() };
        assert!(report.passed());
        report.add(3, "panic: index 7 of 'a'");
        report.add(4, "panic: index 12 of 'b'");
        report.add(5, "took 2.1 s");
        let seen: Vec<(u64, usize)> =
            report.findings.iter().map(|finding| (finding.number, finding.times)).collect();
        assert_eq!(seen, [(3, 2), (5, 1)]);
        assert!(!report.passed());
        assert!(!Report { inputs: 10, past: 4, ..Report::default() }.passed(), "too few got past");
        assert!(!Report::default().passed(), "nothing was tried");
    }
}
