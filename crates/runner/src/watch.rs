//! Readings around a slice and around the rounds of a block: CPU times, samplers, waits.

use crate::clock::Clock;
use crate::guard::{BlockUse, ThreadTimes};
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::path::Path;
use threadwise_machine::{CpuSet, Topology};
use threadwise_process::proc;
use threadwise_study::{CpuTimes, Note, NoteCode, Reading};
use threadwise_telemetry::proc_stat::{self, CpuTicks, ProcStat};
use threadwise_telemetry::samplers::{self, pressure::Pressure, schedstat};
use threadwise_telemetry::{Moment, Sampler, Status};

/// All readings while treatments run.
pub struct Watch {
    stat: Option<ProcStat>,
    before: Vec<CpuTicks>,
    after: Vec<CpuTicks>,
    samplers: Vec<Box<dyn Sampler>>,
    /// Readings of the present slice.
    readings: Vec<Reading>,
    pressure: Pressure,
    /// When the present window began.
    start_ns: u64,
    /// CPU time of this thread for looking, in the present window.
    own_cpu_ns: u64,
}

impl Watch {
    /// Opens what this system allows, and lists the rest, one line each.
    pub fn new(topology: &Topology) -> (Self, Vec<Note>) {
        let root = Path::new("/");
        let (ready, mut notes) = ready(root, topology);
        let stat = ProcStat::open(root)
            .map_err(|error| notes.push(format!("no CPU times: /proc/stat: {error}").into()))
            .ok();
        let watch = Self {
            stat,
            before: Vec::new(),
            after: Vec::new(),
            samplers: ready,
            readings: Vec::new(),
            pressure: Pressure::new(root),
            start_ns: 0,
            own_cpu_ns: 0,
        };
        (watch, notes)
    }

    /// Opens the samplers again after logical CPUs went offline or came online, which invalidates them.
    pub fn reopen(&mut self, topology: &Topology) {
        self.samplers = ready(Path::new("/"), topology).0;
    }

    /// Before a slice.
    pub fn start(&mut self, clock: Clock, cpus: &CpuSet, pids: &[u32]) {
        let began_ns = thread_cpu_ns();
        let at = Moment { now_ns: clock.now_ns(), cpus, pids };
        self.start_ns = at.now_ns;
        for sampler in &mut self.samplers {
            sampler.start(&at);
        }
        read_ticks(&mut self.stat, &mut self.before);
        self.own_cpu_ns = thread_cpu_ns().saturating_sub(began_ns);
    }

    /// Inside of a long slice.
    pub fn tick(&mut self, clock: Clock, cpus: &CpuSet, pids: &[u32]) {
        let began_ns = thread_cpu_ns();
        let at = Moment { now_ns: clock.now_ns(), cpus, pids };
        for sampler in &mut self.samplers {
            sampler.tick(&at);
        }
        self.own_cpu_ns += thread_cpu_ns().saturating_sub(began_ns);
    }

    /// After a slice: CPU times (empty if they cannot be read), and the samplers' readings and
    /// `window_ns` of each sampler added to those of the run's earlier slices. The cost of all this is
    /// in readings of a sampler `telemetry`: `own_cpu_ns` in `window_ns`.
    pub fn finish(
        &mut self,
        clock: Clock,
        cpus: &CpuSet,
        pids: &[u32],
        totals: &mut Vec<Reading>,
    ) -> Vec<CpuTimes> {
        let began_ns = thread_cpu_ns();
        read_ticks(&mut self.stat, &mut self.after);
        let at = Moment { now_ns: clock.now_ns(), cpus, pids };
        self.readings.clear();
        for sampler in &mut self.samplers {
            sampler.finish(&at, &mut self.readings);
        }
        add_all(totals, self.readings.iter().chain(&windows(&self.readings)));
        let times = proc_stat::difference(&self.before, &self.after);
        self.own_cpu_ns += thread_cpu_ns().saturating_sub(began_ns);
        let cost = cost(self.own_cpu_ns, self.start_ns, at.now_ns);
        add_all(totals, cost.iter().chain(&windows(&cost)));
        times
    }

    /// What was used and waited for until now. `None` if that of the study's own threads is unknown:
    /// the others' share cannot be computed without it.
    pub fn mark(&mut self, pids: &[u32]) -> Option<Mark> {
        let root = Path::new("/");
        let mut ours = process_times(root, std::process::id())?;
        for &pid in pids {
            let times = process_times(root, pid)?;
            ours.cpu_ns += times.cpu_ns;
            ours.wait_ns += times.wait_ns;
        }
        let mut ticks = Vec::new();
        read_ticks(&mut self.stat, &mut ticks);
        Some(Mark { some_ns: self.pressure.some_ns().ok(), ours, ticks })
    }
}

/// The readable samplers, and one line for each of the others.
fn ready(root: &Path, topology: &Topology) -> (Vec<Box<dyn Sampler>>, Vec<Note>) {
    let (mut ready, mut notes) = (Vec::new(), Vec::new());
    for sampler in samplers::all(root, topology) {
        let name = sampler.name();
        let why = match sampler.status() {
            Status::Ready => {
                ready.push(sampler);
                continue;
            }
            Status::Unsupported { why } => why,
            Status::Denied { why, remedy } => format!("{why}; {remedy}"),
        };
        let code = NoteCode::NoReadings(name.to_owned());
        notes.push(Note::new(code, format!("no readings of {name}: {why}")));
    }
    (ready, notes)
}

/// Cumulative sums at one moment.
#[derive(Debug, Clone)]
pub struct Mark {
    /// Time with waiters on the whole system, if it is counted.
    some_ns: Option<u64>,
    /// All threads of the study.
    ours: ThreadTimes,
    /// All logical CPUs; empty if they cannot be read.
    ticks: Vec<CpuTicks>,
}

/// CPU time of the calling thread (`clock_gettime(2)`, CLOCK_THREAD_CPUTIME_ID).
fn thread_cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let ns = now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec);
    u64::try_from(ns).unwrap_or(0)
}

/// The cost of looking, as a reading.
fn cost(own_cpu_ns: u64, start_ns: u64, end_ns: u64) -> [Reading; 1] {
    [Reading {
        sampler: "telemetry".to_owned(),
        metric: "own_cpu_ns".to_owned(),
        cpu: None,
        start_ns,
        end_ns,
        value: Some(own_cpu_ns as f64),
        gap: None,
    }]
}

fn read_ticks(stat: &mut Option<ProcStat>, ticks: &mut Vec<CpuTicks>) {
    if stat.as_mut().is_none_or(|stat| stat.read(ticks).is_err()) {
        ticks.clear();
    }
}

/// Times of all present threads of a process together, since each began: `/proc/PID/task/*/schedstat`
/// (kernel `Documentation/scheduler/sched-stats.rst`), and the CPU time of children that it has waited
/// for: a server's parallel workers live for one query. `None` if the kernel does not keep them or
/// the process has ended.
fn process_times(root: &Path, pid: u32) -> Option<ThreadTimes> {
    let tasks = fs::read_dir(root.join(format!("proc/{pid}/task"))).ok()?;
    // A thread may end between the listing and the read.
    let texts = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("schedstat")).ok());
    texts
        .filter_map(|text| schedstat::parse(&text))
        .fold(None, |sum, times| {
            let sum: ThreadTimes = sum.unwrap_or_default();
            Some(ThreadTimes { cpu_ns: sum.cpu_ns + times.cpu_ns, wait_ns: sum.wait_ns + times.wait_ns })
        })
        .map(|sum| ThreadTimes { cpu_ns: sum.cpu_ns + ended_children_ns(root, pid), ..sum })
}

/// CPU time of a process's ended children, user and system, in ticks of 10 ms: `cutime` and `cstime` of
/// `proc_pid_stat(5)`. 0 if it cannot be read.
fn ended_children_ns(root: &Path, pid: u32) -> u64 {
    let text = fs::read_to_string(root.join(format!("proc/{pid}/stat"))).unwrap_or_default();
    proc::ended_children_ticks(&text).unwrap_or(0).saturating_mul(proc_stat::TICK_NS)
}

/// The difference of two marks. `None` if one is missing, or the study's threads were not the same.
pub fn block_use(before: Option<Mark>, after: Option<Mark>, block_ns: u64) -> Option<BlockUse> {
    let (before, after) = (before?, after?);
    let some_ns = after.some_ns.zip(before.some_ns).and_then(|(after, before)| after.checked_sub(before));
    Some(BlockUse {
        some_ns,
        cpu_times: proc_stat::difference(&before.ticks, &after.ticks),
        ours: ThreadTimes {
            cpu_ns: after.ours.cpu_ns.checked_sub(before.ours.cpu_ns)?,
            wait_ns: after.ours.wait_ns.checked_sub(before.ours.wait_ns)?,
        },
        block_ns,
    })
}

/// For each sampler in a slice's readings the length of its acquisition window, as a reading
/// `window_ns`. Summed like the others, it is the denominator of a run's sums: `start_ns` to
/// `end_ns` of a sum also covers the slices of other treatments in between.
fn windows(readings: &[Reading]) -> Vec<Reading> {
    let mut windows: Vec<Reading> = Vec::new();
    for reading in readings {
        // The present sampler is the last one: search backwards, since large machines give thousands of readings.
        if windows.iter().rev().all(|window| window.sampler != reading.sampler) {
            windows.push(Reading {
                metric: "window_ns".to_owned(),
                cpu: None,
                value: Some(reading.end_ns.saturating_sub(reading.start_ns) as f64),
                gap: None,
                ..reading.clone()
            });
        }
    }
    windows
}

/// Adds the readings of a slice to the sums of their kinds, which go from the start of the first slice
/// to the end of the last. One gap makes a sum a gap.
fn add_all<'a>(totals: &mut Vec<Reading>, readings: impl Iterator<Item = &'a Reading>) {
    // They come in the same order in every slice, so the next sum is usually the right one.
    let mut next = 0;
    for reading in readings {
        let same = |total: &Reading| {
            total.cpu == reading.cpu && total.metric == reading.metric && total.sampler == reading.sampler
        };
        let found = match totals.get(next).is_some_and(same) {
            true => Some(next),
            false => totals.iter().position(same),
        };
        match found {
            Some(at) => add(&mut totals[at], reading),
            None => totals.push(reading.clone()),
        }
        next = found.unwrap_or(totals.len() - 1) + 1;
    }
}

fn add(total: &mut Reading, reading: &Reading) {
    total.end_ns = reading.end_ns;
    total.value = total.value.zip(reading.value).map(|(sum, value)| sum + value);
    total.gap = total.gap.take().or_else(|| reading.gap.clone());
}

/// Periods in which a CPU quota throttled the study during a run's slices.
pub fn throttled_periods(totals: &[Reading]) -> f64 {
    totals
        .iter()
        .filter(|reading| reading.sampler == "quota" && reading.metric == "throttled_periods")
        .filter_map(|reading| reading.value)
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(metric: &str, end_ns: u64, value: Option<f64>) -> Reading {
        Reading {
            sampler: "quota".into(),
            metric: metric.into(),
            cpu: None,
            start_ns: end_ns - 1,
            end_ns,
            value,
            gap: value.is_none().then(|| "gone".into()),
        }
    }

    #[test]
    fn readings_of_a_run_are_added_and_a_gap_stays_a_gap() {
        let mut totals = Vec::new();
        add_all(&mut totals, [reading("throttled_periods", 10, Some(1.0))].iter());
        add_all(&mut totals, [reading("throttled_ns", 10, Some(5.0))].iter());
        add_all(&mut totals, [reading("throttled_periods", 20, Some(2.0))].iter());
        assert_eq!(totals.len(), 2);
        assert_eq!((totals[0].start_ns, totals[0].end_ns, totals[0].value), (9, 20, Some(3.0)));
        assert_eq!(throttled_periods(&totals), 3.0);
        add_all(&mut totals, [reading("throttled_periods", 30, None)].iter());
        add_all(&mut totals, [reading("throttled_periods", 40, Some(1.0))].iter());
        assert_eq!(totals[0].value, None);
        assert_eq!(totals[0].gap.as_deref(), Some("gone"));
        assert_eq!(throttled_periods(&totals), 0.0);
    }

    #[test]
    fn a_run_s_readings_tell_how_long_was_looked() {
        let slice = |start_ns: u64, end_ns: u64, sampler: &str, cpu: Option<u32>| Reading {
            sampler: sampler.into(),
            cpu,
            start_ns,
            ..reading("value", end_ns, Some(1.0))
        };
        let mut totals = Vec::new();
        for (start_ns, end_ns) in [(100, 160), (500, 550)] {
            let readings = [
                slice(start_ns, end_ns, "a", Some(0)),
                slice(start_ns, end_ns, "a", Some(1)),
                slice(start_ns, end_ns + 5, "b", None),
            ];
            add_all(&mut totals, windows(&readings).iter());
        }
        let seen: Vec<_> = totals.iter().map(|one| (one.sampler.as_str(), one.cpu, one.value)).collect();
        assert_eq!(seen, [("a", None, Some(110.0)), ("b", None, Some(120.0))]);
        assert!(totals.iter().all(|one| one.metric == "window_ns" && one.start_ns == 100));
        assert!(windows(&[]).is_empty());
    }

    #[test]
    fn sums_find_their_kind_also_when_the_order_changes() {
        let of_cpu = |cpu: u32, value: f64| Reading { cpu: Some(cpu), ..reading("busy_ns", 10, Some(value)) };
        let mut totals = Vec::new();
        add_all(&mut totals, [of_cpu(0, 1.0), of_cpu(1, 10.0), reading("busy_ns", 10, Some(100.0))].iter());
        add_all(&mut totals, [of_cpu(1, 20.0), reading("busy_ns", 20, Some(200.0))].iter());
        add_all(&mut totals, [of_cpu(2, 5.0), of_cpu(0, 2.0)].iter());
        let sums: Vec<_> = totals.iter().map(|total| (total.cpu, total.value)).collect();
        let wanted = [(Some(0), 3.0), (Some(1), 30.0), (None, 300.0), (Some(2), 5.0)];
        assert_eq!(sums, wanted.map(|(cpu, value)| (cpu, Some(value))));
    }

    fn mark(some_ns: Option<u64>, cpu_ns: u64, busy: u64) -> Mark {
        let ticks = vec![CpuTicks { cpu: 0, busy, ..CpuTicks::default() }];
        Mark { some_ns, ours: ThreadTimes { cpu_ns, wait_ns: 1 }, ticks }
    }

    #[test]
    fn what_a_block_used_needs_both_sides() {
        assert_eq!(block_use(None, Some(mark(None, 1, 1)), 5), None);
        assert_eq!(block_use(Some(mark(None, 5, 1)), Some(mark(None, 4, 1)), 5), None, "a thread is gone");
        let block = block_use(Some(mark(Some(1), 1, 1)), Some(mark(Some(4), 3, 2)), 5).unwrap();
        assert_eq!(
            (block.some_ns, block.ours, block.block_ns),
            (Some(3), ThreadTimes { cpu_ns: 2, wait_ns: 0 }, 5)
        );
        assert_eq!(block.cpu_times[0].busy_ns, proc_stat::TICK_NS);
        let without = block_use(Some(mark(None, 1, 1)), Some(mark(Some(4), 3, 1)), 5).unwrap();
        assert_eq!(without.some_ns, None);
    }

    #[test]
    fn threads_of_a_process_are_added() {
        let root = tempfile::tempdir().unwrap();
        for (thread, text) in [(7, "100 40 3\n"), (8, "100 2 3\n"), (9, "junk")] {
            let folder = root.path().join(format!("proc/7/task/{thread}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("schedstat"), text).unwrap();
        }
        assert_eq!(process_times(root.path(), 7), Some(ThreadTimes { cpu_ns: 200, wait_ns: 42 }));
        assert_eq!(process_times(root.path(), 8), None);
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 200 0 0 5 6 30 4 20 0 2 0 100 1000 10\n";
        fs::write(root.path().join("proc/7/stat"), stat).unwrap();
        let children = ThreadTimes { cpu_ns: 200 + 340_000_000, wait_ns: 42 };
        assert_eq!(process_times(root.path(), 7), Some(children), "34 ticks of ended children");
    }

    #[test]
    fn the_live_system_gives_cpu_times_and_what_looking_cost() {
        let (mut watch, _) = Watch::new(&Topology::default());
        let clock = Clock::resumed(0);
        let mut totals = Vec::new();
        let cpus: CpuSet = [0].into_iter().collect();
        let pids = [std::process::id()];
        for _ in 0..2 {
            watch.start(clock, &cpus, &pids);
            watch.tick(clock, &cpus, &pids);
            assert!(!watch.finish(clock, &cpus, &pids, &mut totals).is_empty());
        }
        assert!(totals.iter().all(|reading| reading.value.is_some() != reading.gap.is_some()));
        let value_of = |metric: &str| {
            let mut found =
                totals.iter().filter(|total| total.sampler == "telemetry" && total.metric == metric);
            let value = found.next().and_then(|total| total.value).unwrap();
            assert!(found.next().is_none());
            value
        };
        assert!(value_of("own_cpu_ns") > 0.0 && value_of("window_ns") > 0.0);
    }
}
