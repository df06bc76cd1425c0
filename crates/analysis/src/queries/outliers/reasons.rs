//! Why something stands out, by what was measured around it.
//!
//! A disturbance is given as the reason of a slow execution only where it can explain a quarter of the
//! excess: steal of 1% does not make a query twice as long, half of the threads make it twice as long at
//! the most, and a share of others that is as large as ever explains nothing. Bytes cannot be turned into time without
//! knowing the device, so for reads and spills the rule is that there were at least twice as many as
//! usual, and at least a MiB. The first that applies is given: plan, threads, reads and spills, neighbours,
//! clock.

use threadwise_machine::{CpuSet, Topology};
use threadwise_study::{Counters, Slice};

use super::super::plans::{self, Plans};
use super::super::table::{Cell, Done, Table};
use super::super::{Change, QueryEstimates, Reason, TreatmentQueries};
use crate::estimate::{BUSY_FLAG_SHARE, CO_RUNNER_FLAG_SHARE, STEAL_FLAG_SHARE};
use crate::words;
use threadwise_document::{Prose, numbers, prose};
use threadwise_statistics::median;

/// Part of an excess that a disturbance must explain.
const EXPLAINS_SHARE: f64 = 0.25;

/// Less than two ticks of the kernel's accounting (10 ms each) is not told from nothing.
const MIN_TAKEN_NS: f64 = 2e7;

/// So many times the usual amount is more than usual.
const MANY_TIMES: f64 = 2.0;

/// Counters that tell of storage, with the least amount that counts, what it is called, and the cause.
const STORAGE: [(&str, f64, &str, &str); 4] = [
    ("spill_bytes", 1_048_576.0, "spilled", "spilling"),
    ("read_bytes", 1_048_576.0, "read", "reads from storage"),
    ("major_faults", 256.0, "faulted in", "pages faulted in"),
    ("temp_bytes", 1_048_576.0, "wrote to temporary files", "temporary files"),
];

/// Why something stands out.
pub struct Why {
    /// Of which kind.
    pub reason: Reason,
    /// In a few words without figures.
    pub cause: &'static str,
    /// With the figures that it rests on.
    pub text: Prose,
}

impl Why {
    fn new(reason: Reason, cause: &'static str, text: impl Into<Prose>) -> Self {
        Self { reason, cause, text: text.into() }
    }

    /// `text` is what was looked at in vain.
    fn unexplained(text: &str) -> Self {
        Self::new(Reason::Unexplained, "unexplained", text)
    }
}

/// What surrounded one execution: shares that others took of its own logical CPUs, whose time is scaled
/// to it where its slice is longer, and busy shares of the CPUs that it left free.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Surroundings {
    /// Time of its own logical CPUs.
    total_ns: f64,
    /// Share of it that the hypervisor took.
    steal_share: f64,
    /// Share of it that went to something that is not the study's.
    others_share: f64,
    /// Busy share of siblings that it left free.
    left_over_share: f64,
    /// Busy share of all other logical CPUs.
    free_share: f64,
}

/// The logical CPUs of a run, and their siblings that it left free.
pub struct Places {
    assigned: CpuSet,
    siblings: CpuSet,
}

impl Places {
    /// Of one run.
    pub fn of(cell: &Cell<'_>, topology: Option<&Topology>) -> Self {
        let assigned: CpuSet = cell.run.cpus.iter().copied().collect();
        let siblings = topology.map_or_else(CpuSet::new, |topology| {
            let known = assigned.iter().filter_map(|cpu| topology.cpu(cpu));
            known.flat_map(|cpu| cpu.siblings.iter()).collect()
        });
        Self { assigned, siblings }
    }
}

impl Surroundings {
    /// From a slice's times; all 0 where these are missing.
    pub fn of(slice: &Slice, places: &Places) -> Self {
        // Own, left-over and free logical CPUs: busy, stolen, all.
        let mut sums = [[0.0_f64; 3]; 3];
        for times in &slice.cpu_times {
            let is_own = places.assigned.contains(times.cpu);
            let at = if is_own { 0 } else { 2 - usize::from(places.siblings.contains(times.cpu)) };
            let parts = [times.busy_ns, times.steal_ns, times.total_ns];
            sums[at].iter_mut().zip(parts).for_each(|(sum, part)| *sum += part as f64);
        }
        let far = &slice.other_cpus;
        let [[busy, steal, total], left_over, mut free] = sums;
        free.iter_mut()
            .zip([far.busy_ns, far.steal_ns, far.total_ns])
            .for_each(|(sum, part)| *sum += part as f64);
        let executions = slice.sessions.iter().flat_map(|session| &session.queries);
        let planning: f64 = executions.map(|one| one.planning_ns.unwrap_or(0) as f64).sum();
        let others = match slice.cpu_ns() {
            // What is not known to be ours is not known to be another's either.
            0 => 0.0,
            cpu => (busy - cpu as f64 - planning).max(0.0),
        };
        Self {
            total_ns: total,
            steal_share: share(steal, total),
            others_share: share(others, total),
            left_over_share: share(left_over[0], left_over[2]),
            free_share: share(free[0], free[2]),
        }
    }

    /// An execution's part of its slice.
    pub fn part(self, done: &Done<'_>) -> Self {
        let part = share(done.execution.elapsed_ns as f64, done.slice.window_ns as f64).min(1.0);
        Self { total_ns: self.total_ns * part, ..self }
    }
}

fn share(above: f64, below: f64) -> f64 {
    if below > 0.0 { above / below } else { 0.0 }
}

/// What is usual for a query under a treatment: medians over its executions.
pub struct Usual {
    plan: Option<usize>,
    dop: f64,
    counters: Vec<f64>,
    around: Surroundings,
    clock_mhz: Option<f64>,
    co_runner_share: f64,
}

impl Usual {
    /// From all executions of the query under the treatment.
    pub fn of<'t, 'a: 't>(
        executions: impl Iterator<Item = (&'t Cell<'a>, Done<'a>, &'t Surroundings)>,
        plans: &Plans,
        treatment: usize,
        query: u8,
    ) -> Self {
        let all: Vec<_> = executions.collect();
        let middle = |value: &dyn Fn(&Surroundings) -> f64| {
            median(all.iter().map(|(_, _, around)| value(around))).unwrap_or(0.0)
        };
        let counter = |name: &str| {
            median(all.iter().map(|(_, done, _)| count(&done.execution.counters, name))).unwrap_or(0.0)
        };
        Self {
            plan: plans.majority(&[treatment], query),
            dop: median(all.iter().filter_map(|(_, done, _)| done.execution.dop.map(f64::from)))
                .unwrap_or(0.0),
            counters: STORAGE.iter().map(|(name, ..)| counter(name)).collect(),
            around: Surroundings {
                total_ns: middle(&|around| around.total_ns),
                steal_share: middle(&|around| around.steal_share),
                others_share: middle(&|around| around.others_share),
                left_over_share: middle(&|around| around.left_over_share),
                free_share: middle(&|around| around.free_share),
            },
            clock_mhz: median(all.iter().filter_map(|(cell, ..)| cell.clock_mhz)),
            co_runner_share: median(all.iter().filter_map(|(cell, ..)| cell.co_runner_share)).unwrap_or(0.0),
        }
    }
}

/// Why one execution took longer than usual, in words.
pub fn of_execution(
    cell: &Cell<'_>,
    done: &Done<'_>,
    around: &Surroundings,
    usual: &Usual,
    plans: &Plans,
    usual_ns: f64,
) -> Why {
    let elapsed_ns = done.execution.elapsed_ns as f64;
    other_plan(done, usual, plans)
        .or_else(|| fewer_threads(done, usual, elapsed_ns / usual_ns))
        .or_else(|| storage(&done.execution.counters, usual))
        .or_else(|| neighbour(cell, around, usual, elapsed_ns - usual_ns))
        .or_else(|| clock(cell, usual, elapsed_ns / usual_ns))
        .unwrap_or_else(|| Why::unexplained("nothing that was measured explains it"))
}

fn other_plan(done: &Done<'_>, usual: &Usual, plans: &Plans) -> Option<Why> {
    let plan = done.execution.plan.as_deref().and_then(plans::bare)?;
    let usual = plans.text(usual.plan?);
    let text = match plans::change(usual, &plan) {
        Change::Different => "another plan than its usual one",
        Change::ParallelOnly => "its usual plan with other operators between threads",
        Change::Same | Change::Unknown => return None,
    };
    Some(Why::new(Reason::Plan, text, text))
}

/// With n of m threads it takes m/n times as long at the most.
fn fewer_threads(done: &Done<'_>, usual: &Usual, times: f64) -> Option<Why> {
    let dop = f64::from(done.execution.dop?);
    let is_cause = dop < usual.dop && usual.dop / dop - 1.0 >= EXPLAINS_SHARE * (times - 1.0);
    let text = || format!("{dop} took part in it, mostly {} do", usual.dop);
    is_cause.then(|| Why::new(Reason::Dop, "fewer threads took part than usual", text()))
}

fn count(counters: &Counters, name: &str) -> f64 {
    counters.get(name).copied().unwrap_or(0) as f64
}

fn storage(counters: &Counters, usual: &Usual) -> Option<Why> {
    STORAGE.iter().zip(&usual.counters).find_map(|((name, least, verb, cause), usual)| {
        let now = count(counters, name);
        let text = || prose!("it {} {}, mostly {}", *verb, amount(name, now), amount(name, *usual));
        (now - usual >= *least && now >= MANY_TIMES * usual).then(|| Why::new(Reason::Io, cause, text()))
    })
}

fn amount(name: &str, amount: f64) -> Prose {
    let count = amount.round() as u64;
    Prose::figure(match name.ends_with("_bytes") {
        true => numbers::bytes(count),
        false => format!("{} pages", numbers::grouped(count)),
    })
}

fn neighbour(cell: &Cell<'_>, around: &Surroundings, usual: &Usual, excess_ns: f64) -> Option<Why> {
    // Taken beyond what the usual share takes of as long a time.
    let explains = |now: f64, usual: f64| {
        (now - usual) * around.total_ns >= MIN_TAKEN_NS.max(EXPLAINS_SHARE * excess_ns)
    };
    let flagged = |now: f64, usual: f64, limit: f64| now > limit && now >= MANY_TIMES * usual;
    let before = &usual.around;
    if around.steal_share > STEAL_FLAG_SHARE && explains(around.steal_share, before.steal_share) {
        return Some(shares("steal", "steal", around.steal_share, before.steal_share));
    }
    if around.others_share > BUSY_FLAG_SHARE && explains(around.others_share, before.others_share) {
        let cause = "others busy on the same logical CPUs";
        let (now, usual) = (around.others_share, before.others_share);
        return Some(shares(cause, "others on its logical CPUs", now, usual));
    }
    if flagged(around.left_over_share, before.left_over_share, BUSY_FLAG_SHARE) {
        let (now, usual) = (around.left_over_share, before.left_over_share);
        return Some(shares("others busy on siblings left free", "siblings left free busy", now, usual));
    }
    if let Some(share) =
        cell.co_runner_share.filter(|share| flagged(*share, usual.co_runner_share, CO_RUNNER_FLAG_SHARE))
    {
        let what = "a co-runner on its cores around that block";
        return Some(shares("a co-runner on the same cores", what, share, usual.co_runner_share));
    }
    flagged(around.free_share, before.free_share, BUSY_FLAG_SHARE).then(|| {
        shares("other logical CPUs busy", "other logical CPUs busy", around.free_share, before.free_share)
    })
}

fn shares(cause: &'static str, what: &str, now: f64, usual: f64) -> Why {
    Why::new(
        Reason::Neighbour,
        cause,
        prose!("{} {}, mostly {}", what, words::share(now), words::share(usual)),
    )
}

fn clock(cell: &Cell<'_>, usual: &Usual, times: f64) -> Option<Why> {
    let (now, usual) = cell.clock_mhz.zip(usual.clock_mhz)?;
    let mhz = |value: f64| numbers::significant(value, 3);
    let text = || prose!("the clock was {} MHz in that block, mostly {}", mhz(now), mhz(usual));
    ((usual / now).ln() >= EXPLAINS_SHARE * times.ln())
        .then(|| Why::new(Reason::Clock, "a lower clock", text()))
}

/// Why a query gained more or less than all together, in words.
pub fn of_query(
    table: &Table<'_>,
    at: usize,
    query: u8,
    measured: &TreatmentQueries,
    baseline: &TreatmentQueries,
    times: f64,
) -> Why {
    let nothing = || Why::unexplained("plan, threads, reads, spills and steal do not tell why");
    let Some((numbers, before)) = measured.queries.get(&query).zip(baseline.queries.get(&query)) else {
        return nothing();
    };
    if numbers.plan_change == Change::Different {
        let text = "another plan than the baseline's";
        return Why::new(Reason::Plan, text, text);
    }
    if let Some(why) = serial(numbers, measured, times) {
        return why;
    }
    let moved = STORAGE.iter().find_map(|(name, least, verb, cause)| {
        let counter = |numbers: &QueryEstimates| numbers.counters.get(*name).copied().unwrap_or(0.0);
        let (now, was) = (counter(numbers), counter(before));
        let is_other = now.max(was) >= MANY_TIMES * now.min(was) && (now - was).abs() >= *least;
        // More reads do not make a query faster.
        let text = || {
            prose!(
                "it {} {} an execution, under the baseline {}",
                *verb,
                amount(name, now),
                amount(name, was)
            )
        };
        (is_other && (now > was) == (times < 1.0)).then(|| Why::new(Reason::Io, cause, text()))
    });
    if let Some(why) = moved {
        return why;
    }
    let steal = |sides: &[usize]| {
        let cells = sides.iter().flat_map(|at| table.of(*at));
        let shares = cells.flat_map(|cell| {
            let places = Places::of(cell, table.topology);
            cell.executions(query).map(move |done| Surroundings::of(done.slice, &places).steal_share)
        });
        median(shares).unwrap_or(0.0)
    };
    let (now, was) = (steal(&[at]), steal(table.below(at)));
    // Steal lengthens a query by about its own share.
    if times < 1.0 && now > STEAL_FLAG_SHARE && now - was >= EXPLAINS_SHARE * -times.ln() {
        let text =
            prose!("steal {} of the time, under the baseline {}", words::share(now), words::share(was));
        return Why::new(Reason::Neighbour, "steal", text);
    }
    nothing()
}

/// A slow query on fewer threads than its treatment asked for, where others had them.
fn serial(numbers: &QueryEstimates, measured: &TreatmentQueries, times: f64) -> Option<Why> {
    let (asked, most) = measured.dop.zip(numbers.dop_max)?;
    let others_had_more =
        measured.queries.values().any(|other| other.dop_max.is_some_and(|other| other > most));
    let text = || format!("at most {most} of the {asked} that were asked for took part");
    (times < 1.0 && most < asked && others_had_more)
        .then(|| Why::new(Reason::Dop, "fewer threads took part than were asked for", text()))
}
