//! Opening and reading counters of a logical CPU, and explaining refusals.
//!
//! Source: `perf_event_open(2)` (errors, read format), kernel
//! `Documentation/admin-guide/perf-security.rst` (who may count what), `kernel/events/core.c`.

use super::pmu::Event;
use crate::Status;
use perf_event::events::Software;
use perf_event::{Builder, Counter, ReadFormat};
use std::io;
use std::path::{Path, PathBuf};

/// A group's counters at one moment, since it was opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    /// Time for which counting was requested.
    pub enabled_ns: u64,
    /// Time during which the hardware counted; less if more events are requested than there are counters.
    pub running_ns: u64,
    /// Counts in the order of the events; `None` if one could not be opened.
    pub values: Vec<Option<u64>>,
}

/// Counters that are read together.
pub trait Group: Send {
    /// The counts so far.
    ///
    /// # Errors
    /// The kernel's, or that the group never got hardware.
    fn read(&mut self) -> io::Result<Snapshot>;
}

/// Source of counters: the kernel, or a recorded series.
pub trait Source: Send {
    /// Starts counting `events` together on one logical CPU, for all processes. Leaves out events that cannot
    /// join the group.
    ///
    /// # Errors
    /// Why none of them can be counted.
    fn open(&mut self, cpu: u32, events: &[Event]) -> Result<Opened, OpenError>;
}

/// A counting group.
pub struct Opened {
    /// Reads it.
    pub group: Box<dyn Group>,
    /// Why an event is not in it, in the order of the events.
    pub missing: Vec<Option<OpenError>>,
}

/// Why an event cannot be counted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The user lacks the right.
    #[error("{why}; {remedy}")]
    Denied {
        /// Why, in one line.
        why: String,
        /// What would allow it.
        remedy: String,
    },
    /// The logical CPU is offline, which may change.
    #[error("logical CPU {0} is offline")]
    Offline(u32),
    /// The machine, its hypervisor or its kernel does not support it.
    #[error("{0}")]
    Unsupported(String),
}

impl OpenError {
    /// The same as a sampler's state.
    pub fn status(&self) -> Status {
        match self {
            Self::Denied { why, remedy } => Status::Denied { why: why.clone(), remedy: remedy.clone() },
            other => Status::Unsupported { why: other.to_string() },
        }
    }
}

/// The source for files below `root`: the kernel's counters on the live system, else none,
/// since the numbers of a recorded PMU mean something else here.
pub fn source(root: &Path) -> Box<dyn Source> {
    if root == Path::new("/") { Box::new(Live { root: root.to_owned() }) } else { Box::new(Recorded) }
}

/// How many file descriptors this process may have, from `proc/self/limits` below `root`; the kernel's
/// default of 1024 if that cannot be read (`getrlimit(2)`).
pub fn most_fds(root: &Path) -> usize {
    let text = std::fs::read_to_string(root.join("proc/self/limits")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"));
    match line.and_then(|line| line.split_whitespace().next()) {
        Some("unlimited") => usize::MAX,
        soft => soft.and_then(|soft| soft.parse().ok()).unwrap_or(1024),
    }
}

/// A recorded tree without its machine.
struct Recorded;

impl Source for Recorded {
    fn open(&mut self, _cpu: u32, _events: &[Event]) -> Result<Opened, OpenError> {
        Err(OpenError::Unsupported("recorded files have no counters to open".to_owned()))
    }
}

/// The running kernel.
struct Live {
    root: PathBuf,
}

impl Source for Live {
    fn open(&mut self, cpu: u32, events: &[Event]) -> Result<Opened, OpenError> {
        let mut counters: Vec<Option<Counter>> = Vec::with_capacity(events.len());
        let mut missing = Vec::with_capacity(events.len());
        let mut leader: Option<usize> = None;
        for (at, event) in events.iter().enumerate() {
            let head = leader.and_then(|leader| counters.get_mut(leader)).and_then(Option::as_mut);
            match counter(cpu, event, head) {
                Ok(counter) => {
                    counters.push(Some(counter));
                    missing.push(None);
                    leader = leader.or(Some(at));
                }
                Err(error) => {
                    counters.push(None);
                    missing.push(Some(refusal(&self.root, cpu, &event.name, &error)));
                }
            }
        }
        match leader {
            Some(leader) => Ok(Opened { group: Box::new(LiveGroup { counters, leader }), missing }),
            None => Err(missing
                .into_iter()
                .flatten()
                .next()
                .unwrap_or_else(|| OpenError::Unsupported("there is no event to count".to_owned()))),
        }
    }
}

/// Opens one running counter: alone, or as a member of a group, which runs with its leader.
fn counter(cpu: u32, event: &Event, leader: Option<&mut Counter>) -> io::Result<Counter> {
    let mut builder = Builder::new(Software::DUMMY);
    let attributes = builder.attrs_mut();
    attributes.type_ = event.kind;
    [attributes.config, attributes.config1, attributes.config2] = event.config;
    // The msr PMU refuses events that exclude anything (PERF_PMU_CAP_NO_EXCLUDE).
    builder.exclude_kernel(false).exclude_hv(false);
    builder.any_pid().one_cpu(usize::try_from(cpu).unwrap_or(usize::MAX)).enabled(true);
    builder.read_format(
        ReadFormat::GROUP | ReadFormat::ID | ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING,
    );
    match leader {
        Some(leader) => builder.build_with_group(leader),
        None => builder.build(),
    }
}

struct LiveGroup {
    counters: Vec<Option<Counter>>,
    /// Index of the counter that the others joined.
    leader: usize,
}

impl Group for LiveGroup {
    fn read(&mut self) -> io::Result<Snapshot> {
        let leader = self.counters.get_mut(self.leader).and_then(Option::as_mut);
        let data = leader.ok_or_else(|| io::Error::other("the group has no leader"))?.read_group()?;
        let ns = |time: Option<std::time::Duration>| {
            time.and_then(|time| u64::try_from(time.as_nanos()).ok()).unwrap_or(0)
        };
        let value = |counter: &Option<Counter>| data.get(counter.as_ref()?).map(|entry| entry.value());
        Ok(Snapshot {
            enabled_ns: ns(data.time_enabled()),
            running_ns: ns(data.time_running()),
            values: self.counters.iter().map(value).collect(),
        })
    }
}

/// The explanation of the kernel's refusal.
pub(crate) fn refusal(root: &Path, cpu: u32, name: &str, error: &io::Error) -> OpenError {
    let paranoid = std::fs::read_to_string(root.join("proc/sys/kernel/perf_event_paranoid"));
    let paranoid = paranoid.ok().map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned());
    match error.raw_os_error() {
        Some(libc::EACCES) => OpenError::Denied {
            why: format!("this user may not count on whole logical CPUs (kernel.perf_event_paranoid is {paranoid})"),
            remedy: "run as root, give the program CAP_PERFMON (sudo setcap cap_perfmon=ep PROGRAM), or sudo sysctl kernel.perf_event_paranoid=0 until the next boot".to_owned(),
        },
        Some(libc::EPERM) => OpenError::Denied {
            why: format!("perf_event_open is forbidden here, as in containers (kernel.perf_event_paranoid is {paranoid})"),
            remedy: "give the container CAP_PERFMON and a seccomp profile that allows perf_event_open".to_owned(),
        },
        Some(libc::ENODEV) => OpenError::Offline(cpu),
        Some(libc::ENOSYS) => OpenError::Unsupported("the kernel has no perf events, or a filter hides them".to_owned()),
        Some(libc::EMFILE | libc::ENFILE) => {
            OpenError::Unsupported("no file descriptor is left for counters; raise ulimit -n".to_owned())
        }
        _ => OpenError::Unsupported(format!("{name} cannot be counted on logical CPU {cpu}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samplers::testing::write;

    fn explained(code: i32) -> OpenError {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "proc/sys/kernel/perf_event_paranoid", "3\n");
        let event = Event { name: "cpu/slots/".into(), kind: 4, config: [0x400, 0, 0] };
        refusal(root.path(), 5, &event.name, &io::Error::from_raw_os_error(code))
    }

    #[test]
    fn refusals_say_what_would_allow_it() {
        let denied = explained(libc::EACCES).to_string();
        assert!(denied.contains("perf_event_paranoid is 3") && denied.contains("CAP_PERFMON"), "{denied}");
        assert!(matches!(explained(libc::EACCES).status(), Status::Denied { .. }));
        assert!(explained(libc::EPERM).to_string().contains("seccomp"));
        assert_eq!(explained(libc::ENODEV), OpenError::Offline(5));
        assert!(explained(libc::EMFILE).to_string().contains("ulimit -n"));
        let absent = explained(libc::ENOENT);
        assert!(
            absent.to_string().contains("cpu/slots/") && absent.to_string().contains("CPU 5"),
            "{absent}"
        );
        assert!(matches!(absent.status(), Status::Unsupported { .. }));
    }

    #[test]
    fn the_limit_on_files_is_read() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(most_fds(root.path()), 1024);
        let line = |soft: &str| {
            format!("Limit   Soft Limit  Hard Limit  Units\nMax open files   {soft}   9  files\n")
        };
        for (soft, expected) in [("256", 256), ("unlimited", usize::MAX), ("x", 1024)] {
            write(root.path(), "proc/self/limits", &line(soft));
            assert_eq!(most_fds(root.path()), expected, "{soft}");
        }
    }

    #[test]
    fn recorded_files_open_nothing() {
        let root = tempfile::tempdir().unwrap();
        let event = Event { name: "e".into(), kind: 1, config: [0; 3] };
        assert!(source(root.path()).open(0, &[event]).is_err());
    }

    /// PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK: every kernel with perf events has it.
    #[test]
    fn the_live_kernel_counts_or_says_why_not() {
        let clock = Event { name: "cpu-clock".into(), kind: 1, config: [0; 3] };
        let nonsense = Event { name: "nonsense".into(), kind: 1, config: [u64::MAX, 0, 0] };
        let cpu = threadwise_machine::pin::current_affinity().unwrap().first().unwrap();
        let mut live = source(Path::new("/"));
        match live.open(cpu, &[nonsense, clock]) {
            Ok(mut opened) => {
                assert!(opened.missing[0].is_some() && opened.missing[1].is_none());
                let before = opened.group.read().unwrap();
                let after = opened.group.read().unwrap();
                assert!(after.enabled_ns > before.enabled_ns, "{before:?} {after:?}");
                assert_eq!(after.values[0], None);
                assert!(after.values[1] > before.values[1], "{before:?} {after:?}");
            }
            Err(error) => assert!(matches!(error, OpenError::Denied { .. } | OpenError::Unsupported(_))),
        }
    }
}
