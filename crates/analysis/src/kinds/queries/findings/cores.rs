//! CPU seconds beside physical core-seconds: an operating system counts a core twice while both of its
//! siblings are busy, so CPU seconds rise with SMT even where the cores do less.

use super::choice::{Choice, NamedRatio, baseline, baseline_name, judged};
use crate::Facts;
use crate::estimate::Bounded;
use crate::queries::{CoreSeconds, Queries, TreatmentQueries};
use crate::words::finding;
use crate::{Answer, Finding, Interval};
use threadwise_document::{Prose, numbers, prose};

/// Stragglers are reported from this share of the elapsed time on.
const STRAGGLER_SHARE: f64 = 0.01;

/// CPU against the baseline, put right by what the cores themselves did.
pub fn core_seconds(facts: &Facts<'_>, queries: &Queries, choice: &Choice<'_>) -> Option<Finding> {
    let has_siblings = |measured: &TreatmentQueries| measured.cores.as_ref().is_some_and(is_doubled);
    let both = |measured: &TreatmentQueries| {
        has_siblings(measured) || baseline(facts, queries, measured).is_some_and(has_siblings)
    };
    // The largest of those that are reported, so far as cores can say more than CPU seconds.
    let doubled = choice.named.iter().filter(|measured| both(measured)).max_by_key(|measured| measured.dop);
    let is_known = |measured: &TreatmentQueries| {
        measured.cores.is_some()
            && baseline(facts, queries, measured).is_some_and(|base| base.cores.is_some())
    };
    let cpu = cpu(queries, choice);
    let cores = match doubled {
        Some(measured) => cores(facts, queries, measured),
        None if cpu.is_some() && choice.named.iter().all(|measured| is_known(measured)) => {
            Some("One logical CPU a core: these are core-seconds.".into())
        }
        None => None,
    };
    let sentences = Prose::join([cpu, cores].into_iter().flatten(), " ");
    let names: Vec<&str> = choice.named.iter().map(|measured| measured.treatment.as_str()).collect();
    (!sentences.is_empty()).then(|| finding("core-seconds", sentences, &names))
}

/// CPU time of all queries; of streams, which execute more of them, that of a query.
fn cpu(queries: &Queries, choice: &Choice<'_>) -> Option<Prose> {
    let took = |measured: &TreatmentQueries| {
        measured.total.cpu_s.as_ref().filter(|_| !queries.is_throughput).map(|cpu| seconds(cpu.mean))
    };
    let tell = |measured: &&TreatmentQueries| {
        Some(NamedRatio::of(
            &measured.treatment,
            measured.total.cpu.as_ref()?,
            took(measured).unwrap_or_default(),
        ))
    };
    let clauses = judged(&choice.named.iter().filter_map(tell).collect::<Vec<_>>())?;
    let name = baseline_name(queries);
    let was = match queries.baselines.as_slice() {
        [one] => took(&one.both),
        _ => None,
    };
    let was = was.map_or_else(Prose::default, |was| prose!(" ({})", was));
    let what = if queries.is_throughput { "CPU a query" } else { "CPU" };
    let more = choice.more(|measured| measured.total.cpu.as_ref());
    Some(prose!("{} against {}{}: {}{}.", what, name, was, clauses, more))
}

/// Whether a core has two logical CPUs in the placement, as far as their times show it: bounds lie apart,
/// or more CPU time was used than cores alone can give.
fn is_doubled(cores: &CoreSeconds) -> bool {
    is_range(cores) || cores.engine_cpu_s.unwrap_or(cores.logical_s) > cores.core_high_s * (1.0 + 1e-9)
}

fn is_range(cores: &CoreSeconds) -> bool {
    cores.core_high_s > cores.core_low_s * (1.0 + 1e-9)
}

/// Physical core-seconds of one treatment beside its baseline's; of streams a stream's.
fn cores(facts: &Facts<'_>, queries: &Queries, measured: &TreatmentQueries) -> Option<Prose> {
    let base = baseline(facts, queries, measured)?;
    let core_seconds = |measured: &TreatmentQueries| {
        measured
            .cores
            .as_ref()
            .map(|cores| scaled(cores, if queries.is_throughput { measured.streams } else { 1 }))
    };
    let (was, now) = core_seconds(base).zip(core_seconds(measured))?;
    let each = if queries.is_throughput { " a stream" } else { "" };
    let mut text = prose!(
        "Physical core-seconds{} of {} {} on {} cores against {} on {}: {}",
        each,
        &measured.treatment,
        bounds(&now),
        now.cores,
        bounds(&was),
        was.cores,
        match was.engine_cpu_s.is_none() || now.engine_cpu_s.is_none() {
            true =>
                "others' work is in them, since the engine's CPU time is not known: they cannot be compared"
                    .into(),
            false => measured
                .cores
                .as_ref()
                .and_then(|cores| cores.to_baseline.as_ref())
                .map_or_else(|| UNKNOWN.into(), meaning),
        }
    );
    if let Some(all) =
        measured.cores.as_ref().filter(|all| all.straggler_low_s > STRAGGLER_SHARE * all.slice_s)
    {
        text.push(prose!(
            "; both threads of a core busy while another core idled for {} to {} of {}",
            seconds(all.straggler_low_s),
            seconds(all.straggler_high_s),
            seconds(all.slice_s)
        ));
    }
    text.push(".");
    Some(text)
}

/// The part of one of so many streams.
fn scaled(cores: &CoreSeconds, streams: u32) -> CoreSeconds {
    let part = 1.0 / f64::from(streams.max(1));
    CoreSeconds {
        engine_cpu_s: cores.engine_cpu_s.map(|cpu| cpu * part),
        logical_s: cores.logical_s * part,
        core_low_s: cores.core_low_s * part,
        core_high_s: cores.core_high_s * part,
        ..cores.clone()
    }
}

/// `1687 s to 2236 s`, or one figure where both are equal.
fn bounds(cores: &CoreSeconds) -> Prose {
    match is_range(cores) {
        true => prose!("{} to {}", seconds(cores.core_low_s), seconds(cores.core_high_s)),
        false => seconds(cores.core_low_s),
    }
}

fn seconds(seconds: f64) -> Prose {
    Prose::figure(numbers::seconds(seconds))
}

const UNKNOWN: &str = "whether the cores' own time rose is unknown";

/// What the ratio of both, paired by block, says; `0.75x to 0.99x [0.73, 1.02]: the cores' own time did not rise ...`.
fn meaning(ratio: &Bounded) -> Prose {
    let is_rise = ratio.value_low > 1.0;
    let margin = numbers::set_percent(ratio.margin);
    let (rose, change) = if is_rise { ("rose", "more") } else { ("fell", "less") };
    let words = match ratio.answer {
        Answer::Larger | Answer::Smaller => format!("the cores' own time {rose} by more than {margin}"),
        Answer::SizeOpen => format!("the cores' own time {rose}, by how much is open"),
        Answer::WithinMargin => format!("the cores' own time is {change} by less than {margin}"),
        Answer::Equivalent => format!("the cores' own time is the same within {margin}"),
        Answer::Undecided if ratio.adjusted_high < 1.0 + ratio.margin => {
            format!("the cores' own time did not rise by {margin} or more")
        }
        Answer::Undecided => UNKNOWN.to_owned(),
    };
    let upper = Interval {
        mean: ratio.value_high,
        low: ratio.adjusted_low,
        high: ratio.adjusted_high,
        unit: "ratio".to_owned(),
    };
    let upper = match ratio.blocks {
        0 | 1 => Interval { low: f64::NAN, ..upper },
        _ => upper,
    };
    let [least, most] = [ratio.value_low, ratio.value_high].map(|value| numbers::value(value, "ratio"));
    match least == most {
        true => prose!("{}, {}", &upper, words),
        false => prose!("{} to {}, {}", Prose::figure(least), &upper, words),
    }
}
