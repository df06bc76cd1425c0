//! All queries together, with and without those of another plan, and the range of single ones.

use super::choice::{
    Choice, NamedRatio, baseline, baseline_name, is_as_many_streams, judged, one_baseline, query_list,
};
use crate::Facts;
use crate::queries::{Change, Queries, QueryEstimates, TreatmentQueries};
use crate::words::finding;
use crate::{Finding, Ratio};
use threadwise_document::numbers::{compact, seconds};
use threadwise_document::{Prose, prose};

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
    match ratio.effect {
        false => 0,
        true if ratio.value < 1.0 => -1,
        true => 1,
    }
}

/// The geometric mean where it says something else, of the treatment where it is furthest from it.
fn geometric(facts: &Facts<'_>, queries: &Queries, choice: &Choice<'_>) -> Option<Prose> {
    let both = |measured: &&TreatmentQueries| -> Option<(String, Ratio, f64)> {
        let (speed, mean) = measured.total.speed.as_ref().zip(measured.total.geometric.as_ref())?;
        let is_other = conclusion(speed) != conclusion(mean) && is_as_many_streams(facts, queries, measured);
        is_other.then(|| (measured.treatment.clone(), mean.clone(), (mean.value / speed.value).ln().abs()))
    };
    let (name, mean, _) = choice.named.iter().filter_map(both).max_by(|a, b| a.2.total_cmp(&b.2))?;
    let ratio = judged(&[NamedRatio::of(&name, &mean, "")])?;
    Some(prose!(" Geometric mean: {}.", ratio))
}

/// Without queries of another plan, of the treatment that this changes most.
fn same_plans(facts: &Facts<'_>, queries: &Queries, choice: &Choice<'_>) -> Option<Prose> {
    let both = |measured: &&'_ TreatmentQueries| -> Option<(String, &'static str, Ratio, f64)> {
        let total = &measured.total;
        let of_total = || Some(("", total.speed_same_plans.as_ref()?, total.speed.as_ref()?));
        let of_mean =
            || Some((", geometric mean", total.geometric_same_plans.as_ref()?, total.geometric.as_ref()?));
        let (what, rest, all) = of_total().or_else(of_mean)?;
        Some((measured.treatment.clone(), what, rest.clone(), (rest.value / all.value).ln().abs()))
    };
    let known =
        choice.named.iter().filter(|measured| is_as_many_streams(facts, queries, measured)).filter_map(both);
    let (name, what, rest, _) = known.max_by(|a, b| a.3.total_cmp(&b.3))?;
    let words = judged(&[NamedRatio::of(&name, &rest, "")])?;
    // The finding of plans names them.
    let changed = match queries.changed() {
        few if few.len() <= MAX_NAMED => query_list(&few, MAX_NAMED),
        many => format!("{} queries", many.len()),
    };
    Some(prose!(" Without {} of another plan{}: {}.", changed, what, words))
}

/// Single queries whose difference is shown: how many, and from where to where. `None` of streams:
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

/// `d2 19 faster (Q4 1.20x [1.10, 1.31] to Q9 2.31x [2.20, 2.42])`, or with the extremes of both
/// sides; `None` where no difference is shown.
fn shown(measured: &TreatmentQueries) -> Option<Prose> {
    let mut all: Vec<Single<'_>> = measured
        .queries
        .iter()
        .filter_map(|(number, estimates)| Some((*number, estimates, estimates.speed.as_ref()?)))
        .filter(|(_, _, speed)| speed.effect)
        .collect();
    all.sort_by(|a, b| a.2.value.total_cmp(&b.2.value));
    let (slower, faster) = all.split_at(all.partition_point(|(_, _, speed)| speed.value < 1.0));
    let name = &measured.treatment;
    let ends = |part: &[Single<'_>]| match part {
        [least, .., most] => prose!("{} to {}", single(least), single(most)),
        part => Prose::join(part.iter().map(single), ""),
    };
    let most = |part: &[Single<'_>], most: &Single<'_>, to: &str| match part {
        [_] => single(most),
        _ => prose!("{} {}", to, single(most)),
    };
    let (gain, loss) = (faster.len(), slower.len());
    Some(match (slower, faster) {
        ([], []) => return None,
        ([], faster) => prose!("{} {} faster ({})", name, gain, ends(faster)),
        (slower, []) => prose!("{} {} slower ({})", name, loss, ends(slower)),
        ([slowest, ..], [.., fastest]) => {
            let (up, down) = (most(faster, fastest, "up to"), most(slower, slowest, "down to"));
            prose!("{} {} faster ({}), {} slower ({})", name, gain, up, loss, down)
        }
    })
}

/// `Q3 1.80x [1.75, 1.85], another plan`.
fn single((number, measured, speed): &Single<'_>) -> Prose {
    let plan = if measured.plan_change == Change::Different { ", another plan" } else { "" };
    prose!("Q{} {}{}", u32::from(*number), *speed, plan)
}
