//! One target, input after input, in a process of its own that its parent (`supervise`) starts, with a judgement of
//! each.
//!
//! The process writes a line for each event: the number of the input that it begins, so that the parent knows the
//! one that it died of; how many got past the outermost check; and each finding. The kernel bounds memory: the limit
//! is the process's memory when the target is ready plus [`MOST_MEMORY_BYTES`], and an allocation beyond it aborts.
//! A thread ends the process when an input hangs. Source: `setrlimit(2)` (`RLIMIT_DATA` counts private writable
//! mappings since Linux 4.7), `proc_pid_status(5)` (`VmData`).

use crate::random::Random;
use crate::target::{Kind, Target};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Memory of all inputs together on top of the target's own, bytes.
const MOST_MEMORY_BYTES: u64 = 256 << 20;
/// CPU time of one input.
const MOST_CPU: Duration = Duration::from_secs(2);
/// CPU time after which an input is ended, and time after which one is that waits; longer than any takes on a slow
/// machine.
const HUNG: [Duration; 2] = [Duration::from_secs(20), Duration::from_secs(60)];
/// Number of findings that ends a run.
pub const MOST_FINDINGS: usize = 20;

/// The inputs, and the time for them.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
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

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// An input is begun; all before it are done.
    Begun(u64),
    /// It got past the outermost check.
    Past,
    /// It is a finding.
    Found(String),
    /// Nothing follows.
    Ended,
}

impl Event {
    /// Writes its line.
    fn tell(&self) -> Result<(), String> {
        let line = serde_json::to_string(self).map_err(|error| error.to_string())?;
        writeln!(std::io::stdout(), "{line}").map_err(|error| format!("cannot report: {error}"))
    }
}

/// The message of the last panic.
static SAID: Mutex<String> = Mutex::new(String::new());
/// Inputs that were begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Tries the inputs of a plan; a panic is a finding and does not end it.
///
/// # Errors
/// The process's memory cannot be limited, or nothing can be written.
pub fn run(kind: &Kind, plan: Plan) -> Result<(), String> {
    let mut target = (kind.make)();
    std::thread::spawn(end_hung);
    limit_memory()?;
    panic::set_hook(Box::new(|what| *said() = what.to_string().replace('\n', " ")));
    let (started, mut found) = (Instant::now(), 0);
    for at in plan.from..plan.to {
        if started.elapsed() >= plan.time || found >= MOST_FINDINGS {
            break;
        }
        BEGUN.fetch_add(1, Ordering::Relaxed);
        Event::Begun(at).tell()?;
        match judged(&mut target, |target| (target.input)(&mut Random::of(plan.seed, at))) {
            Ok(true) => Event::Past.tell()?,
            Ok(false) => {}
            Err(why) => {
                found += 1;
                Event::Found(why).tell()?;
                // The rest of a panic must not affect the next input.
                target = (kind.make)();
            }
        }
    }
    Event::Ended.tell()
}

/// Gives a target one input; whether it got past the outermost check.
///
/// # Errors
/// A panic, or too much CPU time.
pub fn judged(target: &mut Target, input: impl FnOnce(&Target) -> Vec<u8>) -> Result<bool, String> {
    let mut before = Duration::ZERO;
    let judged = panic::catch_unwind(AssertUnwindSafe(|| {
        let input = input(target);
        before = cpu_time(ClockId::ThreadCPUTime);
        (target.judge)(&input)
    }));
    let took = cpu_time(ClockId::ThreadCPUTime).saturating_sub(before);
    match judged {
        Err(_) => Err(format!("panic: {}", said())),
        Ok(_) if took > MOST_CPU => Err(format!("took {:.1} s of CPU time", took.as_secs_f64())),
        Ok(past) => Ok(past),
    }
}

fn said() -> MutexGuard<'static, String> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Aborts when one input lasts longer than [`HUNG`].
fn end_hung() {
    let now = || (BEGUN.load(Ordering::Relaxed), cpu_time(ClockId::ProcessCPUTime), Instant::now());
    let (mut last, mut cpu, mut since) = now();
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let (begun, used, time) = now();
        if begun != last {
            (last, cpu, since) = (begun, used, time);
        }
        let hung = |took: Duration, most: Duration, what: &dyn Display| {
            if took > most {
                // The parent reads it: the first line before the process dies.
                eprintln!("no end after {} s{what}", most.as_secs());
                std::process::abort();
            }
        };
        hung(used.saturating_sub(cpu), HUNG[0], &" of CPU time");
        hung(time.duration_since(since), HUNG[1], &"");
    }
}

fn cpu_time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Limits this process to [`MOST_MEMORY_BYTES`] more than it has.
///
/// # Errors
/// The kernel does not show its memory, or refuses.
pub fn limit_memory() -> Result<(), String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let data = status.lines().find_map(|line| line.strip_prefix("VmData:")?.strip_suffix("kB"));
    let data_kib = data.and_then(|data| data.trim().parse::<u64>().ok());
    let current = data_kib.map(|kib| kib * 1024 + MOST_MEMORY_BYTES);
    let current = Some(current.ok_or("/proc/self/status has no VmData")?);
    let limit = Rlimit { current, maximum: getrlimit(Resource::Data).maximum };
    setrlimit(Resource::Data, limit).map_err(|error| format!("cannot limit memory: {error}"))
}
