//! Runs targets in separate processes, some at once, and reports their outcome.
//!
//! A process that dies or hangs names the input by the number that it wrote before; it is restarted
//! after that one.

use crate::random::Random;
use crate::run::{MOST_FINDINGS, Numbers, Places, Plan};
use crate::targets::Kind;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Longer than any input takes on a slow machine.
const HUNG: Duration = Duration::from_secs(60);

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
    let (next, outcome) = (AtomicUsize::new(0), Mutex::new(Ok(true)));
    let worker = || {
        while let Some(kind) = kinds.get(next.fetch_add(1, Ordering::Relaxed)) {
            let report = one(kind, plan, folder);
            let mut outcome = outcome.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match report {
                Ok(report) => {
                    done(kind, &report);
                    *outcome = outcome.clone().map(|passed| passed && report.passed());
                }
                Err(why) => *outcome = Err(format!("{}: {why}", kind.name)),
            }
        }
    };
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(worker))));
    outcome.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn one(kind: &Kind, plan: Plan, folder: &Path) -> Result<Report, String> {
    let at = |name: &str| folder.join(format!("{}.{name}", kind.name));
    let (places, errors) = (Places { progress: at("progress"), findings: at("findings") }, at("stderr"));
    let (mut report, mut left) = (Report::default(), plan);
    let _ = fs::remove_file(&places.findings);
    loop {
        let _ = fs::remove_file(&places.progress);
        let child = start(kind, left, &places, &errors)?;
        let ended = watched(child, &places.progress)?;
        let said = fs::read_to_string(&errors).unwrap_or_default();
        let Some(numbers) = Numbers::read(&places.progress) else {
            return Err(format!("it was not ready: {}", said.trim()));
        };
        report.inputs += numbers.at - left.from;
        report.past += numbers.past;
        report.ran_s += numbers.ran_ms as f64 / 1000.0;
        if ended.as_ref().is_some_and(ExitStatus::success) {
            break;
        }
        report.inputs += 1;
        report.add(numbers.at, &death(ended, &said));
        left.from = numbers.at + 1;
        left.time = left.time.saturating_sub(Duration::from_millis(numbers.ran_ms));
        if report.findings.len() >= MOST_FINDINGS || left.time.is_zero() || left.from >= left.to {
            break;
        }
    }
    let found = fs::read_to_string(&places.findings).unwrap_or_default();
    for (number, what) in found.lines().filter_map(|line| line.split_once('\t')) {
        report.add(number.parse().unwrap_or_default(), what);
    }
    for path in [places.progress, places.findings, errors] {
        let _ = fs::remove_file(path);
    }
    keep(kind, plan.seed, &report, folder)?;
    Ok(report)
}

fn start(kind: &Kind, plan: Plan, places: &Places, errors: &Path) -> Result<Child, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let errors = File::create(errors).map_err(|error| format!("{}: {error}", errors.display()))?;
    let started = Command::new(program)
        .args(["--inside", kind.name, "--seed", &plan.seed.to_string(), "--from", &plan.from.to_string()])
        .args(["--to", &plan.to.to_string(), "--milliseconds", &plan.time.as_millis().to_string()])
        .arg(&places.progress)
        .arg(&places.findings)
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn();
    started.map_err(|error| format!("cannot be started: {error}"))
}

/// Waits for the end of a process, and ends a hanging one; `None` for that.
fn watched(mut child: Child, progress: &Path) -> Result<Option<ExitStatus>, String> {
    let (mut last, mut since) = (None, Instant::now());
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(Some(status));
        }
        let numbers = Numbers::read(progress);
        if numbers != last {
            (last, since) = (numbers, Instant::now());
        } else if since.elapsed() > HUNG {
            child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn death(ended: Option<ExitStatus>, said: &str) -> String {
    let last = said.trim().lines().next().unwrap_or_default();
    match ended {
        None => format!("no end after {} s", HUNG.as_secs()),
        Some(status) => match status.signal() {
            Some(signal) => format!("killed by signal {signal}: {last}"),
            None => format!("{status}: {last}"),
        },
    }
}

/// The file of a finding's input.
pub fn input_file(folder: &Path, kind: &Kind, seed: u64, number: u64) -> PathBuf {
    folder.join(format!("{}-{seed}-{number}.input", kind.name))
}

/// Makes the inputs of all findings again and writes them side by side.
fn keep(kind: &Kind, seed: u64, report: &Report, folder: &Path) -> Result<(), String> {
    if report.findings.is_empty() {
        return Ok(());
    }
    let target = (kind.make)()?;
    for finding in &report.findings {
        let path = input_file(folder, kind, seed, finding.number);
        let written = fs::write(&path, target.input(&mut Random::of(seed, finding.number)));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
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
