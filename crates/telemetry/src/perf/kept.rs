//! Counters of many logical CPUs: opened when a CPU is first measured, kept, and read around windows.
//!
//! Source: `perf_event_open(2)`, section "Reading results": a count is scaled by the time enabled over
//! the time running. A counter whose logical CPU goes offline is detached permanently
//! (`perf_event_exit_cpu` in `kernel/events/core.c`): its times stand still, and only opening it again
//! helps.

use super::open::{Group, OpenError, Snapshot, Source};
use super::pmu::Event;
use std::collections::BTreeMap;
use threadwise_machine::CpuSet;

/// Most logical CPUs of one placement on which counters are read. Each read interrupts the CPU that is
/// read, which costs it and the reader some microseconds: with hundreds, reading ten times a second
/// would take a noticeable share of a CPU and disturb the measurement.
pub const MOST_CPUS: usize = 64;

/// Share of a window below which a group may have been detached in the middle.
const WHOLE_WINDOW: f64 = 0.9;

/// Events that are read together, with the names of their counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Name of the group.
    pub name: &'static str,
    /// The events.
    pub metrics: Vec<(&'static str, Event)>,
}

/// A group's counts in a window.
#[derive(Debug, Clone, PartialEq)]
pub struct Grown {
    /// Time for which counting was requested.
    pub enabled_ns: u64,
    /// Time in which the hardware counted.
    pub running_ns: u64,
    /// Counts, scaled to the time enabled, in the order of the plan, or why there are none.
    pub values: Vec<Result<f64, String>>,
}

/// Counters that stay open.
pub struct Kept {
    source: Box<dyn Source>,
    fds_left: usize,
    cpus: BTreeMap<u32, Vec<KeptGroup>>,
    /// Logical CPUs of the present window.
    window: Vec<u32>,
    /// Why some logical CPUs of the window are not read.
    left_out: Option<String>,
}

struct KeptGroup {
    plan: Plan,
    state: GroupState,
    before: Result<Snapshot, String>,
    /// The end of the last window, to detect a group that stands still.
    last: Option<Snapshot>,
}

/// What became of the counters of a logical CPU.
enum GroupState {
    /// Not opened yet, or detached.
    Closed,
    Failed(OpenError),
    Counting {
        group: Box<dyn Group>,
        missing: Vec<Option<String>>,
    },
}

impl Kept {
    /// Counters from `source`, of which at most `fds` are held open.
    pub fn new(source: Box<dyn Source>, fds: usize) -> Self {
        Self { source, fds_left: fds, cpus: BTreeMap::new(), window: Vec::new(), left_out: None }
    }

    /// Begins a window on logical CPUs; `plans` gives the plan of a new one.
    pub fn start(&mut self, cpus: &CpuSet, plans: impl Fn(u32) -> Vec<Plan>) {
        self.window.clear();
        self.left_out = None;
        let chosen = evenly(cpus, MOST_CPUS);
        if chosen.len() < cpus.len() {
            self.left_out = Some(format!(
                "counters are read on {} of the placement's {} logical CPUs, since each read disturbs them",
                chosen.len(),
                cpus.len()
            ));
        }
        for cpu in chosen {
            if !self.cpus.contains_key(&cpu) {
                let groups = plans(cpu);
                let needed: usize = groups.iter().map(|plan| plan.metrics.len()).sum();
                if needed > self.fds_left {
                    self.left_out = Some(format!(
                        "logical CPU {cpu} and possibly others are not read: {needed} counters each would leave too few file descriptors; raise ulimit -n"
                    ));
                    continue;
                }
                self.fds_left -= needed;
                self.cpus.insert(cpu, groups.into_iter().map(KeptGroup::new).collect());
            }
            for group in self.cpus.get_mut(&cpu).into_iter().flatten() {
                group.start(cpu, self.source.as_mut());
            }
            self.window.push(cpu);
        }
    }

    /// Ends the window: passes each group with its counts, or why there are none, to `each`. Returns in one
    /// line why logical CPUs of the placement are missing, if some are.
    pub fn finish(
        &mut self,
        window_ns: u64,
        mut each: impl FnMut(u32, &Plan, Result<Grown, String>),
    ) -> Option<String> {
        for cpu in &self.window {
            for group in self.cpus.get_mut(cpu).into_iter().flatten() {
                let grown = group.finish(window_ns);
                each(*cpu, &group.plan, grown);
            }
        }
        self.left_out.clone()
    }
}

impl KeptGroup {
    fn new(plan: Plan) -> Self {
        Self { plan, state: GroupState::Closed, before: Err("not started".to_owned()), last: None }
    }

    fn start(&mut self, cpu: u32, source: &mut dyn Source) {
        self.before = self.read();
        let stands_still = match (&self.before, &self.last) {
            (Ok(now), Some(last)) => now.enabled_ns == last.enabled_ns,
            (Err(_), _) => true,
            (Ok(_), None) => false,
        };
        let hopeless =
            matches!(self.state, GroupState::Failed(OpenError::Denied { .. } | OpenError::Unsupported(_)));
        if stands_still && !hopeless {
            self.open(cpu, source);
            self.before = self.read();
        }
    }

    fn open(&mut self, cpu: u32, source: &mut dyn Source) {
        // What was open is closed first: it may occupy the hardware.
        self.state = GroupState::Closed;
        self.last = None;
        let events: Vec<Event> = self.plan.metrics.iter().map(|(_, event)| event.clone()).collect();
        self.state = match source.open(cpu, &events) {
            Ok(opened) => GroupState::Counting {
                group: opened.group,
                missing: opened.missing.into_iter().map(|why| why.map(|why| why.to_string())).collect(),
            },
            Err(error) => GroupState::Failed(error),
        };
    }

    fn read(&mut self) -> Result<Snapshot, String> {
        match &mut self.state {
            GroupState::Closed => Err("the counters were not opened".to_owned()),
            GroupState::Failed(error) => Err(error.to_string()),
            GroupState::Counting { group, .. } => {
                group.read().map_err(|error| format!("the counters cannot be read: {error}"))
            }
        }
    }

    fn finish(&mut self, window_ns: u64) -> Result<Grown, String> {
        let after = self.read();
        self.last = after.as_ref().ok().cloned();
        let before = self.before.as_ref().map_err(Clone::clone)?;
        let after = after?;
        let missing = match &self.state {
            GroupState::Counting { missing, .. } => missing.as_slice(),
            _ => &[],
        };
        let grown = growth(before, &after, missing)?;
        // A delayed reader also makes the time short; then the counter continues.
        if (grown.enabled_ns as f64) < WHOLE_WINDOW * window_ns as f64
            && self.read()?.enabled_ns == after.enabled_ns
        {
            return Err(format!(
                "counted during only {} of {window_ns} ns: the logical CPU went offline",
                grown.enabled_ns
            ));
        }
        Ok(grown)
    }
}

/// The counts between two snapshots of a group. `missing` explains an absent event.
///
/// # Errors
/// Why the group did not count at all, in one line.
pub fn growth(before: &Snapshot, after: &Snapshot, missing: &[Option<String>]) -> Result<Grown, String> {
    let backwards = || "the counters ran backwards: they were reset meanwhile".to_owned();
    let enabled_ns = after.enabled_ns.checked_sub(before.enabled_ns).ok_or_else(backwards)?;
    let running_ns = after.running_ns.checked_sub(before.running_ns).ok_or_else(backwards)?;
    if enabled_ns == 0 {
        return Err("the counters stood still: the logical CPU went offline".to_owned());
    }
    if running_ns == 0 {
        return Err(
            "the hardware's counters were taken by others (the NMI watchdog, another perf) all the time"
                .to_owned(),
        );
    }
    let scale = enabled_ns as f64 / running_ns as f64;
    let sides = before.values.iter().zip(&after.values).enumerate();
    let values = sides.map(|(at, sides)| match sides {
        (Some(before), Some(after)) => {
            after.checked_sub(*before).map(|count| count as f64 * scale).ok_or_else(backwards)
        }
        _ => Err(missing.get(at).cloned().flatten().unwrap_or_else(|| "not counted".to_owned())),
    });
    Ok(Grown { enabled_ns, running_ns, values: values.collect() })
}

/// At most `most` members of a set, evenly spread over it.
pub fn evenly(cpus: &CpuSet, most: usize) -> Vec<u32> {
    let all: Vec<u32> = cpus.iter().collect();
    let count = all.len().min(most);
    (0..count).filter_map(|at| all.get(at * all.len() / count).copied()).collect()
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::perf::open::Opened;
    use std::collections::VecDeque;
    use std::io;
    use std::sync::{Arc, Mutex};

    /// What happens at a read of a recorded series.
    #[derive(Debug, Clone)]
    pub(crate) enum Step {
        Open(Result<Vec<Option<OpenError>>, OpenError>),
        Read(Snapshot),
        Fail(&'static str),
    }

    /// Recorded series, one per logical CPU, taken from in order.
    #[derive(Debug, Clone, Default)]
    pub(crate) struct Series(pub(crate) Arc<Mutex<BTreeMap<u32, VecDeque<Step>>>>);

    impl Series {
        pub(crate) fn of(cpus: &[(u32, &[Step])]) -> Self {
            let steps = cpus.iter().map(|(cpu, steps)| (*cpu, steps.iter().cloned().collect()));
            Self(Arc::new(Mutex::new(steps.collect())))
        }

        fn next(&self, cpu: u32) -> Option<Step> {
            self.0.lock().unwrap().get_mut(&cpu)?.pop_front()
        }
    }

    impl Source for Series {
        fn open(&mut self, cpu: u32, events: &[Event]) -> Result<Opened, OpenError> {
            match self.next(cpu) {
                Some(Step::Open(Ok(missing))) => {
                    let mut missing = missing;
                    missing.resize(events.len(), None);
                    Ok(Opened { group: Box::new(SeriesGroup { cpu, series: self.clone() }), missing })
                }
                Some(Step::Open(Err(error))) => Err(error),
                step => panic!("CPU {cpu} was opened where {step:?} was recorded"),
            }
        }
    }

    struct SeriesGroup {
        cpu: u32,
        series: Series,
    }

    impl Group for SeriesGroup {
        fn read(&mut self) -> io::Result<Snapshot> {
            match self.series.next(self.cpu) {
                Some(Step::Read(snapshot)) => Ok(snapshot),
                Some(Step::Fail(why)) => Err(io::Error::other(why)),
                step => panic!("CPU {} was read where {step:?} was recorded", self.cpu),
            }
        }
    }

    /// A snapshot; times in ns.
    pub(crate) fn read(enabled_ns: u64, running_ns: u64, values: &[u64]) -> Step {
        let values = values.iter().copied().map(Some).collect();
        Step::Read(Snapshot { enabled_ns, running_ns, values })
    }

    /// An opening at which nothing is missing.
    pub(crate) fn opened() -> Step {
        Step::Open(Ok(Vec::new()))
    }
}

#[cfg(test)]
mod tests;
