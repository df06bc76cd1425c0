//! What a study of queries says: all together, the range of single queries, plans, steps of DOP, SMT,
//! the plateau, what stands out.

mod cores;
mod plans;
mod steps;

use super::facts::Facts;
use super::words::{self, list, plural};
use super::{finding, scaling, smt};
use crate::queries::words::{bytes, judged, seconds};
use crate::queries::{Change, DataSize, Queries, TreatmentQueries};
use crate::{Estimate, Finding, Interval};
use threadwise_study::{Role, Treatment};

/// Most treatments that one finding tells of.
const MAX_TOLD: usize = 4;

/// Most queries that a list names.
const MAX_QUERIES: usize = 6;

/// Most outliers that are told in words.
const MAX_OUTLIERS: usize = 3;

/// All of them, in the order in which they should be read.
pub fn queries(facts: &Facts<'_>, queries: &Queries) -> Vec<Finding> {
    let smt_found: Vec<Finding> =
        [smt_dop(facts, queries), both_threads(facts, queries)].into_iter().flatten().collect();
    let mut findings: Vec<Finding> = [
        data_size(queries),
        total(facts, queries),
        range(facts, queries),
        plans::plan_change(facts, queries),
        cores::core_seconds(facts, queries),
        steps::steps(queries),
    ]
    .into_iter()
    .flatten()
    .collect();
    match smt_found.is_empty() {
        true => findings.push(smt::not_measured(facts)),
        false => findings.extend(smt_found),
    }
    findings
        .extend([steps::plateau(queries), outliers(queries), scaling::asked(facts)].into_iter().flatten());
    findings
}

/// How large the data is beside memory and caches.
fn data_size(queries: &Queries) -> Option<Finding> {
    let times = |bytes: f64, of: u64| {
        let value = bytes / of as f64;
        // Two significant digits of a quotient below 10.
        let decimals = (1.0 - value.log10().floor()).clamp(0.0, 6.0) as usize;
        format!("{value:.decimals$}x")
    };
    let tell = |data: &DataSize| {
        let of = |size: Option<u64>, what: &str| {
            let size = size.filter(|size| *size > 0);
            size.map_or_else(
                || format!("{what} of unknown size"),
                |size| format!("{} {what} ({})", times(data.logical_bytes, size), bytes(size as f64)),
            )
        };
        let gigabytes = data.logical_bytes / 1e9;
        let (memory, llc) = (of(data.memory_bytes, "memory"), of(data.llc_bytes, "the last-level caches"));
        format!("scale factor {}, {gigabytes} GB of rows as text: {memory}, {llc}", data.scale)
    };
    let told: Vec<String> = queries.data.iter().take(MAX_TOLD).map(tell).collect();
    (!told.is_empty()).then(|| finding("data-size", format!("Data: {}.", told.join("; ")), &[]))
}

/// Compared treatments that were measured, in study order; of many those first whose ratio of totals is
/// furthest from 1.
fn compared<'a>(facts: &Facts<'_>, queries: &'a Queries) -> Vec<&'a TreatmentQueries> {
    let all = facts.study.treatments.iter().zip(&queries.treatments);
    let is_compared = |(treatment, own): &(&Treatment, &TreatmentQueries)| {
        treatment.role == Role::Compared && own.blocks > 0
    };
    let mut own: Vec<&TreatmentQueries> = all.filter(is_compared).map(|(_, own)| own).collect();
    let distance =
        |own: &TreatmentQueries| own.total.speed.as_ref().map_or(0.0, |speed| speed.value.ln().abs());
    if own.len() > MAX_TOLD {
        own.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    }
    own
}

/// The baseline of a treatment.
fn baseline<'a>(
    facts: &Facts<'_>,
    queries: &'a Queries,
    own: &TreatmentQueries,
) -> Option<&'a TreatmentQueries> {
    let (_, treatment) = facts.study.treatment(&own.treatment)?;
    let (at, _) = facts
        .study
        .treatments
        .iter()
        .enumerate()
        .find(|(_, other)| other.group == treatment.group && other.role == Role::Baseline)?;
    queries.treatments.get(at)
}

/// What the baseline is called: by name with DOP and placement where there is one.
fn baseline_words(facts: &Facts<'_>, queries: &Queries) -> String {
    let all = facts.study.treatments.iter().zip(&queries.treatments);
    let baselines: Vec<&TreatmentQueries> =
        all.filter(|(treatment, _)| treatment.role == Role::Baseline).map(|(_, own)| own).collect();
    match baselines.as_slice() {
        [one] => {
            let dop = one.dop.map_or_else(String::new, |dop| format!("DOP {dop} "));
            let streams = match queries.is_throughput {
                true => format!(", {}", plural(one.streams, "stream")),
                false => String::new(),
            };
            format!("{} ({dop}on {}{streams})", one.treatment, one.placement.trim())
        }
        _ => "their group's baseline".to_owned(),
    }
}

/// The first few texts, and how many more there are; `None` without any.
fn limited(mut texts: Vec<String>, most: usize) -> Option<String> {
    let more = texts.len().saturating_sub(most);
    texts.truncate(most);
    texts.extend((more > 0).then(|| format!("{more} more in the table")));
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// `Q2, Q11 and Q13`.
fn query_list(numbers: &[u8]) -> String {
    let mut names: Vec<String> =
        numbers.iter().take(MAX_QUERIES).map(|number| format!("Q{number}")).collect();
    let more = numbers.len().saturating_sub(MAX_QUERIES);
    names.extend((more > 0).then(|| format!("{more} more")));
    list(&names)
}

/// All queries together, with and without those of another plan.
fn total(facts: &Facts<'_>, queries: &Queries) -> Option<Finding> {
    let own = compared(facts, queries);
    let changed = queries.changed();
    let tell = |own: &&TreatmentQueries| {
        let speed = own.total.speed.as_ref()?;
        let mut text = format!("{} {}", own.treatment, judged(speed));
        let both = baseline(facts, queries, own)
            .and_then(|base| between(queries.is_throughput, base, own))
            .map_or_else(String::new, |both| format!(" ({both})"));
        text += &both;
        if let Some(geometric) = &own.total.geometric {
            text += &format!(", geometric mean {}", judged(geometric));
        }
        let rest = own.total.speed_same_plans.as_ref().map(|rest| ("", rest));
        let rest = rest.or(own.total.geometric_same_plans.as_ref().map(|rest| ("geometric mean ", rest)));
        if let Some((what, rest)) = rest {
            text += &format!(", {what}without {} of another plan {}", query_list(&changed), judged(rest));
        }
        Some(text)
    };
    let told = limited(own.iter().filter_map(tell).collect(), MAX_TOLD)?;
    let what = match queries.is_throughput {
        true => "Queries per hour",
        false => "Speed",
    };
    let count = match queries.numbers.len() {
        1 => "1 query".to_owned(),
        several => format!("{several} queries"),
    };
    let text = format!("{what} of {count} together against {}: {told}.", baseline_words(facts, queries));
    let names: Vec<&str> = own.iter().map(|own| own.treatment.as_str()).collect();
    Some(finding("queries-total", text, &names))
}

/// From what the baseline took to what a treatment took.
fn between(is_throughput: bool, base: &TreatmentQueries, own: &TreatmentQueries) -> Option<String> {
    let both = |of: fn(&TreatmentQueries) -> &Option<Interval>| {
        Some((of(base).as_ref()?.mean, of(own).as_ref()?.mean))
    };
    if is_throughput {
        let (was, now) = both(|own| &own.total.queries_per_h)?;
        return Some(format!("{was:.0}/h to {now:.0}/h"));
    }
    let (was, now) = both(|own| &own.total.elapsed_s)?;
    Some(format!("{} to {}", seconds(was), seconds(now)))
}

/// Single queries: from where to where, and how many gain, lose, or do not differ.
fn range(facts: &Facts<'_>, queries: &Queries) -> Option<Finding> {
    let tell = |own: &&TreatmentQueries| {
        let known: Vec<_> =
            own.queries.iter().filter_map(|(number, own)| Some((number, own, own.speed.as_ref()?))).collect();
        let by_speed =
            |a: &&(_, _, &crate::Ratio), b: &&(_, _, &crate::Ratio)| a.2.value.total_cmp(&b.2.value);
        let (low, high) = known.iter().min_by(by_speed).zip(known.iter().max_by(by_speed))?;
        let end = |(number, own, speed): &(&u8, &crate::queries::QueryEstimates, &crate::Ratio)| {
            let plan = if own.plan_change == Change::Different { ", another plan" } else { "" };
            format!("{} (Q{number}{plan})", judged(speed))
        };
        let count = |of: fn(&crate::Ratio) -> bool| known.iter().filter(|(_, _, speed)| of(speed)).count();
        let (faster, slower) = (count(|r| r.effect && r.value > 1.0), count(|r| r.effect && r.value < 1.0));
        let rest = known.len() - faster - slower;
        Some(format!(
            "{} from {} to {}, {faster} faster, {slower} slower, {rest} without a difference shown",
            own.treatment,
            end(low),
            end(high)
        ))
    };
    let own = compared(facts, queries);
    if queries.numbers.len() < 2 {
        return None;
    }
    let told = limited(own.iter().filter_map(tell).collect(), MAX_TOLD)?;
    let names: Vec<&str> = own.iter().map(|own| own.treatment.as_str()).collect();
    Some(finding("queries-range", format!("Per query, speed against the baseline: {told}."), &names))
}

/// The same DOP on both threads of the cores and on one.
fn smt_dop(facts: &Facts<'_>, queries: &Queries) -> Option<Finding> {
    let text = "The same DOP, free to use both threads of each core, against one thread a core";
    of_kind(facts, queries, "smt-dop", text)
}

/// As many threads as logical CPUs against as many as cores.
fn both_threads(facts: &Facts<'_>, queries: &Queries) -> Option<Finding> {
    let text = "Both threads of each core, at their DOP, against one thread a core at its own";
    of_kind(facts, queries, "both-threads", text)
}

fn of_kind(facts: &Facts<'_>, queries: &Queries, kind: &str, text: &str) -> Option<Finding> {
    let own: Vec<&Estimate> = facts.throughput().filter(|estimate| estimate.kind == kind).collect();
    let tell = |estimate: &&Estimate| format!("{} {}", estimate.name, words::judged(estimate));
    let told = limited(own.iter().map(tell).collect(), MAX_TOLD)?;
    let what = if queries.is_throughput { "queries per hour" } else { "geometric mean of the queries" };
    Some(finding(kind, format!("{text}, {what}: {told}."), &scaling::names(&own)))
}

/// What stands out, with the likeliest reason.
fn outliers(queries: &Queries) -> Option<Finding> {
    let (single, whole): (Vec<_>, Vec<_>) = queries.outliers.iter().partition(|one| one.block.is_some());
    let told: Vec<_> = single.iter().take(MAX_OUTLIERS).chain(whole.iter().take(MAX_OUTLIERS)).collect();
    if told.is_empty() {
        return None;
    }
    let sentences: Vec<&str> = told.iter().map(|one| one.text.as_str()).collect();
    let more = match queries.outliers.len() - told.len() {
        0 => String::new(),
        more => format!(" {more} more stand out less."),
    };
    let mut names: Vec<&str> = told.iter().map(|one| one.treatment.as_str()).collect();
    names.sort_unstable();
    Some(finding("outlier", format!("Stands out: {}{more}", sentences.join(" ")), &names))
}
