//! All queries together, with and without those of another plan, and the range of single ones.

use super::choice::{
    Choice, NamedRatio, baseline, baseline_name, is_as_many_streams, judged, one_baseline, query_list,
};
use crate::Facts;
use crate::queries::{Change, Queries, QueryEstimates, TreatmentQueries};
use crate::words::{fastest, finding};
use crate::{Finding, Ratio};
use threadwise_document::numbers::{compact, seconds};
use threadwise_document::{Mark, Prose, prose};

/// Most queries of another plan that are named.
const MAX_NAMED: usize = 3;

/// The treatments that matter; the geometric mean only where it says something else.
pub fn total(facts: &Facts<'_>, queries: &Queries, choice: &Choice<'_>) -> Option<Finding> {
    let figure = |measured: &TreatmentQueries| took(queries.is_throughput, measured);
    let base = one_baseline(queries, figure);
    let tell = |measured: &&TreatmentQueries| {
        let was = base.is_none().then(|| figure(baseline(facts, queries, measured)?)).flatten();
        let was = was.map_or_else(Prose::default, |was| prose!("{} to ", was));
        let now = figure(measured).map_or_else(Prose::default, |now| prose!("{}{}", was, now));
        Some(NamedRatio::of(&measured.treatment, measured.total.speed.as_ref()?, now))
    };
    let clauses = judged(&choice.named.iter().filter_map(tell).collect::<Vec<_>>())?;
    let count = match queries.numbers.len() {
        1 => "1 query".to_owned(),
        several => format!("{several} queries together"),
    };
    let what = if queries.is_throughput { "queries per hour" } else { "speed" };
    let base = base.unwrap_or_else(|| baseline_name(queries).into());
    let more = choice.more(|measured| measured.total.speed.as_ref());
    let mut text = prose!("{}, {} against {}: {}{}.", count, what, base, clauses, more);
    let others = [geometric(facts, queries, choice), same_plans(facts, queries, choice)];
    others.into_iter().flatten().for_each(|sentence| text.push(sentence));
    let names: Vec<&str> = choice.all().map(|measured| measured.treatment.as_str()).collect();
    Some(finding("queries-total", text, &names))
}

/// Which treatments may be the fastest: those of the totals above are chosen by what they are.
pub fn best(facts: &Facts<'_>, queries: &Queries) -> Option<Finding> {
    let best = if queries.is_throughput { "best" } else { "fastest" };
    let place = |group: &str| match facts.study.groups().len() {
        0 | 1 => String::new(),
        _ => facts.group_words(group),
    };
    let all = || queries.fastest.iter();
    let sentences = all().map(|found| fastest(found, best, &place(&found.group), str::to_owned));
    let text = Prose::join(sentences, " ");
    let names: Vec<&str> = all().flat_map(|found| &found.among).map(String::as_str).collect();
    (!text.is_empty()).then(|| finding("fastest", text, &names))
}

/// Seconds of all queries, or queries per hour.
fn took(is_throughput: bool, measured: &TreatmentQueries) -> Option<Prose> {
    let figure = match is_throughput {
        true => format!("{}/h", compact(measured.total.queries_per_h.as_ref()?.mean, 3)),
        false => seconds(measured.total.elapsed_s.as_ref()?.mean),
    };
    Some(Prose::figure(figure))
}

/// What a ratio says: −1 slower, 0 nothing, 1 faster.
fn conclusion(ratio: &Ratio) -> i8 {
    match ratio.mark() {
        Mark::Same | Mark::Undecided => 0,
        Mark::Lower => -1,
        Mark::Higher => 1,
    }
}

/// The geometric mean where it says something else, of the treatment of the highest DOP.
fn geometric(facts: &Facts<'_>, queries: &Queries, choice: &Choice<'_>) -> Option<Prose> {
    let both = |measured: &&TreatmentQueries| -> Option<(String, Ratio, Option<u32>)> {
        let (speed, mean) = measured.total.speed.as_ref().zip(measured.total.geometric.as_ref())?;
        let is_other = conclusion(speed) != conclusion(mean) && is_as_many_streams(facts, queries, measured);
        is_other.then(|| (measured.treatment.clone(), mean.clone(), measured.dop))
    };
    let (name, mean, _) = choice.named.iter().filter_map(both).max_by_key(|known| known.2)?;
    let ratio = judged(&[NamedRatio::of(&name, &mean.decisive(), "")])?;
    Some(prose!(" Geometric mean: {}.", ratio))
}

/// Without queries of another plan, of the treatment of the highest DOP: the one that it changes most would be a choice
/// by the result.
fn same_plans(facts: &Facts<'_>, queries: &Queries, choice: &Choice<'_>) -> Option<Prose> {
    let both = |measured: &&'_ TreatmentQueries| -> Option<(String, &'static str, Ratio, Option<u32>)> {
        let total = &measured.total;
        let of_total = || Some(("", total.speed_same_plans.as_ref()?));
        let of_mean = || Some((", geometric mean", total.geometric_same_plans.as_ref()?));
        let (what, rest) = of_total().or_else(of_mean)?;
        Some((measured.treatment.clone(), what, rest.clone(), measured.dop))
    };
    let known =
        choice.named.iter().filter(|measured| is_as_many_streams(facts, queries, measured)).filter_map(both);
    let (name, what, rest, _) = known.max_by_key(|known| known.3)?;
    let words = judged(&[NamedRatio::of(&name, &rest, "")])?;
    // The finding of plans names them.
    let changed = match queries.changed() {
        few if few.len() <= MAX_NAMED => query_list(&few, MAX_NAMED),
        many => format!("{} queries", many.len()),
    };
    Some(prose!(" Without {} of another plan{}: {}.", changed, what, words))
}

/// Single queries whose difference is shown: how many, and which differ most and least. `None` of streams:
/// that a query takes longer beside others says nothing.
pub fn range(queries: &Queries, choice: &Choice<'_>) -> Option<Finding> {
    let compared: Vec<&TreatmentQueries> = choice.all().collect();
    if queries.numbers.len() < 2 || queries.is_throughput || compared.is_empty() {
        return None;
    }
    let against = baseline_name(queries);
    let names: Vec<&str> = compared.iter().map(|measured| measured.treatment.as_str()).collect();
    let mut clauses: Vec<Prose> = compared.iter().filter_map(|measured| shown(measured)).collect();
    if clauses.is_empty() {
        let under = match names.as_slice() {
            [one] => (*one).to_owned(),
            all => format!("any of {} treatments", all.len()),
        };
        let count = queries.numbers.len();
        let text =
            format!("Query by query: no difference from {against} shown in any of {count} under {under}.");
        return Some(finding("queries-range", text, &names));
    }
    let rest = clauses.split_off(clauses.len().min(choice.named.len()));
    let more = match rest.len() {
        0 => String::new(),
        more => format!("; {more} more in the table"),
    };
    Some(finding(
        "queries-range",
        prose!("Query by query against {}: {}{}.", against, Prose::join(clauses, "; "), more),
        &names,
    ))
}

type Single<'a> = (u8, &'a QueryEstimates, &'a Ratio);

/// `d2 19 faster (Q9 most, Q4 least), 2 slower (Q3 most, Q1 least)`; `None` where no difference is shown. The first and last
/// of many are named by rank: their own intervals would not account for the choice.
fn shown(measured: &TreatmentQueries) -> Option<Prose> {
    let mut all: Vec<Single<'_>> = measured
        .queries
        .iter()
        .filter_map(|(number, estimates)| Some((*number, estimates, estimates.speed.as_ref()?)))
        .filter(|(_, _, speed)| speed.is_different())
        .collect();
    all.sort_by(|a, b| a.2.value.total_cmp(&b.2.value));
    let (slower, faster) = all.split_at(all.partition_point(|(_, _, speed)| speed.value < 1.0));
    let sides = [
        (faster.len(), "faster", faster.last(), faster.first()),
        (slower.len(), "slower", slower.first(), slower.last()),
    ];
    let tell = |(count, word, most, least): (usize, &str, Option<&Single<'_>>, Option<&Single<'_>>)| {
        let (most, least) = (single(most?), single(least?));
        Some(match count {
            1 => prose!("{} {} ({})", count, word, most),
            _ => prose!("{} {} ({} most, {} least)", count, word, most, least),
        })
    };
    let sides: Vec<Prose> = sides.into_iter().filter_map(tell).collect();
    (!sides.is_empty()).then(|| prose!("{} {}", &measured.treatment, Prose::join(sides, ", ")))
}

/// `Q3 with another plan`: a query without its figures, which are in the table.
fn single((number, measured, _): &Single<'_>) -> Prose {
    let plan = if measured.plan_change == Change::Different { " with another plan" } else { "" };
    prose!("Q{}{}", u32::from(*number), plan)
}
