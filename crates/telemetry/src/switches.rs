//! Task switches on whole logical CPUs: when each went to the idle task and when it left it.
//!
//! Source: `perf_event_open(2)` (`context_switch`, PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_LOST, `sample_id_all`);
//! kernel `kernel/events/core.c` (`perf_event_switch_output`). These records give the same for the idle task as the
//! tracepoint `sched:sched_switch`, are a third as long, and need no tracefs. The idle task has PID 0 on every logical
//! CPU; in a PID namespace every process outside of it has PID 0 too, so that they are useless there.
//!
//! A switch has two records, one of the task that leaves and one of the task that comes. Both are read: on Linux 6.18
//! the idle task of all logical CPUs but the first was seen to write none, so that only the other task's exists.

use crate::perf::open::{OpenError, refusal};
use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use std::io;
use std::path::Path;
use threadwise_machine::CpuSet;

/// PERF_RECORD_LOST.
const LOST: u32 = 2;
/// PERF_RECORD_SWITCH_CPU_WIDE.
const SWITCH_CPU_WIDE: u32 = 15;
/// PERF_RECORD_MISC_SWITCH_OUT: the record is of the task that leaves.
const SWITCH_OUT: u16 = 1 << 13;
/// Bytes of records that a logical CPU can hold until they are read. A switch has two of 40 bytes, so 10,000
/// switches a second fill it in 160 ms.
const RING_BYTES: usize = 128 << 10;
/// The link /proc/self/ns/pid outside of containers (PROC_PID_INIT_INO in `include/linux/proc_ns.h`).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// A task switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskSwitch {
    /// CLOCK_MONOTONIC, in nanoseconds.
    pub at_ns: u64,
    /// Whether the task that leaves is the idle one.
    pub was_idle: bool,
    /// Whether the task that comes is the idle one.
    pub is_idle: bool,
}

/// Follows switches on some logical CPUs.
pub struct Switches {
    rings: Vec<Sampler>,
}

impl Switches {
    /// Begins on all of `cpus`, in their order.
    ///
    /// # Errors
    /// This user may not, the kernel cannot, or the process is in a PID namespace.
    pub fn open(cpus: &CpuSet) -> Result<Self, OpenError> {
        let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        if namespace != Path::new(FIRST_PID_NAMESPACE) {
            return Err(OpenError::Denied {
                why: "in a PID namespace processes outside of it look like the idle task".to_owned(),
                remedy: "run it outside of the container".to_owned(),
            });
        }
        let ring =
            |cpu: u32| ring(cpu).map_err(|error| refusal(Path::new("/"), cpu, "switches of tasks", &error));
        Ok(Self { rings: cpus.iter().map(ring).collect::<Result<_, _>>()? })
    }

    /// Appends the switches of the logical CPU at `place` in the order since the last call; returns whether none are
    /// missing. Call it several times a second.
    pub fn read(&mut self, place: usize, switches: &mut Vec<TaskSwitch>) -> bool {
        let Some(ring) = self.rings.get_mut(place) else { return false };
        let mut is_complete = true;
        while let Some(record) = ring.next_record() {
            match record.ty() {
                LOST => is_complete = false,
                SWITCH_CPU_WIDE => {
                    let is_out = record.misc() & SWITCH_OUT != 0;
                    switches.extend(task_switch(&record.to_contiguous(), is_out));
                }
                _ => {}
            }
        }
        is_complete
    }
}

fn ring(cpu: u32) -> io::Result<Sampler> {
    let counter = Builder::new(Software::DUMMY)
        .any_pid()
        .one_cpu(usize::try_from(cpu).unwrap_or(usize::MAX))
        .context_switch(true)
        .sample_id_all(true)
        .sample(SampleFlag::TID | SampleFlag::TIME)
        .clockid(Clock::MONOTONIC)
        .enabled(true)
        .build()?;
    counter.sampled(RING_BYTES)
}

/// `other_pid other_tid pid tid time`: the record's own task, which leaves if `is_out`, and the other one; `None`
/// if it is shorter.
fn task_switch(bytes: &[u8], is_out: bool) -> Option<TaskSwitch> {
    let is_idle = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?) == 0);
    let at_ns = u64::from_ne_bytes(bytes.get(16..24)?.try_into().ok()?);
    let (other, task) = (is_idle(0)?, is_idle(8)?);
    let (was_idle, is_idle) = if is_out { (task, other) } else { (other, task) };
    Some(TaskSwitch { at_ns, was_idle, is_idle })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn records_are_taken_apart() {
        let mut bytes = Vec::new();
        for word in [0_u32, 0, 77, 78] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(5_000_000_000_u64.to_ne_bytes());
        let wanted = TaskSwitch { at_ns: 5_000_000_000, was_idle: false, is_idle: true };
        assert_eq!(task_switch(&bytes, true), Some(wanted));
        let comes = TaskSwitch { was_idle: true, is_idle: false, ..wanted };
        assert_eq!(task_switch(&bytes, false), Some(comes));
        assert_eq!(task_switch(&bytes[..23], true), None);
        assert_eq!(task_switch(&[], false), None);
    }

    #[test]
    fn the_live_kernel_shows_switches_or_says_why_not() {
        let cpus = threadwise_machine::pin::current_affinity().unwrap();
        let mut switches = match Switches::open(&cpus) {
            Ok(switches) => switches,
            Err(error) => {
                assert!(matches!(error, OpenError::Denied { .. } | OpenError::Unsupported(_)), "{error}");
                return;
            }
        };
        // This very thread goes to sleep: somewhere a task left.
        let until = Instant::now() + Duration::from_secs(120);
        let mut seen = Vec::new();
        while seen.is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
            (0..cpus.len()).for_each(|place| {
                switches.read(place, &mut seen);
            });
        }
        assert!(!seen.is_empty());
        assert!(!switches.read(usize::MAX, &mut seen));
    }
}
