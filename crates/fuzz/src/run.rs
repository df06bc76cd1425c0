//! One target, input after input, in this process, with a judgement of each.
//!
//! Before each input its number is written to a file, so that the parent process knows the input
//! that it died of. The kernel bounds memory: the limit is the process's memory when the target is
//! ready plus [`MOST_MEMORY_BYTES`], and an allocation beyond it aborts. Source: `setrlimit(2)`
//! (`RLIMIT_DATA` counts private writable mappings since Linux 4.7), `proc_pid_status(5)` (`VmData`).

use crate::random::Random;
use crate::targets::{Kind, Target};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Memory of all inputs together on top of the target's own, bytes.
const MOST_MEMORY_BYTES: u64 = 256 << 20;
/// CPU time of one input.
const MOST_CPU: Duration = Duration::from_secs(2);
/// Number of findings that ends a run.
pub const MOST_FINDINGS: usize = 20;

/// The inputs, and the time for them.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Seed of all inputs.
    pub seed: u64,
    /// Number of the first one.
    pub from: u64,
    /// Number after the last one.
    pub to: u64,
    /// Time after which no input is begun.
    pub time: Duration,
}

/// Files that a run writes.
#[derive(Debug, Clone)]
pub struct Places {
    /// Numbers of this run: see [`Numbers`].
    pub progress: PathBuf,
    /// One line a finding: the input's number, a tab, what happened.
    pub findings: PathBuf,
}

/// State of a run while it continues.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Numbers {
    /// The present input; all before it are done.
    pub at: u64,
    /// Inputs that got past the outermost check.
    pub past: u64,
    /// Time since the target was ready, milliseconds.
    pub ran_ms: u64,
}

impl Numbers {
    fn bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        for (place, number) in bytes.chunks_exact_mut(8).zip([self.at, self.past, self.ran_ms]) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        bytes
    }

    /// Reads a run's files; zeros if it is not ready yet.
    pub fn read(path: &Path) -> Option<Self> {
        let bytes = fs::read(path).ok()?;
        let number = |at: usize| Some(u64::from_ne_bytes(bytes.get(8 * at..8 * at + 8)?.try_into().ok()?));
        Some(Self { at: number(0)?, past: number(1)?, ran_ms: number(2)? })
    }
}

/// The message of the last panic.
static SAID: Mutex<String> = Mutex::new(String::new());

/// Tries the inputs of a plan; a panic is a finding and does not end it.
///
/// # Errors
/// The target cannot be made, or nothing can be written.
pub fn run(kind: &Kind, plan: Plan, places: &Places) -> Result<(), String> {
    let mut target = (kind.make)()?;
    limit_memory()?;
    panic::set_hook(Box::new(|what| *SAID.lock().unwrap_or_else(PoisonError::into_inner) = what.to_string()));
    let failed = |error: io::Error| format!("cannot write the findings: {error}");
    let progress = File::create(&places.progress).map_err(failed)?;
    let mut findings = OpenOptions::new().create(true).append(true).open(&places.findings).map_err(failed)?;
    let (started, mut past, mut found) = (Instant::now(), 0, 0);
    for at in plan.from..plan.to {
        let ran = started.elapsed();
        let numbers = Numbers { at, past, ran_ms: ran.as_millis() as u64 };
        progress.write_all_at(&numbers.bytes(), 0).map_err(failed)?;
        if ran >= plan.time || found >= MOST_FINDINGS {
            return Ok(());
        }
        match judged(target.as_mut(), |target| target.input(&mut Random::of(plan.seed, at))) {
            Ok(true) => past += 1,
            Ok(false) => {}
            Err(why) => {
                found += 1;
                writeln!(findings, "{at}\t{}", why.replace(['\n', '\t'], " ")).map_err(failed)?;
                // The rest of a panic must not affect the next input.
                target = (kind.make)()?;
            }
        }
    }
    let ran_ms = started.elapsed().as_millis() as u64;
    progress.write_all_at(&Numbers { at: plan.to, past, ran_ms }.bytes(), 0).map_err(failed)
}

/// Gives a target one input, and returns the fault.
///
/// # Errors
/// A panic, too much CPU time, or the target's own finding.
pub fn judged(target: &mut dyn Target, input: impl FnOnce(&dyn Target) -> Vec<u8>) -> Result<bool, String> {
    let mut before = cpu_time();
    let judged = panic::catch_unwind(AssertUnwindSafe(|| {
        let input = input(target);
        before = cpu_time();
        target.judge(&input)
    }));
    let took = cpu_time().saturating_sub(before);
    let past = judged
        .unwrap_or_else(|_| Err(format!("panic: {}", SAID.lock().unwrap_or_else(PoisonError::into_inner))))?;
    match took > MOST_CPU {
        true => Err(format!("took {:.1} s of CPU time", took.as_secs_f64())),
        false => Ok(past),
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Limits this process to [`MOST_MEMORY_BYTES`] more than it has.
///
/// # Errors
/// The kernel does not show its memory, or refuses.
pub fn limit_memory() -> Result<(), String> {
    let status = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let data = status
        .lines()
        .find_map(|line| line.strip_prefix("VmData:")?.split_whitespace().next()?.parse::<u64>().ok());
    let data = data.ok_or("/proc/self/status has no VmData")?;
    let current = Some(data * 1024 + MOST_MEMORY_BYTES);
    let limit = Rlimit { current, maximum: getrlimit(Resource::Data).maximum };
    setrlimit(Resource::Data, limit).map_err(|error| format!("cannot limit memory: {error}"))
}
