//! Times of the logical CPUs, and how long siblings shared a core while another core idled.
//!
//! Source: /proc/stat, see [`crate::proc_stat`]. Logical CPUs of the placement are reported one by one,
//! all others as sums, so that hundreds of them stay cheap.
//!
//! Straggler time (`siblings_busy_core_idle_ns`): /proc/stat shows how much of an interval a logical CPU was
//! busy, not when. For each interval (start to tick, tick to tick, tick to finish) it takes the core whose
//! second-busiest sibling was busiest and another allowed core whose siblings were all idle longest,
//! and adds the product of the two shares times the interval: the overlap of two independent shares,
//! and exact if one of them is 0 or 1. Shares come from ticks of 10 ms,
//! so an interval of 100 ms is accurate to about a tenth of it. An interval before the first tick is joined to
//! the next one; at the finish it adds nothing.

use super::{Span, opened, reading, status_of};
use crate::proc_stat::{self, CpuTicks, Grown, ProcStat, TICK_NS};
use crate::{Moment, Sampler, Status};
use std::path::Path;
use threadwise_machine::Topology;
use threadwise_study::Reading;

const REMEDY: &str = "run where /proc is not hidden from this user";
const METRICS: [&str; 4] = ["busy_ns", "steal_ns", "irq_ns", "total_ns"];
const OTHERS: [&str; 4] = ["others_busy_ns", "others_steal_ns", "others_irq_ns", "others_total_ns"];

/// The sampler.
#[derive(Debug)]
pub struct Cpu {
    source: Result<ProcStat, Status>,
    /// Online logical CPUs of every core that has an allowed one; or why there is no straggler time.
    cores: Result<Vec<Vec<u32>>, String>,
    start_ns: u64,
    before: Result<Vec<CpuTicks>, String>,
    /// The last reading before which a tick had passed everywhere.
    looked: Vec<CpuTicks>,
    looked_ns: u64,
    now: Vec<CpuTicks>,
    /// Straggler time so far; `None` while no interval was long enough.
    shared_ns: Result<Option<f64>, String>,
}

impl Cpu {
    /// Reads `proc/stat` below `root`; `topology` gives the siblings.
    pub fn new(root: &Path, topology: &Topology) -> Self {
        let path = root.join("proc/stat");
        Self {
            source: ProcStat::open(root).map_err(|error| status_of(&path, &error, REMEDY)),
            cores: cores(topology),
            start_ns: 0,
            before: Err("not started".to_owned()),
            looked: Vec::new(),
            looked_ns: 0,
            now: Vec::new(),
            shared_ns: Err("not started".to_owned()),
        }
    }

    fn read(&mut self) -> Result<(), String> {
        opened(&mut self.source)?.read(&mut self.now).map_err(|error| format!("proc/stat: {error}"))
    }

    /// Adds the straggler time since the last reading.
    fn look(&mut self, now_ns: u64) -> Result<(), String> {
        self.read()?;
        let cores = self.cores.as_ref().map_err(Clone::clone)?;
        let shares = Shares::between(&self.looked, &self.now);
        if shares.too_early {
            return Ok(());
        }
        let share = straggling(cores, &shares)?;
        let look_ns = now_ns.saturating_sub(self.looked_ns) as f64;
        self.shared_ns = self.shared_ns.clone().map(|sum| Some(sum.unwrap_or(0.0) + share * look_ns));
        self.looked.clone_from(&self.now);
        self.looked_ns = now_ns;
        Ok(())
    }

    fn keep(&mut self, looked: Result<(), String>) {
        if let (Err(why), Ok(_)) = (looked, &self.shared_ns) {
            self.shared_ns = Err(why);
        }
    }
}

/// Sibling sets, if siblings can be busy together beside an idle core on this machine.
fn cores(topology: &Topology) -> Result<Vec<Vec<u32>>, String> {
    let siblings = |cpu: u32| topology.cpu(cpu).map(|cpu| cpu.siblings.iter().collect());
    let cores: Vec<Vec<u32>> =
        topology.cores.iter().filter_map(|core| siblings(core.cpus.first()?)).collect();
    if cores.len() < 2 {
        return Err("fewer than 2 cores are declared and allowed".to_owned());
    }
    if cores.iter().all(|core| core.len() < 2) {
        return Err("no core here is declared with 2 SMT siblings online".to_owned());
    }
    Ok(cores)
}

/// Busy and idle share of each logical CPU between two readings.
struct Shares {
    /// By OS number; `None` if a logical CPU does not exist or ran backwards.
    by_cpu: Vec<Option<(f64, f64)>>,
    /// Whether no tick has passed yet for some logical CPU: then the next reading decides.
    too_early: bool,
}

impl Shares {
    fn between(early: &[CpuTicks], late: &[CpuTicks]) -> Self {
        let mut by_cpu = vec![None; late.last().map_or(0, |last| last.cpu as usize + 1)];
        let mut too_early = false;
        for (cpu, grown) in pairs(early, late) {
            let Some(grown) = grown else { continue };
            too_early |= grown.total() == 0;
            let share = |ticks: u64| ticks as f64 / grown.total() as f64;
            if let Some(place) = by_cpu.get_mut(cpu as usize) {
                *place = Some((share(grown.busy), share(grown.idle)));
            }
        }
        Self { by_cpu, too_early }
    }

    fn of(&self, cpu: u32) -> Result<(f64, f64), String> {
        let share = self.by_cpu.get(cpu as usize).copied().flatten();
        share.ok_or_else(|| {
            format!("no time of logical CPU {cpu} in proc/stat: it went offline or ran backwards")
        })
    }
}

/// Share of an interval in which two siblings of one core were busy while another core idled.
fn straggling(cores: &[Vec<u32>], shares: &Shares) -> Result<f64, String> {
    let mut figures = Vec::with_capacity(cores.len());
    for core in cores {
        let (mut first, mut second, mut idle) = (0.0_f64, 0.0_f64, 1.0_f64);
        for &cpu in core {
            let (busy, own_idle) = shares.of(cpu)?;
            second = second.max(first.min(busy));
            first = first.max(busy);
            idle = idle.min(own_idle);
        }
        figures.push((second, idle));
    }
    // Another core than the shared one: the idlest, or the idlest of the rest.
    let idlest = |except: Option<usize>| {
        let others = figures.iter().enumerate().filter(move |(at, _)| Some(*at) != except);
        others.max_by(|(_, a), (_, b)| a.1.total_cmp(&b.1)).map(|(at, figure)| (at, figure.1))
    };
    let Some((most_idle, idle)) = idlest(None) else { return Ok(0.0) };
    let rest = idlest(Some(most_idle)).map_or(0.0, |(_, idle)| idle);
    let product = |(at, figure): (usize, &(f64, f64))| figure.0 * if at == most_idle { rest } else { idle };
    Ok(figures.iter().enumerate().map(product).fold(0.0, f64::max))
}

/// Growth of every logical CPU that is in both; `None` if it ran backwards. Both ascend.
fn pairs<'a>(early: &'a [CpuTicks], late: &'a [CpuTicks]) -> impl Iterator<Item = (u32, Option<Grown>)> + 'a {
    let mut early = early.iter().peekable();
    late.iter().filter_map(move |late| {
        while early.next_if(|early| early.cpu < late.cpu).is_some() {}
        let early = early.next_if(|early| early.cpu == late.cpu)?;
        Some((late.cpu, proc_stat::grown(early, late)))
    })
}

/// Growth of one logical CPU.
fn growth_of(cpu: u32, before: &[CpuTicks], after: &[CpuTicks]) -> Result<[u64; 4], String> {
    let entry = |ticks: &'_ [CpuTicks]| {
        let at = ticks.binary_search_by_key(&cpu, |entry| entry.cpu).ok();
        at.map(|at| ticks[at]).ok_or_else(|| format!("logical CPU {cpu} is not in proc/stat: it is offline"))
    };
    let (early, late) = (entry(before)?, entry(after)?);
    let grown = proc_stat::grown(&early, &late).ok_or_else(|| backwards(cpu))?;
    Ok(columns(&grown))
}

fn backwards(cpu: u32) -> String {
    format!("the times of logical CPU {cpu} ran backwards: it went offline in between")
}

fn columns(grown: &Grown) -> [u64; 4] {
    [grown.busy, grown.steal, grown.irq, grown.total()]
}

/// Growth of all logical CPUs outside of the placement together.
fn growth_of_others(at: &Moment<'_>, before: &[CpuTicks], after: &[CpuTicks]) -> Result<[u64; 4], String> {
    let count = |ticks: &[CpuTicks]| ticks.iter().filter(|entry| !at.cpus.contains(entry.cpu)).count();
    let mut sums = [0_u64; 4];
    let mut seen = 0;
    for (cpu, grown) in pairs(before, after).filter(|(cpu, _)| !at.cpus.contains(*cpu)) {
        let grown = grown.ok_or_else(|| backwards(cpu))?;
        for (sum, ticks) in sums.iter_mut().zip(columns(&grown)) {
            *sum = sum.saturating_add(ticks);
        }
        seen += 1;
    }
    match seen == count(before) && seen == count(after) {
        true => Ok(sums),
        false => Err("a logical CPU outside of the placement went offline or came online".to_owned()),
    }
}

impl Sampler for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn status(&self) -> Status {
        self.source.as_ref().err().cloned().unwrap_or(Status::Ready)
    }

    fn start(&mut self, at: &Moment<'_>) {
        self.start_ns = at.now_ns;
        self.before = self.read().map(|()| self.now.clone());
        self.looked.clone_from(&self.now);
        self.looked_ns = at.now_ns;
        self.shared_ns = self.before.as_ref().map(|_| None).map_err(Clone::clone);
    }

    fn tick(&mut self, at: &Moment<'_>) {
        if self.cores.is_ok() {
            let looked = self.look(at.now_ns);
            self.keep(looked);
        }
    }

    fn finish(&mut self, at: &Moment<'_>, readings: &mut Vec<Reading>) {
        self.now.clear();
        let looked = self.look(at.now_ns);
        self.keep(looked.clone());
        let span = Span { start_ns: self.start_ns, end_ns: at.now_ns };
        let before = match (&self.before, self.now.is_empty()) {
            (Err(why), _) => Err(why.clone()),
            (Ok(_), true) => Err(looked.err().unwrap_or_else(|| "proc/stat is empty".to_owned())),
            (Ok(before), false) => Ok(before),
        };
        let ns = |ticks: u64| ticks.saturating_mul(TICK_NS) as f64;
        let mut tell = |metrics: [&str; 4], cpu: Option<u32>, grown: Result<[u64; 4], String>| {
            readings.extend(metrics.iter().enumerate().map(|(column, metric)| {
                reading("cpu", metric, cpu, span, grown.clone().map(|columns| ns(columns[column])))
            }));
        };
        for cpu in at.cpus.iter() {
            let grown = before.clone().and_then(|before| growth_of(cpu, before, &self.now));
            tell(METRICS, Some(cpu), grown);
        }
        let grown = before.and_then(|before| growth_of_others(at, before, &self.now));
        tell(OTHERS, None, grown);
        let shared = self.shared_ns.clone().and_then(|sum| {
            sum.ok_or_else(|| "the window is shorter than a tick of /proc/stat, 10 ms".to_owned())
        });
        readings.push(reading(self.name(), "siblings_busy_core_idle_ns", None, span, shared));
    }
}

#[cfg(test)]
mod tests;
