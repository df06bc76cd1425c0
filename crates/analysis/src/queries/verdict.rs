//! The verdict of a study of queries: all together, the range of single queries, plans, steps of DOP, SMT, the plateau,
//! outliers; then the size of the data, how far to trust it all, and its scope. Each in two or three lines of a
//! terminal: the table, the HTML report and the JSON have the rest.

use super::query_study::{Choice, MAX_QUERIES, NamedRatio, QueryStudy, data_words, judged};
use super::treatments::count_words;
use super::types::{Baseline, Change, Queries, QueryEstimates, TreatmentQueries};
use super::words::{if_any, query_list, query_name, short_reason};
use super::{cores, heat, outliers, pairs, plans, short, steps};
use crate::findings::scaling;
use crate::findings::trust::{blocks, disturbances, factors, headline, next};
use crate::groups::distinct;
use crate::words::{fastest, finding, limited, list};
use crate::{Answer, Finding, FindingKind, Ratio};
use std::collections::BTreeSet;
use threadwise_document::numbers::{self, compact, counted, seconds};
use threadwise_document::{Mark, Prose, prose};
use threadwise_study::Study;
use threadwise_study::tpch::{self, QUERIES};

/// Most named queries with another plan.
const MAX_NAMED: usize = 3;

/// Longest reason of a left-out run; the JSON report has the whole.
const MAX_REASON: usize = 80;

/// All findings, in reading order.
pub fn findings(found: QueryStudy<'_>) -> Vec<Finding> {
    let choice = Choice::of(found);
    let before = [
        short::finding_of(found),
        total(found, &choice),
        best(found),
        range(found, &choice),
        plans::finding_of(found),
        cores::finding_of(found, &choice),
        steps::finding_of(found, &choice),
    ];
    let after = [heat::finding_of(found), outliers::finding_of(found), scaling::asked(&found.facts)];
    let smt = pairs::smt_findings(found);
    before.into_iter().flatten().chain(smt).chain(after.into_iter().flatten()).collect()
}

/// The treatments that matter; the geometric mean only if it says something else.
fn total(found: QueryStudy<'_>, choice: &Choice<'_>) -> Option<Finding> {
    let queries = found.queries;
    // Seconds of all queries, or queries per hour.
    let took = |measured: &TreatmentQueries| {
        Some(Prose::figure(match queries.is_throughput {
            true => format!("{}/h", compact(measured.total.queries_per_h.as_ref()?.mean, 3)),
            false => seconds(measured.total.elapsed_s.as_ref()?.mean),
        }))
    };
    let base = one_baseline(queries, took);
    let tell = |measured: &&TreatmentQueries| {
        let was = base.is_none().then(|| took(&found.baseline(measured)?.both)).flatten();
        let was = was.map_or_else(Prose::default, |was| prose!("{} to ", was));
        let now = took(measured).map_or_else(Prose::default, |now| prose!("{}{}", was, now));
        Some(NamedRatio::of(&measured.treatment, measured.total.ratios.speed.as_ref()?, now))
    };
    let clauses = judged(choice.named.iter().filter_map(tell))?;
    let count = match queries.numbers.len() {
        1 => count_words(queries),
        _ => format!("{} together", count_words(queries)),
    };
    let what = if queries.is_throughput { "queries per hour" } else { "speed" };
    let base = base.unwrap_or_else(|| found.baseline_name().into());
    let more = choice.more(|measured| measured.total.ratios.speed.as_ref());
    let mut text = prose!("{}, {} against {}: {}{}.", count, what, base, clauses, more);
    let others = [geometric(found, choice), same_plans(found, choice)];
    others.into_iter().flatten().for_each(|sentence| text.push(sentence));
    let names: Vec<&str> = choice.all().map(|measured| measured.treatment.as_str()).collect();
    Some(finding(FindingKind::QueriesTotal, text, &names))
}

/// Name of a study's baseline, with what its name does not say and one of its figures; `None` if each group has its
/// own.
fn one_baseline(queries: &Queries, figure: impl Fn(&TreatmentQueries) -> Option<Prose>) -> Option<Prose> {
    let [Baseline { both: one, .. }] = queries.baselines.as_slice() else { return None };
    let (name, placement) = (&one.treatment, one.placement.as_str());
    let dop = one.dop.filter(|dop| !name.contains(&format!("d{dop}")));
    let dop = dop.map_or_else(String::new, |dop| format!("DOP {dop} "));
    let is_reported = dop.is_empty() && name.contains(placement);
    let place = (!is_reported).then(|| format!("{dop}on {placement}"));
    let streams = queries.is_throughput.then(|| counted(one.streams as usize, "stream"));
    let words = [place.map(Prose::from), streams.map(Prose::from), figure(one)].into_iter().flatten();
    let words = Prose::join(words, ", ");
    Some(if words.is_empty() { name.into() } else { prose!("{} ({})", name, words) })
}

/// Among the treatments that are named and have as many streams as their baseline (concurrent queries take longer),
/// that with the highest DOP with something to report: choosing the largest change would be a choice by the result.
fn of_highest<'a, T>(
    found: QueryStudy<'_>,
    choice: &Choice<'a>,
    value: impl Fn(&'a TreatmentQueries) -> Option<T>,
) -> Option<(&'a TreatmentQueries, T)> {
    let is_alike =
        |one: &&TreatmentQueries| found.baseline(one).is_some_and(|base| base.both.streams == one.streams);
    let alike = choice.named.iter().copied().filter(is_alike);
    alike.filter_map(|measured| Some((measured, value(measured)?))).max_by_key(|(measured, _)| measured.dop)
}

/// The geometric mean if it says something else.
fn geometric(found: QueryStudy<'_>, choice: &Choice<'_>) -> Option<Prose> {
    let says = |ratio: &Ratio| match ratio.mark() {
        Mark::Undecided => Mark::Same,
        mark => mark,
    };
    let (measured, mean) = of_highest(found, choice, |measured| {
        let (speed, mean) =
            measured.total.ratios.speed.as_ref().zip(measured.total.ratios.geometric.as_ref())?;
        (says(speed) != says(mean)).then_some(mean)
    })?;
    let ratio = judged([NamedRatio::of(&measured.treatment, &mean.decisive(), "")])?;
    Some(prose!(" Geometric mean: {}.", ratio))
}

/// Without queries with another plan.
fn same_plans(found: QueryStudy<'_>, choice: &Choice<'_>) -> Option<Prose> {
    let (measured, (what, rest)) = of_highest(found, choice, |measured| {
        let ratios = &measured.total.ratios;
        let total = ratios.speed_same_plans.as_ref().map(|rest| ("", rest));
        total.or_else(|| Some((", geometric mean", ratios.geometric_same_plans.as_ref()?)))
    })?;
    let words = judged([NamedRatio::of(&measured.treatment, rest, "")])?;
    // The finding of plans names them.
    let changed = match found.queries.changed() {
        few if few.len() <= MAX_NAMED => query_list(few, MAX_NAMED),
        many => format!("{} queries", many.len()),
    };
    Some(prose!(" Without {} with another plan{}: {}.", changed, what, words))
}

/// Which treatments may be the fastest: the totals above are chosen by configuration, not by result.
fn best(found: QueryStudy<'_>) -> Option<Finding> {
    let best = if found.queries.is_throughput { "best" } else { "fastest" };
    let all = || found.queries.fastest.iter();
    let sentences = all().map(|one| fastest(one, best, &found.facts.group_words(&one.group), str::to_owned));
    let text = Prose::join(sentences, " ");
    let names: Vec<&str> = all().flat_map(|one| &one.among).map(String::as_str).collect();
    (!text.is_empty()).then(|| finding(FindingKind::Fastest, text, &names))
}

/// Single queries with a shown difference: how many, and which differ most and least. `None` for streams: that
/// concurrent queries take longer says nothing.
fn range(found: QueryStudy<'_>, choice: &Choice<'_>) -> Option<Finding> {
    let compared: Vec<&TreatmentQueries> = choice.all().collect();
    let count = found.queries.numbers.len();
    if count < 2 || found.queries.is_throughput || compared.is_empty() {
        return None;
    }
    let against = found.baseline_name();
    let names: Vec<&str> = compared.iter().map(|measured| measured.treatment.as_str()).collect();
    let clauses = compared.iter().filter_map(|measured| shown(measured));
    let text = match (limited(clauses, choice.named.len()), names.as_slice()) {
        (Some(clauses), _) => prose!("Query by query against {}: {}.", against, clauses),
        (None, under) => prose!(
            "Query by query: no difference from {} shown in any of {} under {}.",
            against,
            count,
            if let [one] = under { (*one).to_owned() } else { format!("any of {} treatments", under.len()) }
        ),
    };
    Some(finding(FindingKind::QueriesRange, text, &names))
}

/// `d2 19 faster (Q9 most, Q4 least), 2 slower (Q3 most, Q1 least)`; `None` if no difference is shown. The first and
/// last of many are named by rank: their own intervals would not account for the choice.
fn shown(measured: &TreatmentQueries) -> Option<Prose> {
    let all =
        measured.queries.iter().filter_map(|(number, one)| Some((*number, one, one.speed.as_ref()?.value)));
    let is_shown = |one: &QueryEstimates| one.speed.as_ref().is_some_and(Ratio::is_different);
    let mut all: Vec<(u8, &QueryEstimates, f64)> = all.filter(|(_, one, _)| is_shown(one)).collect();
    all.sort_by(|a, b| a.2.total_cmp(&b.2));
    let name = |(number, one, _): &(u8, &QueryEstimates, f64)| {
        let plan = if one.plan_change == Change::Different { " with another plan" } else { "" };
        query_name(*number) + plan
    };
    let (slower, faster) = all.split_at(all.partition_point(|(_, _, speed)| *speed < 1.0));
    let sides = [
        (faster.len(), "faster", faster.last(), faster.first()),
        (slower.len(), "slower", slower.first(), slower.last()),
    ];
    let sides = sides.into_iter().filter_map(|(count, word, most, least)| {
        let (most, least) = (name(most?), name(least?));
        Some(match count {
            1 => prose!("{} {} ({})", count, word, most),
            _ => prose!("{} {} ({} most, {} least)", count, word, most, least),
        })
    });
    let sides = Prose::join(sides, ", ");
    (!sides.is_empty()).then(|| prose!("{} {}", &measured.treatment, sides))
}

/// Size of the data, relative to memory and caches.
pub fn data_size(queries: &Queries) -> Option<Finding> {
    Some(finding(FindingKind::DataSize, prose!("Data: {}.", data_words(queries)?), &[]))
}

/// Noise floors and marks of totals and of single queries, as the tables have them; for streams, whose concurrent
/// queries take longer, of queries per hour alone.
pub fn trust(found: QueryStudy<'_>) -> Finding {
    let (facts, queries) = (&found.facts, found.queries);
    let totals = queries.treatments.iter().filter_map(|one| Some((one, one.total.ratios.speed.as_ref()?)));
    let (treatments, totals): (Vec<&TreatmentQueries>, Vec<&Ratio>) = totals.unzip();
    let single = queries.treatments.iter().flat_map(|one| one.queries.values());
    let single: Vec<&Ratio> = single.filter_map(|query| query.speed.as_ref()).collect();
    let kinds = match queries.is_throughput {
        true => vec![("queries per hour", ["treatment", "treatments"], &totals)],
        false => {
            vec![("totals", ["total", "totals"], &totals), ("queries", ["query", "queries"], &single)]
        }
    };
    let floors = Prose::join(kinds.iter().filter_map(|(all, _, ratios)| floors(all, ratios)), ", ");
    let floors = if floors.is_empty() { "unknown".into() } else { floors };
    let mut parts = vec![prose!("noise floor {}", floors)];
    let marks: Vec<String> = kinds.iter().filter_map(|(_, nouns, ratios)| marks(*nouns, ratios)).collect();
    parts.extend((!marks.is_empty()).then(|| prose!("shown to differ: {}", marks.join(", "))));
    parts.push(blocks(facts).into());
    parts.extend(disturbances(facts));
    let mut text = prose!("Trust: {}.", Prose::join(parts, "; "));
    if let [first, rest @ ..] = facts.analysis.excluded_blocks.as_slice() {
        let more = if_any("; and ", rest.len(), " more");
        let first = short_reason(first, MAX_REASON);
        text.push(format!(" Left out: {first}{more}.").replace("….", "…"));
    }
    let open = treatments.iter().zip(&totals).filter(|(_, total)| is_open(total));
    let evidence: Vec<&str> = open.map(|(measured, _)| measured.treatment.as_str()).collect();
    finding(FindingKind::Trust, text, &evidence)
}

/// `of queries ±1.1% to ±9.3%`: least and largest; `None` if one is unknown.
fn floors(name: &str, ratios: &[&Ratio]) -> Option<Prose> {
    // Beyond a factor of two a floor says no more than that.
    let share = |floor: f64| match floor > 1.0 {
        true => "above ±100%".into(),
        false => Prose::figure(format!("±{}", numbers::percent(floor))),
    };
    let all = || ratios.iter().filter_map(|ratio| Some(ratio.floor? - 1.0));
    let ends = [all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max)];
    let [low, high] = ends.iter().all(|floor| floor.is_finite()).then(|| ends.map(share))?;
    Some(if low == high { prose!("of {} {}", name, low) } else { prose!("of {} {} to {}", name, low, high) })
}

/// `22 of 44 queries (3 inconclusive)`; `None` without a ratio.
fn marks([one, several]: [&str; 2], ratios: &[&Ratio]) -> Option<String> {
    let shown = ratios.iter().filter(|ratio| ratio.is_different()).count();
    let open = if_any(" (", ratios.iter().filter(|ratio| is_open(ratio)).count(), " undecided)");
    let noun = if ratios.len() == 1 { one } else { several };
    (!ratios.is_empty()).then(|| format!("{shown} of {} {noun}{open}", ratios.len()))
}

fn is_open(ratio: &Ratio) -> bool {
    ratio.answer == Answer::Undecided
}

/// Engine, workload, data, memory, what is left out, what to run next.
pub fn scope(found: QueryStudy<'_>) -> Finding {
    let (facts, study) = (&found.facts, found.facts.study);
    // The rest of a version says who built it.
    let version = facts.engine_version.split_once(" (").map_or(facts.engine_version, |(version, _)| version);
    let engine = format!("{} {}", study.engine, version.trim());
    let mut parts = vec![format!("engine {}, workload {}", engine.trim_end(), study.workload)];
    parts.extend(factors(facts));
    parts.extend([asked(study), streams(found)]);
    let default = if found.queries.is_throughput { "seeded" } else { "validation" };
    parts.push(format!("{} parameters", list(&levels(study, "parameters", default))));
    parts.extend([data(study), memory(study)]);
    parts.extend(spilled(found.queries));
    let is_held = levels(study, "hold_plan", "false").iter().any(|held| held == "true");
    parts.extend(is_held.then(|| "plans held".to_owned()));
    let mut text = prose!("Scope: {}.", parts.join(", "));
    if !study.left_out.is_empty() {
        let what: Vec<String> = study.left_out.iter().map(|line| headline(line)).collect();
        text.push(prose!(" Left out: {}.", list(&what)));
    }
    if let Some(next) = next(facts, &[]) {
        text.push(prose!(" Next: {}.", next));
    }
    finding(FindingKind::Scope, text, &[])
}

/// The values that treatments have of an option, in order of first appearance.
fn levels(study: &Study, name: &str, default: &str) -> Vec<String> {
    let all = study.treatments.iter().map(|treatment| treatment.options.get(name));
    distinct(all.map(|level| level.map_or_else(|| default.to_owned(), ToString::to_string)))
}

/// `all 22 queries`, or which of them.
fn asked(study: &Study) -> String {
    let numbers = study.treatments.first().map(|first| tpch::queries(&first.options)).unwrap_or_default();
    match numbers.len() {
        all if all == usize::from(QUERIES) => format!("all {QUERIES} queries"),
        some => format!("{some} of the {QUERIES} queries ({})", query_list(numbers, MAX_QUERIES)),
    }
}

fn streams(found: QueryStudy<'_>) -> String {
    let study = found.facts.study;
    let short = study.treatments.iter().map(|treatment| study.short_sessions(treatment)).max().unwrap_or(0);
    match (found.queries.is_throughput, counted(short as usize, "session")) {
        (false, _) => "one stream, query by query".to_owned(),
        (true, _) if short == 0 => "whole streams at the same time".to_owned(),
        (true, sessions) => {
            format!("whole streams at the same time, {sessions} of short queries at the same time")
        }
    }
}

/// Where rows are stored, in which order, and what of it is in memory before a query.
fn data(study: &Study) -> String {
    let storage = levels(study, "storage", if study.properties().reads_files { "parquet" } else { "" });
    let store = |storage: &String| match storage.as_str() {
        "parquet" => "Parquet files".to_owned(),
        "memory" => "tables in memory".to_owned(),
        _ => "the engine's own tables".to_owned(),
    };
    let stores: Vec<String> = storage.iter().map(store).collect();
    let caches = match levels(study, "cache", "warm").join(" ").as_str() {
        _ if storage == ["memory"] => "",
        "cold" => ", cleared from caches before every query",
        "warm" => " read once before",
        _ => ", read once before or cleared from caches",
    };
    let orders = levels(study, "cluster", "orderkey");
    let order = |cluster: &String| if cluster == "shipdate" { "ship date" } else { "order key" };
    let orders: Vec<String> = orders.iter().map(|cluster| order(cluster).to_owned()).collect();
    format!("{}{caches}, lineitem by {}", list(&stores), list(&orders))
}

fn memory(study: &Study) -> String {
    let limits = levels(study, "memory_limit_mb", "");
    let words = |limit: &String| if limit.is_empty() { "none".to_owned() } else { format!("{limit} MB") };
    match limits.as_slice() {
        [none] if none.is_empty() => "no memory limit requested".to_owned(),
        limits => format!("memory limit {}", list(&limits.iter().map(words).collect::<Vec<_>>())),
    }
}

/// Queries that spilled to disk; `None` if engines do not report it.
fn spilled(queries: &Queries) -> Option<String> {
    let all = queries.treatments.iter().flat_map(|measured| &measured.queries);
    let known: Vec<(u8, f64)> = all
        .filter_map(|(number, estimates)| Some((*number, *estimates.counters.get("spill_bytes")?)))
        .collect();
    let spilled: BTreeSet<u8> =
        known.iter().filter(|(_, bytes)| *bytes > 0.0).map(|(number, _)| *number).collect();
    (!known.is_empty()).then(|| match spilled.is_empty() {
        true => "nothing spilled".to_owned(),
        false => format!("spilled: {}", query_list(spilled, MAX_QUERIES)),
    })
}
