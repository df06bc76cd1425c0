//! Windows of busy times: of this machine, or of recorded copies of /proc/stat.
//!
//! Source: /proc/stat by [`threadwise_telemetry::proc_stat`]; the clock by its sampler `clock`.

use super::args::HeadroomArgs;
use super::trace::{Tracer, now_ns};
use super::yields::Chosen;
use crate::commands::topology;
use crate::error::AppError;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use threadwise_headroom::core_time::core_times;
use threadwise_headroom::{Layout, Row, SmtYield, cpu_times, of_window, rows};
use threadwise_machine::given;
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::Reading;
use threadwise_telemetry::perf::msr::{APERF, MPERF, TSC};
use threadwise_telemetry::proc_stat::{self, CpuTicks, ProcStat};
use threadwise_telemetry::samplers::clock::Clock;
use threadwise_telemetry::{Moment, Sampler};

/// Maximum size of a recorded /proc/stat: that of 8,192 logical CPUs with all their interrupts is smaller.
const MOST_BYTES: u64 = 64 << 20;

/// A window and its rows.
pub struct Window {
    /// When it ended; unknown for a recorded one.
    pub end: Option<SystemTime>,
    /// Its length in seconds.
    pub length_s: f64,
    /// Machine, packages, nodes.
    pub rows: Vec<Row>,
    /// Clock now over that with all busy, if counted.
    pub clock_ratio: Option<f64>,
    /// Clock of busy time in MHz, if counted.
    pub busy_mhz: Option<f64>,
    /// The logical CPUs that are online now, if they changed.
    pub online_now: Option<CpuSet>,
}

/// Reads this machine, window after window.
pub struct Meter {
    topology: Topology,
    layout: Layout,
    stat: ProcStat,
    before: Vec<CpuTicks>,
    after: Vec<CpuTicks>,
    began: Instant,
    origin: Instant,
    smt_yield: SmtYield,
    clock: Result<LiveClock, String>,
    /// Why switches are not traced, if so.
    tracer: Result<Tracer, String>,
    /// Whether to trace them.
    wants_switches: bool,
}

struct LiveClock {
    sampler: Clock,
    /// That of a study; without it only the clock itself is known.
    all_busy_mhz: Option<f64>,
}

impl Meter {
    /// Takes the first reading of this machine; the first window begins now. `wants_clock`: count the clock even if it
    /// cannot be compared with one of a study.
    ///
    /// # Errors
    /// The topology or /proc/stat cannot be read.
    pub fn start(chosen: &Chosen, wants_switches: bool, wants_clock: bool) -> Result<Self, AppError> {
        let topology = topology::live()?;
        let layout = Layout::of(&topology);
        let stat = ProcStat::open(Path::new("/")).map_err(unreadable)?;
        let clock = match chosen.by_cycle {
            None if wants_clock => live_clock(&layout, None),
            None => Err(chosen.no_clock.to_owned()),
            Some((_, all_busy_mhz)) => live_clock(&layout, Some(all_busy_mhz)),
        };
        let smt_yield = match (&clock, chosen.by_cycle) {
            (Ok(_), Some((by_cycle, _))) => by_cycle,
            _ => chosen.smt_yield,
        };
        let tracer = tracer(&layout, wants_switches);
        let now = Instant::now();
        let mut meter = Self {
            topology,
            layout,
            stat,
            before: Vec::new(),
            after: Vec::new(),
            began: now,
            origin: now,
            smt_yield,
            clock,
            tracer,
            wants_switches,
        };
        meter.stat.read(&mut meter.before).map_err(unreadable)?;
        meter.start_clock();
        Ok(meter)
    }

    /// The machine that is read.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Its cores.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The SMT yield in use.
    pub fn smt_yield(&self) -> SmtYield {
        self.smt_yield
    }

    /// Why the clock is not counted, if so.
    pub fn no_clock(&self) -> Option<&str> {
        self.clock.as_ref().err().map(String::as_str)
    }

    /// Why switches are not traced, if so.
    pub fn no_switches(&self) -> Option<&str> {
        self.tracer.as_ref().err().map(String::as_str)
    }

    /// Must be called some ten times a second: records of switches are kept for a short time only.
    pub fn tick(&mut self) {
        let Ok(tracer) = &mut self.tracer else { return };
        let mut shares = Vec::new();
        if tracer.needs_shares() && self.stat.read(&mut self.after).is_ok() {
            shares = cpu_times(&proc_stat::difference(&self.before, &self.after), 1.0);
        }
        tracer.tick(now_ns(), &shares);
    }

    /// Ends the window and starts the next.
    ///
    /// # Errors
    /// The topology or /proc/stat can no longer be read.
    pub fn window(&mut self) -> Result<Window, AppError> {
        self.tick();
        let traced = self.tracer.as_mut().map(Tracer::take).unwrap_or_default();
        self.stat.read(&mut self.after).map_err(unreadable)?;
        let now = Instant::now();
        let length_s = now.duration_since(self.began).as_secs_f64();
        let (busy_mhz, clock_ratio) = self.finish_clock(length_s);
        let is_changed = !self.before.iter().map(|one| one.cpu).eq(self.after.iter().map(|one| one.cpu));
        if is_changed {
            self.topology = topology::live()?;
            self.layout = Layout::of(&self.topology);
            self.tracer = tracer(&self.layout, self.wants_switches);
        }
        // The trace is of the cores as they were.
        let traced = if is_changed { Vec::new() } else { traced };
        let times = of_window(proc_stat::difference(&self.before, &self.after), length_s);
        let times = cpu_times(&times, length_s);
        let cores = core_times(&self.layout, &times, &traced, length_s);
        let rows = rows(&self.layout, &cores, length_s, &self.smt_yield, clock_ratio.unwrap_or(1.0));
        std::mem::swap(&mut self.before, &mut self.after);
        self.began = now;
        self.start_clock();
        let online_now = is_changed.then(|| self.layout.cpus());
        Ok(Window { end: Some(SystemTime::now()), length_s, rows, clock_ratio, busy_mhz, online_now })
    }

    fn start_clock(&mut self) {
        let now_ns = nanoseconds(self.began.duration_since(self.origin));
        if let Ok(clock) = &mut self.clock {
            clock.sampler.start(&Moment { now_ns, cpus: &self.layout.cpus(), pids: &[] });
        }
    }

    /// Clock of busy time in MHz, and over that with all busy.
    fn finish_clock(&mut self, length_s: f64) -> (Option<f64>, Option<f64>) {
        let Ok(clock) = &mut self.clock else { return (None, None) };
        let now_ns = nanoseconds(self.origin.elapsed());
        let mut readings = Vec::new();
        clock.sampler.finish(&Moment { now_ns, cpus: &self.layout.cpus(), pids: &[] }, &mut readings);
        let mhz = busy_mhz(&readings, length_s);
        (mhz, mhz.zip(clock.all_busy_mhz).map(|(mhz, all_busy_mhz)| mhz / all_busy_mhz))
    }
}

/// Traces switches if there are siblings and it is permitted; otherwise says why not.
fn tracer(layout: &Layout, is_wanted: bool) -> Result<Tracer, String> {
    match (is_wanted, layout.most_threads()) {
        (false, _) => Err("remove --no-switches".to_owned()),
        (true, 0 | 1) => Err("no core has two logical CPUs".to_owned()),
        (true, _) => Tracer::start(layout).map_err(|error| error.to_string()),
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The clock's sampler, if it counts cycles here: cpufreq's value is often the requested clock.
fn live_clock(layout: &Layout, all_busy_mhz: Option<f64>) -> Result<LiveClock, String> {
    let mut sampler = Clock::new(Path::new("/"));
    let cpus = layout.cpus();
    let mut readings = Vec::new();
    sampler.start(&Moment { now_ns: 0, cpus: &cpus, pids: &[] });
    sampler.finish(&Moment { now_ns: 1, cpus: &cpus, pids: &[] }, &mut readings);
    let cycles = readings.iter().find(|one| one.metric == APERF);
    match cycles.map(|one| (one.value, one.gap.clone())) {
        Some((Some(_), _)) => Ok(LiveClock { sampler, all_busy_mhz }),
        Some((None, Some(why))) => Err(why),
        _ => Err("cycles cannot be counted here".to_owned()),
    }
}

/// Average non-idle clock of all read logical CPUs, MHz.
fn busy_mhz(readings: &[Reading], length_s: f64) -> Option<f64> {
    let values = |metric: &str| -> Vec<f64> {
        readings.iter().filter(|one| one.metric == metric).filter_map(|one| one.value).collect()
    };
    let sum = |metric: &str| values(metric).iter().sum::<f64>();
    let tsc_mhz = sum(TSC) / values(TSC).len() as f64 / length_s / 1e6;
    let (aperf, mperf) = (sum(APERF), sum(MPERF));
    let mhz = tsc_mhz * aperf / mperf;
    (mhz.is_finite() && mhz > 0.0).then_some(mhz)
}

fn unreadable(error: std::io::Error) -> AppError {
    AppError::Failed(format!("cannot read /proc/stat: {error}; mount proc, or run where /proc is visible"))
}

/// Windows between recorded texts, and their machine.
///
/// # Errors
/// The machine or a text cannot be read.
pub fn recorded(args: &HeadroomArgs, smt_yield: SmtYield) -> Result<(Topology, Vec<Window>), AppError> {
    let topology = match args.root.as_path() {
        root if root == Path::new("/") => topology::live()?,
        root => Topology::read(root, None).map_err(AppError::input)?,
    };
    let layout = Layout::of(&topology);
    let texts = args.recorded.iter().map(|path| recorded_ticks(path)).collect::<Result<Vec<_>, _>>()?;
    let window = |(pair, files): (&[Vec<CpuTicks>], &[PathBuf])| {
        let times = of_window(proc_stat::difference(&pair[0], &pair[1]), args.interval);
        if times.is_empty() {
            return Err(AppError::Input(format!(
                "{}: no logical CPU's times grew by about {} since {}: give --interval the time between the two, and \
                 files of one boot without a suspend in between",
                files[1].display(),
                humantime::format_duration(Duration::from_secs_f64(args.interval)),
                files[0].display()
            )));
        }
        let times = cpu_times(&times, args.interval);
        let cores = core_times(&layout, &times, &[], args.interval);
        let rows = rows(&layout, &cores, args.interval, &smt_yield, 1.0);
        Ok(Window {
            end: None,
            length_s: args.interval,
            rows,
            clock_ratio: None,
            busy_mhz: None,
            online_now: None,
        })
    };
    let pairs = texts.windows(2).zip(args.recorded.windows(2));
    let windows = pairs.map(window).collect::<Result<Vec<Window>, AppError>>()?;
    Ok((topology, windows))
}

fn recorded_ticks(path: &Path) -> Result<Vec<CpuTicks>, AppError> {
    let wrong = |why: &dyn std::fmt::Display| AppError::Input(format!("{}: {why}", path.display()));
    let text = given::bytes(path, MOST_BYTES).map_err(|error| wrong(&error))?;
    let mut ticks = Vec::new();
    proc_stat::parse(&text, &mut ticks);
    ticks.sort_by_key(|one| one.cpu);
    match ticks.is_empty() {
        true => Err(wrong(&"it has no line of a logical CPU: give a copy of /proc/stat")),
        false => Ok(ticks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(metric: &str, value: f64) -> Reading {
        Reading {
            sampler: "clock".to_owned(),
            metric: metric.to_owned(),
            cpu: Some(0),
            start_ns: 0,
            end_ns: 1,
            value: Some(value),
            gap: None,
        }
    }

    #[test]
    fn the_clock_is_that_of_busy_time() {
        // 2,600 MHz of time stamps, and cycles at 1.5 times the fixed clock.
        let readings = [reading(TSC, 5.2e9), reading(APERF, 1.5e9), reading(MPERF, 1.0e9)];
        assert!((busy_mhz(&readings, 2.0).unwrap() - 3900.0).abs() < 1e-6);
        assert_eq!(busy_mhz(&[], 1.0), None);
        assert_eq!(busy_mhz(&readings[..1], 1.0), None);
    }
}
