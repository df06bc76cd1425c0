//! Outliers, and the likeliest reason for each among what was measured.
//!
//! A single execution is an outlier if it took more than twice the median of its query and treatment, its modified
//! z-score (Iglewicz, Hoaglin, *How to Detect and Handle Outliers*, 1993: 0.6745 · (x − median) / MAD, of logarithms)
//! exceeds 3.5, and its time beyond the median is 1% or more of all that its run took in the block. The factor alone
//! would report every execution of a query that scatters; the score alone would report 3% in a query that does not;
//! both together would report milliseconds that no total shows. No estimate leaves out an outlier.
//!
//! A disturbance is given as the reason of a slow execution only if it can explain a quarter of the excess: steal of 1%
//! does not double a query's time, half of the threads double it at most, and a share of others at its usual size
//! explains nothing. Bytes cannot be converted to time without knowing the device, so for reads and spills the rule is
//! at least twice as many as usual, and at least a MiB. The first that applies is given: plan, threads, reads and
//! spills, neighbours, clock.

use super::executions::{BlockRun, Done, Executions};
use super::plans::{self, Plans};
use super::query_study::QueryStudy;
use super::types::{Baseline, Change, Outlier, QueryEstimates, Reason, TreatmentQueries};
use super::words::query_list;
use crate::estimate::{BUSY_FLAG_SHARE, NEIGHBOUR_FLAG_SHARE, STEAL_FLAG_SHARE};
use crate::groups::grouped_by;
use crate::words::{finding, share};
use crate::{Finding, FindingKind};
use std::collections::{BTreeMap, BTreeSet};
use threadwise_document::numbers::{self, counted, significant};
use threadwise_document::{Block, Prose, Section, Shown, prose};
use threadwise_machine::{CpuSet, Topology};
use threadwise_statistics::{median, per};
use threadwise_study::QueryExecution;

/// Least multiple of the median for an outlier.
const MIN_TIMES: f64 = 2.0;

/// Modified z-scores above this are outliers (Iglewicz, Hoaglin 1993).
const MIN_SCORE: f64 = 3.5;

/// Makes the median absolute deviation of a normal sample its standard deviation.
const MAD_TO_SD: f64 = 0.6745;

/// Least share of its run's time in the block that an outlier lost.
const MIN_LOST_SHARE: f64 = 0.01;

/// Fewest executions of a query under a treatment for a meaningful median.
const MIN_EXECUTIONS: usize = 4;

/// A query is an outlier among all if its speed is this many times the geometric mean, or its inverse.
const MIN_APART: f64 = 1.25;

/// Most outliers in the list, of both kinds together.
const MAX_LISTED: usize = 20;

/// Places in the list that single executions leave to queries.
const FOR_QUERIES: usize = 8;

/// Part of an excess that a disturbance must explain.
const EXPLAINS_SHARE: f64 = 0.25;

/// Less than two ticks of the kernel's accounting (10 ms each) cannot be distinguished from nothing.
const MIN_TAKEN_NS: f64 = 2e7;

/// Least multiple of the usual amount that counts as more than usual.
const MANY_TIMES: f64 = 2.0;

/// Counters of storage, with the least amount that counts, its verb, and the cause.
const STORAGE: [(&str, f64, &str, &str); 4] = [
    ("spill_bytes", 1_048_576.0, "spilled", "spilling"),
    ("read_bytes", 1_048_576.0, "read", "reads from storage"),
    ("major_faults", 256.0, "faulted in", "pages faulted in"),
    ("temp_bytes", 1_048_576.0, "wrote to temporary files", "temporary files"),
];

/// Other activity around an execution, in the order in which it is given as a reason, which is that of
/// [`Execution::shares`]: the cause, what had the share, the share that counts, and whether it is of the execution's
/// own logical CPUs: the time taken is then known, and must explain the excess.
const NEIGHBOURS: [(&str, &str, f64, bool); 5] = [
    (STEAL, STEAL, STEAL_FLAG_SHARE, true),
    ("others busy on the same logical CPUs", "others on its logical CPUs", BUSY_FLAG_SHARE, true),
    ("others busy on siblings left free", "siblings left free busy", BUSY_FLAG_SHARE, false),
    (
        "a neighbour on the same cores",
        "a neighbour on its cores around that block",
        NEIGHBOUR_FLAG_SHARE,
        false,
    ),
    ("other logical CPUs busy", "other logical CPUs busy", BUSY_FLAG_SHARE, false),
];

const STEAL: &str = "steal";

/// Most groups in a finding: single executions first, the last place for a query as a whole.
const MAX_GROUPS: usize = 3;

/// Most groups of queries as a whole.
const MAX_WHOLE: usize = 2;

/// Most letters of the groups in a finding; beyond it the last group is left out.
const MAX_TEXT: usize = 230;

/// Most queries in a group.
const MAX_NAMED: usize = 3;

/// Single executions first, by the share of the block's time that they lost, then queries, by their distance; and how
/// many there are beyond the list.
pub fn outliers(
    table: &Executions<'_>,
    plans: &Plans,
    treatments: &[TreatmentQueries],
    baselines: &[Baseline],
) -> (Vec<Outlier>, usize) {
    let mut single: Vec<(f64, Outlier)> = Vec::new();
    let mut whole: Vec<Outlier> = Vec::new();
    for (at, measured) in treatments.iter().enumerate() {
        let mut by_query: BTreeMap<u8, Vec<Execution<'_, '_>>> = BTreeMap::new();
        for one in executions(table, at) {
            by_query.entry(one.of.query).or_default().push(one);
        }
        single.extend(by_query.values().flat_map(|all| slow(&measured.treatment, plans, at, all)));
        let group = &table.study.treatments[at].group;
        let baseline = baselines.iter().find(|baseline| baseline.group == *group);
        whole.extend(baseline.into_iter().flat_map(|baseline| apart(table, at, measured, &baseline.both)));
    }
    single.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    whole.sort_by(|a, b| b.times.ln().abs().total_cmp(&a.times.ln().abs()));
    let all = single.len() + whole.len();
    whole.truncate(FOR_QUERIES.max(MAX_LISTED.saturating_sub(single.len())));
    single.truncate(MAX_LISTED.saturating_sub(whole.len()));
    let listed: Vec<Outlier> = single.into_iter().map(|(_, outlier)| outlier).chain(whole).collect();
    let left_out = all - listed.len();
    (listed, left_out)
}

/// One execution with its surroundings.
struct Execution<'t, 'a> {
    cell: &'t BlockRun<'a>,
    of: &'a QueryExecution,
    elapsed_ns: f64,
    /// Time of its own logical CPUs, scaled to it if its slice is longer.
    total_ns: f64,
    /// Shares of each of [`NEIGHBOURS`]; not a number if unknown.
    shares: [f64; 5],
}

/// A treatment's executions.
fn executions<'t, 'a>(table: &'t Executions<'a>, at: usize) -> impl Iterator<Item = Execution<'t, 'a>> {
    table.of(at).flat_map(|cell| {
        let assigned: CpuSet = cell.run.cpus.iter().copied().collect();
        let known = |topology: &Topology| -> CpuSet {
            let known = assigned.iter().filter_map(|cpu| topology.cpu(cpu));
            known.flat_map(|cpu| cpu.siblings.iter()).collect()
        };
        let siblings = table.topology.map_or_else(CpuSet::new, known);
        cell.done.iter().map(move |Done { slice, execution }| {
            let far = &slice.other_cpus;
            // Own, left-over and free logical CPUs: busy, stolen, all.
            let mut sums =
                [[0.0; 3], [0.0; 3], [far.busy_ns, far.steal_ns, far.total_ns].map(|ns| ns as f64)];
            for times in &slice.cpu_times {
                let is_own = assigned.contains(times.cpu);
                let at = if is_own { 0 } else { 2 - usize::from(siblings.contains(times.cpu)) };
                let parts = [times.busy_ns, times.steal_ns, times.total_ns];
                sums[at].iter_mut().zip(parts).for_each(|(sum, part)| *sum += part as f64);
            }
            let [[busy, steal, total], left_over, free] = sums;
            let all = slice.sessions.iter().flat_map(|session| &session.queries);
            let planning: f64 = all.map(|one| one.planning_ns.unwrap_or(0) as f64).sum();
            // Time that is not known to be the study's is not known to be another's either.
            let cpu = Some(slice.cpu_ns()).filter(|cpu| *cpu > 0);
            let others = cpu.map_or(0.0, |cpu| (busy - cpu as f64 - planning).max(0.0));
            let share = |above: f64, below: f64| per(above, below).unwrap_or(0.0);
            let shares = [
                share(steal, total),
                share(others, total),
                share(left_over[0], left_over[2]),
                cell.neighbour_share.unwrap_or(f64::NAN),
                share(free[0], free[2]),
            ];
            let elapsed_ns = execution.elapsed_ns as f64;
            let total_ns = total * share(elapsed_ns, slice.window_ns as f64).min(1.0);
            Execution { cell, of: execution, elapsed_ns, total_ns, shares }
        })
    })
}

/// Usual figures of a query under a treatment: medians over its executions.
struct Usual<'p> {
    elapsed_ns: f64,
    plan: Option<&'p str>,
    dop: f64,
    counters: [f64; 4],
    shares: [f64; 5],
    clock_mhz: Option<f64>,
}

/// Executions of one query under one treatment that took far longer than usual, each with the share of its run's time
/// in the block that it lost.
fn slow(treatment: &str, plans: &Plans, at: usize, all: &[Execution<'_, '_>]) -> Vec<(f64, Outlier)> {
    let (Some(query), true) = (all.first().map(|one| one.of.query), all.len() >= MIN_EXECUTIONS) else {
        return Vec::new();
    };
    let log = |one: &Execution<'_, '_>| one.elapsed_ns.ln();
    let Some(middle) = median(all.iter().map(log)) else { return Vec::new() };
    let mad = median(all.iter().map(|one| (log(one) - middle).abs())).unwrap_or(0.0);
    let usual_of = |value: &dyn Fn(&Execution<'_, '_>) -> f64| median(all.iter().map(value)).unwrap_or(0.0);
    let usual = Usual {
        elapsed_ns: middle.exp(),
        plan: plans.majority(&[at], query).map(|plan| plans.text(plan)),
        dop: usual_of(&|one| one.of.dop.map_or(f64::NAN, f64::from)),
        counters: STORAGE.map(|(name, ..)| usual_of(&|one| count(one, name))),
        shares: std::array::from_fn(|share| usual_of(&|one| one.shares[share])),
        clock_mhz: median(all.iter().filter_map(|one| one.cell.clock_mhz)),
    };
    let lost_share = |one: &Execution<'_, '_>| {
        let of_run: f64 = one.cell.done.iter().map(|done| done.execution.elapsed_ns as f64).sum();
        (one.elapsed_ns - usual.elapsed_ns) / of_run
    };
    let is_out = |one: &&Execution<'_, '_>| {
        let above = log(one) - middle;
        above > MIN_TIMES.ln() && MAD_TO_SD * above > MIN_SCORE * mad && lost_share(one) >= MIN_LOST_SHARE
    };
    let tell = |one: &Execution<'_, '_>| {
        let times = (log(one) - middle).exp();
        let (block, (reason, cause, why)) = (one.cell.run.block, why_slow(one, &usual));
        let figure = |ns: f64| Prose::figure(numbers::nanoseconds(ns));
        let text = prose!(
            "Q{} under {} took {} in block {}, {} times its median of {}: {}.",
            u32::from(query),
            treatment,
            figure(one.elapsed_ns),
            block,
            significant(times, 2),
            figure(usual.elapsed_ns),
            why
        );
        let (treatment, block) = (treatment.to_owned(), Some(block));
        (lost_share(one), Outlier { query, treatment, block, times, reason, cause, text })
    };
    all.iter().filter(is_out).map(tell).collect()
}

/// Queries whose speed under a treatment differs from that of all of them together: by both intervals (that of the
/// query adjusted for the queries), by [`MIN_APART`], and by more than the noise floor of the query itself.
///
/// With streams, only treatments with as many as the baseline: concurrent queries take longer, and which ones meet is
/// random.
fn apart(
    table: &Executions<'_>,
    at: usize,
    measured: &TreatmentQueries,
    baseline: &TreatmentQueries,
) -> Vec<Outlier> {
    let Some(mean) =
        measured.total.ratios.geometric.as_ref().filter(|_| measured.streams == baseline.streams)
    else {
        return Vec::new();
    };
    let tell = |(query, estimates): (&u8, &QueryEstimates)| {
        let speed = estimates.speed.as_ref()?;
        let (floor, times) = (speed.floor?, speed.value / mean.value);
        let is_apart = speed.adjusted_low > mean.high || speed.adjusted_high < mean.low;
        if !is_apart || !times.is_finite() || times.ln().abs() < MIN_APART.max(floor).ln() {
            return None;
        }
        let (reason, cause, why) =
            why_apart(table, at, *query, measured, baseline, times).unwrap_or_else(|| {
                let text = "plan, threads, reads, spills and steal do not explain it";
                (Reason::Unexplained, "unexplained", text.into())
            });
        let text = prose!(
            "Q{} under {} has {} of the baseline's speed, all queries {}: {}.",
            u32::from(*query),
            &measured.treatment,
            speed,
            mean,
            why
        );
        let treatment = measured.treatment.clone();
        Some(Outlier { query: *query, treatment, block: None, times, reason, cause, text })
    };
    measured.queries.iter().filter_map(tell).collect()
}

/// Reason for an outlier: of which kind, in a few words without figures, and with the figures that it is based on.
type Why = (Reason, &'static str, Prose);

/// Why one execution took longer than usual.
fn why_slow(one: &Execution<'_, '_>, usual: &Usual<'_>) -> Why {
    let times = one.elapsed_ns / usual.elapsed_ns;
    other_plan(one, usual)
        .or_else(|| fewer_threads(one, usual, times))
        .or_else(|| storage(STORAGE.map(|(name, ..)| count(one, name)), usual.counters, true, ["", "mostly"]))
        .or_else(|| neighbour(one, usual))
        .or_else(|| lower_clock(one, usual, times))
        .unwrap_or_else(|| (Reason::Unexplained, "unexplained", "nothing measured explains it".into()))
}

fn other_plan(one: &Execution<'_, '_>, usual: &Usual<'_>) -> Option<Why> {
    let plan = one.of.plan.as_deref().and_then(plans::bare)?;
    let text = match plans::change(usual.plan?, &plan) {
        Change::Different => "another plan than its usual one",
        Change::ParallelOnly => "its usual plan with other operators between threads",
        Change::Same | Change::Unknown => return None,
    };
    Some((Reason::Plan, text, text.into()))
}

/// With n of m threads it takes at most m/n times as long.
fn fewer_threads(one: &Execution<'_, '_>, usual: &Usual<'_>, times: f64) -> Option<Why> {
    let dop = f64::from(one.of.dop?);
    let is_cause = dop < usual.dop && usual.dop / dop - 1.0 >= EXPLAINS_SHARE * (times - 1.0);
    let text = || format!("{dop} took part in it, usually {} do", usual.dop).into();
    is_cause.then(|| (Reason::Dop, "fewer threads took part than usual", text()))
}

fn count(one: &Execution<'_, '_>, name: &str) -> f64 {
    one.of.counters.get(name).copied().unwrap_or(0) as f64
}

/// More reads or spills make no execution faster, and fewer make none slower. `words` follow the amount now, and
/// precede the reference amount.
fn storage(now: [f64; 4], usual: [f64; 4], is_slow: bool, words: [&str; 2]) -> Option<Why> {
    STORAGE.iter().zip(now.into_iter().zip(usual)).find_map(|((name, least, verb, cause), (now, usual))| {
        let (more, less) = if is_slow { (now, usual) } else { (usual, now) };
        let [now, usual] = [now, usual].map(|value| amount(name, value));
        let text = || prose!("it {} {}{} {}", *verb, now, words.join(", "), usual);
        (more - less >= *least && more >= MANY_TIMES * less).then(|| (Reason::Io, *cause, text()))
    })
}

fn amount(name: &str, amount: f64) -> Prose {
    let count = amount.round() as u64;
    Prose::figure(match name.ends_with("_bytes") {
        true => numbers::bytes(count),
        false => format!("{} pages", numbers::grouped(count)),
    })
}

fn neighbour(one: &Execution<'_, '_>, usual: &Usual<'_>) -> Option<Why> {
    let excess_ns = one.elapsed_ns - usual.elapsed_ns;
    let shares = one.shares.into_iter().zip(usual.shares);
    NEIGHBOURS.iter().zip(shares).find_map(|((cause, what, limit, takes_time), (now, usual))| {
        let is_cause = match takes_time {
            // Time beyond what the usual share takes of as long a time.
            true => (now - usual) * one.total_ns >= MIN_TAKEN_NS.max(EXPLAINS_SHARE * excess_ns),
            false => now >= MANY_TIMES * usual,
        };
        let text = || prose!("{} {}, usually {}", *what, share(now), share(usual));
        (now > *limit && is_cause).then(|| (Reason::Neighbour, *cause, text()))
    })
}

fn lower_clock(one: &Execution<'_, '_>, usual: &Usual<'_>, times: f64) -> Option<Why> {
    let (now, usual) = one.cell.clock_mhz.zip(usual.clock_mhz)?;
    let mhz = |value: f64| significant(value, 3);
    let text = || prose!("the clock was {} MHz in that block, usually {}", mhz(now), mhz(usual));
    ((usual / now).ln() >= EXPLAINS_SHARE * times.ln()).then(|| (Reason::Clock, "a lower clock", text()))
}

/// Why a query gained more or less than all together; `None` if nothing explains it.
fn why_apart(
    table: &Executions<'_>,
    at: usize,
    query: u8,
    measured: &TreatmentQueries,
    baseline: &TreatmentQueries,
    times: f64,
) -> Option<Why> {
    let (now, was) = (measured.queries.get(&query)?, baseline.queries.get(&query)?);
    if now.plan_change == Change::Different {
        let text = "another plan than the baseline's";
        return Some((Reason::Plan, text, text.into()));
    }
    let counters =
        |one: &QueryEstimates| STORAGE.map(|(name, ..)| one.counters.get(name).copied().unwrap_or(0.0));
    let words = [" per execution", "under the baseline"];
    let why =
        serial(now, measured, times).or_else(|| storage(counters(now), counters(was), times < 1.0, words));
    if why.is_some() || times >= 1.0 {
        return why;
    }
    // Steal lengthens a query by about its own share.
    let [now, was] = [vec![at], table.below(at)].map(|side| {
        let all = side.iter().flat_map(|at| executions(table, *at));
        let of_query = all.filter(|one| one.of.query == query);
        median(of_query.map(|one| one.shares[0])).unwrap_or(0.0)
    });
    let is_cause = now > STEAL_FLAG_SHARE && now - was >= EXPLAINS_SHARE * -times.ln();
    let text = || prose!("steal {} of the time, and {} under the baseline", share(now), share(was));
    is_cause.then(|| (Reason::Neighbour, STEAL, text()))
}

/// A slow query on fewer threads than its treatment requested, if others had them.
fn serial(estimates: &QueryEstimates, measured: &TreatmentQueries, times: f64) -> Option<Why> {
    let (asked, most) = measured.dop.zip(estimates.dop_max)?;
    let others_had_more =
        measured.queries.values().any(|other| other.dop_max.is_some_and(|other| other > most));
    let text = || format!("at most {most} of the {asked} requested threads took part").into();
    (times < 1.0 && most < asked && others_had_more)
        .then(|| (Reason::Dop, "fewer threads took part than requested", text()))
}

/// Outliers with the likeliest reasons; executions that share block and cause are together. `None` without any. Queries
/// with a different plan are reported elsewhere.
pub fn finding_of(found: QueryStudy<'_>) -> Option<Finding> {
    let all = found.queries.outliers.iter();
    let (single, whole): (Vec<&Outlier>, Vec<&Outlier>) = all
        .filter(|one| one.block.is_some() || one.reason != Reason::Plan)
        .partition(|one| one.block.is_some());
    let all = single.len() + whole.len() + found.queries.outliers_left_out;
    // Each group at the place of its first one.
    let mut single = grouped_by(single, |one| (one.block, one.cause));
    let mut whole = grouped_by(whole, |one| (one.query, one.cause));
    single.truncate(MAX_GROUPS - whole.len().min(1));
    whole.truncate(MAX_WHOLE.min(MAX_GROUPS - single.len()));
    let mut texts: Vec<Prose> = single.iter().filter_map(|(_, group)| slow_group(group)).collect();
    while texts.len() > 1 && texts.iter().map(|text| text.to_string().len()).sum::<usize>() > MAX_TEXT {
        texts.pop();
        single.pop();
    }
    let of_whole: Vec<Prose> = whole.iter().filter_map(|(_, group)| apart_group(group)).collect();
    let mut sentences: Vec<Prose> = Vec::new();
    for (words, texts) in [("Outliers", texts), ("Apart from the rest", of_whole)] {
        sentences.extend((!texts.is_empty()).then(|| prose!("{}: {}.", words, Prose::join(texts, "; "))));
    }
    let single = single.into_iter().flat_map(|(_, group)| group);
    let shown: Vec<&Outlier> = single.chain(whole.into_iter().flat_map(|(_, group)| group)).collect();
    if let more @ 1.. = all - shown.len() {
        sentences.push(format!("{}.", counted(more, "smaller outlier")).into());
    }
    let mut names: Vec<&str> = shown.iter().map(|one| one.treatment.as_str()).collect();
    names.sort_unstable();
    (!sentences.is_empty()).then(|| finding(FindingKind::Outlier, Prose::join(sentences, " "), &names))
}

/// `Q4, Q6 and Q11 under d2 in block 3, 4.0 to 9.1 times their medians (steal)`.
fn slow_group(group: &[&Outlier]) -> Option<Prose> {
    let first = group.first()?;
    let queries: BTreeSet<u8> = group.iter().map(|one| one.query).collect();
    let queries = query_list(queries, MAX_NAMED);
    let treatments: BTreeSet<&str> = group.iter().map(|one| one.treatment.as_str()).collect();
    let under = match treatments.len() {
        1 => first.treatment.clone(),
        several => counted(several, "treatment"),
    };
    let times = || group.iter().map(|one| one.times);
    let [low, high] = [times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max)]
        .map(|times| Prose::figure(significant(times, 2)));
    let times = match group {
        [_] => prose!("{} times its median", high),
        _ => prose!("{} to {} times their medians", low, high),
    };
    Some(prose!("{} under {} in block {}, {} ({})", queries, under, first.block?, times, first.cause))
}

/// `Q6 under d4 and 2 more treatments slower (steal)`: by rank alone, since an interval of one chosen for being far
/// from the others would not account for the choice.
fn apart_group(group: &[&Outlier]) -> Option<Prose> {
    let first = group.first()?;
    let more = match group.len() - 1 {
        0 => String::new(),
        more => format!(" and {}", counted(more, "more treatment")),
    };
    let word = if first.times < 1.0 { "slower" } else { "faster" };
    Some(prose!("Q{} under {}{} {} ({})", u32::from(first.query), &first.treatment, more, word, first.cause))
}

/// Outliers: whole queries first, then executions, the furthest from the usual first; `None` without any.
pub fn section(found: QueryStudy<'_>) -> Option<Section> {
    let mut all: Vec<&Outlier> = found.queries.outliers.iter().collect();
    let distance = |outlier: &Outlier| outlier.times.ln().abs();
    all.sort_by(|a, b| a.block.is_some().cmp(&b.block.is_some()).then(distance(b).total_cmp(&distance(a))));
    let more = found.queries.outliers_left_out;
    let more = (more > 0)
        .then(|| Block::Text(prose!("{} smaller outliers.", numbers::grouped(more as u64)), Shown::Page));
    let lines = Block::List(all.iter().map(|outlier| outlier.text.clone()).collect(), Shown::Page);
    let blocks = more.into_iter().chain([lines]).collect();
    (!all.is_empty()).then(|| Section::new("outliers", "Outliers", blocks))
}
