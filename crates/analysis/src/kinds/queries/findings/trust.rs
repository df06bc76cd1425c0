//! How far to trust a study of queries: what the baseline shows against itself, how much of what the
//! tables mark differs, what disturbed it, what is left out.

use crate::Facts;
use crate::findings::trust::{blocks, disturbances};
use crate::queries::{Queries, TreatmentQueries, short_reason};
use crate::words::finding;
use crate::{Answer, Finding, Ratio};
use threadwise_document::{Prose, numbers, prose};

/// Longest reason of a run that is left out; the JSON report has the whole.
const MAX_REASON: usize = 80;

/// Noise floors and marks of totals and of single queries, as the tables have them; of streams, whose
/// queries take longer beside others, of queries per hour alone.
pub fn trust(facts: &Facts<'_>, queries: &Queries) -> Finding {
    let total = |measured: &'_ TreatmentQueries| measured.total.speed.clone();
    let totals: Vec<Ratio> = queries.treatments.iter().filter_map(total).collect();
    let single: Vec<Ratio> = queries
        .treatments
        .iter()
        .filter(|_| !queries.is_throughput)
        .flat_map(|measured| measured.queries.values().filter_map(|query| query.speed.clone()))
        .collect();
    let names = match queries.is_throughput {
        true => ["queries per hour", "treatment"],
        false => ["totals", "total"],
    };
    let mut parts = vec![floors(&[(names[0], &totals), ("queries", &single)])];
    let marks: Vec<String> = [(names[1], &totals), ("query", &single)]
        .into_iter()
        .filter_map(|(one, ratios)| marks(one, ratios))
        .collect();
    parts.extend((!marks.is_empty()).then(|| prose!("shown to differ: {}", marks.join(", "))));
    parts.push(blocks(facts).into());
    parts.extend(disturbances(facts));
    let mut text = prose!("Trust: {}.", Prose::join(parts, "; "));
    if let Some(line) = first_of(&facts.analysis.excluded_blocks) {
        text.push(format!(" Left out: {line}.").replace("….", "…"));
    }
    let open =
        queries.treatments.iter().filter(|measured| measured.total.speed.as_ref().is_some_and(is_open));
    let evidence: Vec<&str> = open.map(|measured| measured.treatment.as_str()).collect();
    finding("trust", text, &evidence)
}

/// `noise floor of totals ±1.0%, of queries ±1.1% to ±9.3%`: least and largest.
fn floors(floors_of: &[(&str, &Vec<Ratio>)]) -> Prose {
    let words = |(name, ratios): &(&str, &Vec<Ratio>)| {
        let floors = ratios.iter().filter_map(|ratio| ratio.floor).map(|floor| floor - 1.0);
        let (low, high) = floors
            .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), floor| (low.min(floor), high.max(floor)));
        let [low, high] = [low, high].map(share).map(|share| share.filter(|_| low.is_finite()));
        Some(match (low?, high?) {
            (low, high) if low == high => prose!("of {} {}", *name, low),
            (low, high) => prose!("of {} {} to {}", *name, low, high),
        })
    };
    let known: Vec<Prose> = floors_of.iter().filter_map(words).collect();
    if known.is_empty() {
        return "noise floor unknown".into();
    }
    prose!("noise floor {}", Prose::join(known, ", "))
}

/// Beyond a factor of two a floor says no more than that.
fn share(floor: f64) -> Option<Prose> {
    floor.is_finite().then(|| match floor > 1.0 {
        true => "above ±100%".into(),
        false => Prose::figure(format!("±{}", numbers::percent(floor))),
    })
}

/// `22 of 44 queries (3 inconclusive)`; `None` without a ratio.
fn marks(one: &str, ratios: &[Ratio]) -> Option<String> {
    let shown = ratios.iter().filter(|ratio| ratio.is_different()).count();
    let what = match (ratios.len(), one.strip_suffix('y')) {
        (0, _) => return None,
        (1, _) => one.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        (_, None) => format!("{one}s"),
    };
    let open = match ratios.iter().filter(|ratio| is_open(ratio)).count() {
        0 => String::new(),
        open => format!(" ({open} undecided)"),
    };
    Some(format!("{shown} of {} {what}{open}", ratios.len()))
}

fn is_open(ratio: &Ratio) -> bool {
    ratio.answer == Answer::Undecided
}

/// The first of several lines, and how many more there are.
fn first_of(lines: &[String]) -> Option<String> {
    let more = lines.len().saturating_sub(1);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    lines.first().map(|line| format!("{}{more}", short_reason(line, MAX_REASON)))
}
