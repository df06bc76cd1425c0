//! Physical core-seconds from the busy times of logical CPUs, compared with CPU seconds.
//!
//! An operating system's CPU seconds count a core twice while both of its siblings are busy, so they rise with SMT even
//! if the cores do less. How long a core was busy cannot be derived from busy times alone, but it has bounds: with busy
//! times bᵢ of its logical CPUs in a window w, at least max bᵢ (all overlap), at most min(w, Σ bᵢ) (none does).
//!
//! Busy times include everything that ran. If the CPU time of the executions themselves is known, the bounds are of
//! them alone: they had that much of the busy times, but which part is unknown.

use super::executions::{BlockRun, Executions, mean_of};
use super::query_study::{Choice, NamedRatio, QueryStudy, judged, or_none, rounded};
use super::types::{CoreSeconds, TreatmentQueries};
use crate::estimate::{Bounded, judge_bounded};
use crate::words::finding;
use crate::{Answer, Direction, Finding, FindingKind, Interval};
use std::collections::BTreeMap;
use threadwise_document::chart::CoreRow;
use threadwise_document::{Block, Cell, Chart, Column, Figure, Prose, Section, Shown, Table, numbers, prose};
use threadwise_machine::Topology;
use threadwise_statistics::{MeanEstimate, mean, mean_of_known};
use threadwise_study::{CpuTimes, QueryExecution, Slice};

/// Share of the elapsed time from which stragglers are reported.
const STRAGGLER_SHARE: f64 = 0.01;

/// How many of [`CoreSeconds::times`] have geometric means over blocks.
const GEOMETRIC: usize = 5;

const UNKNOWN: &str = "whether the cores' own time rose is unknown";

impl CoreSeconds {
    /// Bounds in one window of this length, from the busy times of each core's logical CPUs, whatever ran there. Times
    /// beyond the window, which ticks of 10 ms can show, are cut off.
    pub(super) fn of(cores: &[Vec<f64>], window: f64) -> Self {
        let clean = |busy: &Vec<f64>| busy.iter().map(|b| b.clamp(0.0, window.max(0.0))).collect();
        let cores: Vec<Vec<f64>> = cores.iter().map(clean).collect();
        let mut bounds = Self { elapsed_s: window, slice_s: window, ..Self::default() };
        for busy in &cores {
            let (low, high) = busy_bounds(busy, window);
            bounds.logical_s += busy.iter().sum::<f64>();
            bounds.core_low_s += low;
            bounds.core_high_s += high;
        }
        (bounds.straggler_low_s, bounds.straggler_high_s) = straggler_bounds(&cores, window);
        bounds
    }

    /// All times but the engine's, those of stragglers last.
    fn times(&mut self) -> [&mut f64; 7] {
        [
            &mut self.core_low_s,
            &mut self.core_high_s,
            &mut self.elapsed_s,
            &mut self.logical_s,
            &mut self.slice_s,
            &mut self.straggler_low_s,
            &mut self.straggler_high_s,
        ]
    }
}

/// Time in which at least one of a core's logical CPUs was busy: at least the longest busy time, at most the window or
/// their sum. Both are reached: by busy times that all begin together, and by ones that follow each other.
pub fn busy_bounds(busy: &[f64], window: f64) -> (f64, f64) {
    let longest = busy.iter().copied().fold(0.0, f64::max);
    (longest, busy.iter().sum::<f64>().min(window).max(longest))
}

/// Time in which at least two of a core's logical CPUs were busy.
///
/// Let N be the number of busy ones, n of them there. Outside of that time N ≤ 1, inside N ≤ n, so
/// Σ b ≤ w + (n − 1)·t; and two busy times of a and b overlap by at least a + b − w. Above: N ≥ 2 makes
/// 2t ≤ Σ b, and without the busiest one another is busy all of the time, t ≤ Σ b − max b.
fn both_busy_bounds(busy: &[f64], window: f64) -> (f64, f64) {
    if busy.len() < 2 {
        return (0.0, 0.0);
    }
    let sum: f64 = busy.iter().sum();
    let mut sorted = busy.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let low = ((sum - window) / (busy.len() - 1) as f64).max(sorted[0] + sorted[1] - window).max(0.0);
    let high = window.min(sum / 2.0).min(sum - sorted[0]).max(low);
    (low, high)
}

/// Time in which some core had two busy threads while another core had none: stragglers, since a thread on the idle
/// core would have had it to itself.
///
/// For cores c and k ≠ c let C be the time in which c has two busy, I that in which k idles. The two
/// lie together at least C + I − w, at most min(C, I); over all pairs the largest of the former and at
/// most the sum of the latter by c or by k, and never more than the window.
pub fn straggler_bounds(cores: &[Vec<f64>], window: f64) -> (f64, f64) {
    let both: Vec<(f64, f64)> = cores.iter().map(|busy| both_busy_bounds(busy, window)).collect();
    let busy = cores.iter().map(|busy| busy_bounds(busy, window));
    let idle = busy.map(|(low, high)| ((window - high).max(0.0), (window - low).max(0.0)));
    let idle: Vec<(f64, f64)> = idle.collect();
    let idle_sum: f64 = idle.iter().map(|(_, high)| high).sum();
    let both_sum: f64 = both.iter().map(|(_, high)| high).sum();
    let by_busy: f64 = both.iter().zip(&idle).map(|(both, idle)| both.1.min(idle_sum - idle.1)).sum();
    let by_idle: f64 = both.iter().zip(&idle).map(|(both, idle)| idle.1.min(both_sum - both.1)).sum();
    let high = by_busy.min(by_idle).min(window).max(0.0);
    (straggler_low(&both, &idle, window).min(high), high)
}

/// The largest C + I − w over pairs of two cores.
fn straggler_low(both: &[(f64, f64)], idle: &[(f64, f64)], window: f64) -> f64 {
    // The two cores that idle longest are enough: for each core one of them is another one.
    let mut longest: Vec<usize> = (0..idle.len()).collect();
    longest.sort_by(|a, b| idle[*b].0.total_cmp(&idle[*a].0));
    let shared = |(core, both): (usize, &(f64, f64))| {
        let other = longest.iter().find(|other| **other != core)?;
        Some(both.0 + idle[*other].0 - window)
    };
    both.iter().enumerate().filter_map(shared).fold(0.0, f64::max)
}

/// Time in which cores worked for a process with `cpu` of CPU time on them in a window, while their logical CPUs were
/// busy for this long with that process and others.
///
/// The lower bound is for threads that met: of a core's busy times in descending order, bₖ − bₖ₊₁ is the longest time
/// that k logical CPUs can have been busy together if as much as possible overlaps, which takes k times as much of the
/// process's CPU time; the largest k first, over all cores. The upper bound is for threads that never met: the CPU
/// time, and on no core more than the window or its busy times. CPU time beyond the busy times, which ticks of 10 ms
/// can leave, counts as if all siblings of the largest core had shared it.
pub fn own_bounds(cores: &[Vec<f64>], cpu: f64, window: f64) -> (f64, f64) {
    let mut stretches: Vec<(f64, f64)> = Vec::new();
    let mut siblings = 1.0_f64;
    for busy in cores {
        let mut busy: Vec<f64> = busy.iter().map(|seconds| seconds.clamp(0.0, window.max(0.0))).collect();
        busy.sort_by(|a, b| b.total_cmp(a));
        siblings = siblings.max(busy.len() as f64);
        let next = busy.iter().skip(1).copied().chain([0.0]);
        stretches
            .extend((1..).map(f64::from).zip(busy.iter().zip(next).map(|(seconds, next)| seconds - next)));
    }
    stretches.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut low, mut left) = (0.0, cpu);
    for (together, length) in stretches {
        let took = left.min(together * length);
        low += took / together;
        left -= took;
    }
    low += left / siblings;
    let most: f64 = cores.iter().map(|busy| busy.iter().sum::<f64>().min(window)).sum();
    (low, most.min(cpu).max(low))
}

/// Means over blocks that have all queries; for several sides (a baseline's two runs) over those too. `None` if cores
/// or busy times are unknown.
pub fn core_seconds(table: &Executions<'_>, blocks: &[Vec<&BlockRun<'_>>]) -> Option<CoreSeconds> {
    let blocks = |of_engine: bool| -> Vec<CoreSeconds> {
        blocks.iter().flatten().filter_map(|cell| of_block(table, cell, of_engine)).collect()
    };
    // One method for all blocks of a treatment.
    let (of_engine, of_all) = (blocks(true), blocks(false));
    let mut all = if of_engine.len() == of_all.len() { of_engine } else { of_all };
    let engine_cpu_s = mean_of_known(all.iter().map(|block| Some(block.engine_cpu_s?.ln()))).map(f64::exp);
    let cores = all.iter().map(|block| block.cores).max()?;
    let mut means = CoreSeconds { cores, engine_cpu_s, ..CoreSeconds::default() };
    for (at, time) in means.times().into_iter().enumerate() {
        let of_blocks = all.iter_mut().map(|block| *block.times()[at]);
        *time = if at < GEOMETRIC { mean(of_blocks.map(f64::ln))?.exp() } else { mean(of_blocks)? };
    }
    Some(means)
}

/// Core-seconds of each compared treatment over its baseline's, one family. By block the lower bound is that of the
/// treatment over the baseline's upper one, and vice versa; for streams, per stream.
pub fn core_ratios(table: &Executions<'_>) -> BTreeMap<usize, Bounded> {
    let lower = |cell: &BlockRun<'_>| Some(of_block(table, cell, true)?.core_low_s.ln());
    let upper = |cell: &BlockRun<'_>| Some(of_block(table, cell, true)?.core_high_s.ln());
    let streams = |at: usize| f64::from(table.study.treatments[at].sessions.max(1)).ln();
    let bounds = |at: usize| {
        let base = *table.below(at).first()?;
        let pair = table.pair(at, base);
        let low = table.d(&pair, |top, below| Some(mean_of(top, lower)? - mean_of(below, upper)?));
        let high = table.d(&pair, |top, below| Some(mean_of(top, upper)? - mean_of(below, lower)?));
        let by = if table.is_throughput { streams(base) - streams(at) } else { 0.0 };
        Some((at, (MeanEstimate::of(&low)?.shifted(by), MeanEstimate::of(&high)?.shifted(by))))
    };
    let (places, family): (Vec<usize>, Vec<_>) = table.compared().filter_map(bounds).unzip();
    places.into_iter().zip(judge_bounded(&family, table.rule(Direction::LowerIsBetter))).collect()
}

/// One block of a treatment, all queries once: the bounds of the executions themselves, or of everything that ran if
/// their CPU time is unknown.
fn of_block(table: &Executions<'_>, cell: &BlockRun<'_>, of_engine: bool) -> Option<CoreSeconds> {
    // Unless a block has more rounds all queries of the study were executed once.
    let share = 1.0 / (cell.done.len() as f64 / cell.total?.queries);
    let cores = cores_of(cell, table.topology?)?;
    let mut sum = CoreSeconds { cores: cores.len() as u32, ..CoreSeconds::default() };
    for slice in &cell.slices {
        let (busy, slice_s) = busy_s(slice, &cores)?;
        let mut part = CoreSeconds::of(&busy, slice_s);
        if of_engine {
            let (cpu_s, elapsed_s) = engine_s(slice, table.is_throughput)?;
            (part.core_low_s, part.core_high_s) = own_bounds(&busy, cpu_s, elapsed_s);
            part.elapsed_s = elapsed_s;
            *sum.engine_cpu_s.get_or_insert_default() += cpu_s * share;
        }
        sum.times().into_iter().zip(part.times()).for_each(|(sum, part)| *sum += *part * share);
    }
    (sum.slice_s > 0.0).then_some(sum)
}

/// CPU seconds of the executions of a slice, and seconds in which they were planned and run; `None` if CPU time is
/// unknown. Streams of one process have it for the slice as a whole.
fn engine_s(slice: &Slice, is_throughput: bool) -> Option<(f64, f64)> {
    let all = || slice.sessions.iter().flat_map(|session| &session.queries);
    let took = |one: &QueryExecution| (one.elapsed_ns as f64 + one.planning_ns.unwrap_or(0) as f64) / 1e9;
    let (cpu_ns, elapsed_s) = match is_throughput {
        true => (slice.cpu_ns(), slice.window_ns as f64 / 1e9),
        false => {
            let cpu_ns = all().try_fold(0, |sum: u64, one| sum.checked_add(one.cpu_ns?))?;
            (cpu_ns, all().map(took).sum())
        }
    };
    (cpu_ns > 0).then_some((cpu_ns as f64 / 1e9, elapsed_s))
}

/// The logical CPUs of a run by core; `None` if a core is unknown.
pub fn cores_of(cell: &BlockRun<'_>, topology: &Topology) -> Option<Vec<Vec<u32>>> {
    let mut cores: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for cpu in cell.cpus() {
        cores.entry(topology.cpu(cpu)?.core?).or_default().push(cpu);
    }
    (!cores.is_empty()).then(|| cores.into_values().collect())
}

/// Busy seconds of each core's logical CPUs over a slice, and its length: the longest time that the system counted for
/// one of them, since it counts in ticks.
fn busy_s(slice: &Slice, cores: &[Vec<u32>]) -> Option<(Vec<Vec<f64>>, f64)> {
    let by_cpu: BTreeMap<u32, &CpuTimes> = slice.cpu_times.iter().map(|times| (times.cpu, times)).collect();
    let mut window_s: f64 = 0.0;
    let mut place = |cpu: &u32| {
        let times = by_cpu.get(cpu)?;
        window_s = window_s.max(times.total_ns as f64 / 1e9);
        Some(times.busy_ns as f64 / 1e9)
    };
    let busy: Option<Vec<Vec<f64>>> =
        cores.iter().map(|cpus| cpus.iter().map(&mut place).collect()).collect();
    Some((busy?, window_s))
}

/// What cores did in their core-seconds, if known.
pub fn activity(found: QueryStudy<'_>) -> &'static str {
    if knows_engine(found) { "worked for the queries" } else { "was busy, including others' work," }
}

fn knows_engine(found: QueryStudy<'_>) -> bool {
    let mut all = found.queries.treatments.iter().filter_map(|measured| measured.cores.as_ref());
    all.all(|cores| cores.engine_cpu_s.is_some())
}

/// The section; `None` if busy times are unknown.
pub fn section(found: QueryStudy<'_>) -> Option<Section> {
    let known = found.measured().into_iter();
    let known: Vec<_> = known.filter_map(|one| Some((one, one.cores.as_ref()?))).collect();
    let line = match knows_engine(found) {
        true => "the engine's CPU seconds",
        false => "busy seconds of its logical CPUs, others' work included",
    };
    let about = prose!(
        "CPU seconds count a busy logical CPU as a whole, even while its sibling on the same core is busy: they rise \
         when siblings share a core, although no more cores are at work. Only how long siblings were busy is known, \
         not when, so the time of a core lies between two bounds: at the same moments, or one after the other. The \
         lower bound is what the engine's own CPU seconds need at least on logical CPUs that were busy for so long; \
         the upper bound is those CPU seconds, and no more than the executions' time on each core. Busy times of \
         logical CPUs, which are in the table, include everything that ran there, over a little more than the \
         executions."
    );
    let drawn = |(measured, cores): &(&TreatmentQueries, &CoreSeconds)| CoreRow {
        name: measured.treatment.clone(),
        cores: cores.cores,
        engine: cores.engine_cpu_s.map(rounded),
        logical: rounded(cores.logical_s),
        low: rounded(cores.core_low_s),
        high: rounded(cores.core_high_s),
        elapsed: rounded(cores.elapsed_s),
    };
    (!known.is_empty()).then(|| {
        let figure = Figure {
            chart: Chart::Cores(known.iter().map(drawn).collect()),
            wide: true,
            title: found.facts.titled("Core-seconds against CPU seconds", ""),
            description: format!(
                "Seconds of one block, all queries once. Dark: lower bound of the seconds in which a physical core {} \
                 with at least one thread; pale: up to the upper bound. The line: {line}.",
                activity(found)
            ),
            table: table(found, &known),
        };
        let blocks = vec![Block::Text(about, Shown::Page), Block::Figure(Box::new(figure))];
        Section::new("core-seconds", "CPU seconds and physical cores", blocks)
    })
}

fn table(found: QueryStudy<'_>, known: &[(&TreatmentQueries, &CoreSeconds)]) -> Table {
    let value = |name: &str, value: Option<f64>, unit| {
        (Column::figure(name), or_none(value.map(|value| Cell::Value { value, unit })))
    };
    let bounds = |name: &str, bounds: Option<(f64, f64)>, unit| {
        (Column::figure(name), or_none(bounds.map(|(low, high)| Cell::Bounds { low, high, unit })))
    };
    let row = |(measured, cores): &(&TreatmentQueries, &CoreSeconds)| {
        let base = found.baseline(measured).and_then(|baseline| baseline.both.cores.as_ref());
        let base = base.filter(|base| base.core_low_s > 0.0);
        let engine = cores.engine_cpu_s;
        let cpu = base.and_then(|base| Some(engine? / base.engine_cpu_s?));
        let against =
            base.map(|base| (cores.core_low_s / base.core_high_s, cores.core_high_s / base.core_low_s));
        let paired = cores.to_baseline.as_ref().filter(|ratio| ratio.blocks > 1);
        let adjusted = paired.map(|ratio| (ratio.adjusted_low, ratio.adjusted_high));
        let stragglers = (cores.straggler_low_s, cores.straggler_high_s);
        vec![
            (Column::text("treatment"), Cell::text(&measured.treatment)),
            (Column::text("placement"), Cell::text(&measured.placement)),
            (Column::figure("cores"), Cell::Count(cores.cores.into())),
            value("elapsed", Some(cores.elapsed_s), "s"),
            value("engine's CPU time", engine, "s"),
            bounds("core-s", Some((cores.core_low_s, cores.core_high_s)), "s"),
            value("CPU to the baseline", cpu, "ratio"),
            bounds("core-s to the baseline", against, "ratio"),
            bounds("adjusted interval of that", adjusted, "ratio"),
            value("logical CPUs busy, with others", Some(cores.logical_s), "s"),
            value("of", Some(cores.slice_s), "s"),
            bounds("siblings busy while a core idled", Some(stragglers), "s"),
        ]
    };
    Table::headed("Means of blocks", known.iter().map(row)).shown(Shown::Page)
}

/// CPU against the baseline, corrected by what the cores themselves did.
pub fn finding_of(found: QueryStudy<'_>, choice: &Choice<'_>) -> Option<Finding> {
    // Whether a core has two logical CPUs in the placement, as far as their times show it: bounds differ, or more CPU
    // time was used than cores alone can give.
    let is_doubled = |cores: &CoreSeconds| {
        is_range(cores) || is_above(cores.engine_cpu_s.unwrap_or(cores.logical_s), cores.core_high_s)
    };
    let base = |measured: &TreatmentQueries| found.baseline(measured)?.both.cores.as_ref();
    let has_siblings = |measured: &TreatmentQueries| {
        measured.cores.as_ref().is_some_and(is_doubled) || base(measured).is_some_and(is_doubled)
    };
    let is_known = |measured: &&TreatmentQueries| measured.cores.is_some() && base(measured).is_some();
    // The largest of those that are reported, if cores can say more than CPU seconds.
    let doubled = choice.named.iter().filter(|measured| has_siblings(measured));
    let cpu = cpu(found, choice);
    let cores = match doubled.max_by_key(|measured| measured.dop) {
        Some(measured) => cores(found, measured),
        None if cpu.is_some() && choice.named.iter().all(is_known) => {
            Some("One logical CPU per core: these are core-seconds.".into())
        }
        None => None,
    };
    let sentences = Prose::join([cpu, cores].into_iter().flatten(), " ");
    let names: Vec<&str> = choice.named.iter().map(|measured| measured.treatment.as_str()).collect();
    (!sentences.is_empty()).then(|| finding(FindingKind::CoreSeconds, sentences, &names))
}

/// CPU time of all queries; for streams, which execute more of them, per query.
fn cpu(found: QueryStudy<'_>, choice: &Choice<'_>) -> Option<Prose> {
    let is_throughput = found.queries.is_throughput;
    let took = |measured: &TreatmentQueries| {
        measured.total.cpu_s.as_ref().filter(|_| !is_throughput).map(|cpu| seconds(cpu.mean))
    };
    let tell = |measured: &&TreatmentQueries| {
        let cpu = measured.total.ratios.cpu.as_ref()?;
        Some(NamedRatio::of(&measured.treatment, cpu, took(measured).unwrap_or_default()))
    };
    let clauses = judged(choice.named.iter().filter_map(tell))?;
    let was = match found.queries.baselines.as_slice() {
        [one] => took(&one.both),
        _ => None,
    };
    let was = was.map_or_else(Prose::default, |was| prose!(" ({})", was));
    let what = if is_throughput { "CPU per query" } else { "CPU" };
    let more = choice.more(|measured| measured.total.ratios.cpu.as_ref());
    Some(prose!("{} against {}{}: {}{}.", what, found.baseline_name(), was, clauses, more))
}

/// Physical core-seconds of one treatment and its baseline; for streams, per stream.
fn cores(found: QueryStudy<'_>, measured: &TreatmentQueries) -> Option<Prose> {
    let (base, now) = (&found.baseline(measured)?.both, measured.cores.as_ref()?);
    let was = base.cores.as_ref()?;
    let streams = |one: &TreatmentQueries| if found.queries.is_throughput { one.streams.max(1) } else { 1 };
    let each = if found.queries.is_throughput { " per stream" } else { "" };
    let mut text = prose!(
        "Physical core-seconds{} of {} {} on {} cores against {} on {}: {}",
        each,
        &measured.treatment,
        bounds(now, streams(measured)),
        now.cores,
        bounds(was, streams(base)),
        was.cores,
        match was.engine_cpu_s.is_none() || now.engine_cpu_s.is_none() {
            true =>
                "they include others' work, since the engine's CPU time is unknown, and cannot be compared"
                    .into(),
            false => now.to_baseline.as_ref().map_or_else(|| UNKNOWN.into(), meaning),
        }
    );
    if now.straggler_low_s > STRAGGLER_SHARE * now.slice_s {
        text.push(prose!(
            "; both threads of a core busy while another core idled for {} to {} of {}",
            seconds(now.straggler_low_s),
            seconds(now.straggler_high_s),
            seconds(now.slice_s)
        ));
    }
    text.push(".");
    Some(text)
}

/// `1687 s to 2236 s`, or one figure if both are equal; divided by the number of streams.
fn bounds(cores: &CoreSeconds, streams: u32) -> Prose {
    let part = |s: f64| seconds(s / f64::from(streams));
    match is_range(cores) {
        true => prose!("{} to {}", part(cores.core_low_s), part(cores.core_high_s)),
        false => part(cores.core_low_s),
    }
}

fn is_range(cores: &CoreSeconds) -> bool {
    is_above(cores.core_high_s, cores.core_low_s)
}

/// By more than rounding.
fn is_above(one: f64, other: f64) -> bool {
    one > other * (1.0 + 1e-9)
}

fn seconds(seconds: f64) -> Prose {
    Prose::figure(numbers::seconds(seconds))
}

/// Meaning of the ratio, paired by block; `0.75x to 0.99x [0.73, 1.02]: the cores' own time did not rise ...`.
fn meaning(ratio: &Bounded) -> Prose {
    let margin = numbers::set_percent(ratio.margin);
    let (rose, change) = if ratio.value_low > 1.0 { ("rose", "more") } else { ("fell", "less") };
    let words = match ratio.answer {
        Answer::Larger | Answer::Smaller => format!("{rose} by more than {margin}"),
        Answer::SizeOpen => format!("{rose} by an undecided amount"),
        Answer::WithinMargin => format!("is {change} by less than {margin}"),
        Answer::Equivalent => format!("is the same within {margin}"),
        Answer::Undecided if ratio.adjusted_high < 1.0 + ratio.margin => {
            format!("did not rise by {margin} or more")
        }
        Answer::Undecided => String::new(),
    };
    let words = if words.is_empty() { UNKNOWN.to_owned() } else { format!("the cores' own time {words}") };
    let low = if ratio.blocks < 2 { f64::NAN } else { ratio.adjusted_low };
    let (mean, high) = (ratio.value_high, ratio.adjusted_high);
    let upper = Interval { mean, low, high, unit: "ratio".to_owned() };
    let [least, most] = [ratio.value_low, ratio.value_high].map(|value| numbers::value(value, "ratio"));
    match least == most {
        true => prose!("{}, {}", &upper, words),
        false => prose!("{} to {}, {}", Prose::figure(least), &upper, words),
    }
}
