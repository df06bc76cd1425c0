//! Texts about queries that the terminal, the page and the JSON share: names, seconds, what changed
//! in a plan, how large the data is.

use crate::text::{bytes, share, significant};
use crate::words::has_queries;
use crate::{Document, Mark};
pub use threadwise_analysis::queries::half_width;
use threadwise_analysis::queries::{
    Baseline, Change, CoreSeconds, DataSize, Outlier, PlanChange, Queries, Reason, StepMark, TreatmentQueries,
};
use threadwise_analysis::{Interval, Ratio, TreatmentSummary};
use threadwise_study::{Role, Study, tpch};

/// Sign of a query whose plan is another one than the baseline's.
pub const PLAN_SIGN: &str = "P";

/// `Q15`.
pub fn query_name(query: u8) -> String {
    format!("Q{query}")
}

/// `Q2, Q15`; three and more in a row as `Q2–Q5`.
pub fn query_names(queries: impl IntoIterator<Item = u8>) -> String {
    let mut runs: Vec<(u8, u8)> = Vec::new();
    for query in queries {
        match runs.last_mut().filter(|(_, last)| last.checked_add(1) == Some(query)) {
            Some((_, last)) => *last = query,
            None => runs.push((query, query)),
        }
    }
    let words = runs.into_iter().map(|(first, last)| match last - first {
        0 => query_name(first),
        1 => format!("{}, {}", query_name(first), query_name(last)),
        _ => format!("{}–{}", query_name(first), query_name(last)),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Names in a sentence; of many the first ones.
pub fn some_names(names: &[&str]) -> String {
    match names.len().checked_sub(MAX_NAMES) {
        Some(more) if more > 1 => format!("{} and {more} more", names[..MAX_NAMES].join(", ")),
        _ => names.join(", "),
    }
}

/// Treatments that a sentence names.
const MAX_NAMES: usize = 4;

/// `1 query`, `22 queries`.
pub fn count_words(count: usize) -> String {
    format!("{count} {}", if count == 1 { "query" } else { "queries" })
}

/// Seconds with three digits, whole ones from a thousand on.
pub fn seconds(value: f64) -> String {
    significant(value, 3)
}

/// Treatments by group, groups in study order. In the baseline's place stand its two runs of every
/// block together, which is what ratios are over; its twin follows, as noise.
pub fn by_group<'a>(
    document: &Document<'a>,
    queries: &'a Queries,
) -> Vec<(&'a str, Vec<&'a TreatmentQueries>)> {
    let mut groups: Vec<(&'a str, Vec<&'a TreatmentQueries>)> = Vec::new();
    for own in &queries.treatments {
        let group = group_of(document, &own.treatment);
        let both = queries.baseline(group).map(|baseline| &baseline.both);
        let own = both.filter(|both| both.treatment == own.treatment).unwrap_or(own);
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, members)) => members.push(own),
            None => groups.push((group, vec![own])),
        }
    }
    groups
}

/// Group of a treatment; empty where the study does not know it.
pub fn group_of<'a>(document: &Document<'a>, treatment: &str) -> &'a str {
    let study = document.study;
    study.treatment(treatment).map_or("", |(_, planned)| planned.group.as_str())
}

/// The same without twins: treatments that have figures of their own to show.
pub fn measured<'a>(document: &Document<'a>, queries: &'a Queries) -> Vec<&'a TreatmentQueries> {
    let groups = by_group(document, queries).into_iter().flat_map(|(_, members)| members);
    groups.filter(|own| !is_twin(document, &own.treatment)).collect()
}

/// Whether a treatment is a baseline's second run in every block.
pub fn is_twin(document: &Document, treatment: &str) -> bool {
    document.study.treatment(treatment).is_some_and(|(_, planned)| planned.role == Role::BaselineTwin)
}

/// A′ against A: totals, and the geometric mean. `None` for any other treatment.
pub fn noise<'a>(
    document: &Document,
    queries: &'a Queries,
    treatment: &str,
) -> Option<(Option<&'a Ratio>, Option<&'a Ratio>)> {
    let baseline =
        queries.baseline(group_of(document, treatment)).filter(|_| is_twin(document, treatment))?;
    Some((baseline.noise.as_ref(), baseline.noise_geometric.as_ref()))
}

/// The noise floor of totals, the widest of all groups; `None` without one.
pub fn floor_words(queries: &Queries) -> Option<String> {
    let floors = queries.treatments.iter().filter_map(|own| own.total.speed.as_ref()?.floor);
    let widest = floors.max_by(f64::total_cmp)?;
    Some(format!("±{}", share(widest - 1.0)))
}

/// What a noise floor is of: `no-smt d1' against no-smt d1 (noise)`.
pub fn noise_words(queries: &Queries) -> String {
    match queries.baselines.as_slice() {
        [Baseline { twin: Some(twin), both, .. }] => format!("{twin} against {} (noise)", both.treatment),
        _ => "A′ against A (noise)".to_owned(),
    }
}

/// A study's title, or else its name; with how many of the queries it has, where these are not all.
pub fn title(study: &Study) -> String {
    let title = if study.title.is_empty() { &study.name } else { &study.title };
    let options = study.treatments.first().map(|first| &first.options);
    let asked = options.filter(|_| has_queries(&study.workload)).map(|options| tpch::queries(options).len());
    match asked {
        Some(asked) if asked < usize::from(tpch::QUERIES) => {
            let all = format!("{} queries", tpch::QUERIES);
            match title.contains(&all) {
                true => title.replacen(&all, &format!("{asked} of the {all}"), 1),
                false => format!("{title} ({asked} of the {all})"),
            }
        }
        _ => title.clone(),
    }
}

/// Name of a treatment inside its group.
pub fn label<'a>(document: &Document<'a>, treatment: &'a str) -> &'a str {
    document.label(treatment, group_of(document, treatment))
}

/// `baseline` (its two runs of every block together), `baseline again`, or nothing for what is compared.
pub fn role_words(document: &Document, treatment: &str) -> Option<&'static str> {
    match document.study.treatment(treatment)?.1.role {
        Role::Baseline => Some("baseline"),
        Role::BaselineTwin => Some("baseline again"),
        Role::Compared => None,
    }
}

/// Treatments that have a ratio of any kind.
pub fn compared<'a>(members: &[&'a TreatmentQueries]) -> Vec<&'a TreatmentQueries> {
    let has = |own: &&&TreatmentQueries| {
        own.total.speed.is_some() || own.queries.values().any(|query| query.speed.is_some())
    };
    members.iter().filter(has).copied().collect()
}

/// The same treatment in the general list.
pub fn summary<'a>(document: &Document<'a>, treatment: &str) -> Option<&'a TreatmentSummary> {
    let analysis = document.analysis;
    analysis.treatments.iter().find(|own| own.name == treatment)
}

/// Queries of a treatment whose plan is another one than the baseline's.
pub fn changed(own: &TreatmentQueries) -> Vec<u8> {
    let other = own.queries.iter().filter(|(_, query)| query.plan_change == Change::Different);
    other.map(|(number, _)| *number).collect()
}

/// How many plans changed; `-` where no plan is known.
pub fn changed_words(own: &TreatmentQueries) -> String {
    match own.queries.values().all(|query| query.plan_change == Change::Unknown) {
        true => "-".to_owned(),
        false => changed(own).len().to_string(),
    }
}

/// The mark of a ratio, as [`Mark::of`] gives it to an estimate.
pub fn mark(document: &Document, ratio: &Ratio) -> Mark {
    let conclusive = half_width(ratio) <= document.study.design.target_half_width;
    match (ratio.effect, conclusive) {
        (true, _) if ratio.value > 1.0 => Mark::Higher,
        (true, _) => Mark::Lower,
        (false, true) => Mark::NoEffect,
        (false, false) => Mark::Inconclusive,
    }
}

/// Physical core-seconds: one figure where no core has two logical CPUs here, else both bounds.
pub fn core_words(cores: &CoreSeconds) -> String {
    bounds_words(cores.core_low_s, cores.core_high_s)
}

/// What cores did in their core-seconds, as far as that is known.
pub fn core_work(queries: &Queries) -> &'static str {
    let mut all = queries.treatments.iter().filter_map(|own| own.cores.as_ref());
    match all.all(|cores| cores.engine_cpu_s.is_some()) {
        true => "worked for the queries",
        false => "was busy, with others' work too,",
    }
}

/// Both bounds of something, or one figure where they are the same to three digits.
pub fn bounds_words(low: f64, high: f64) -> String {
    let [low, high] = [low, high].map(seconds);
    if low == high { low } else { format!("{low}–{high}") }
}

/// Seconds with their interval in brackets; `-` where there are none.
pub fn interval_words(interval: Option<&Interval>) -> [String; 2] {
    match interval {
        Some(own) if own.high.is_finite() => {
            [seconds(own.mean), format!("[{}, {}]", seconds(own.low), seconds(own.high))]
        }
        Some(own) => [seconds(own.mean), "-".to_owned()],
        None => ["-".to_owned(), "-".to_owned()],
    }
}

/// What a plan is to the baseline's.
pub fn change_words(change: Change) -> &'static str {
    match change {
        Change::Unknown => "unknown",
        Change::Same => "the same",
        Change::ParallelOnly => "only went parallel",
        Change::Different => "another plan",
    }
}

/// What is said of a step of DOP; empty where there is nothing to say.
pub fn step_words(mark: StepMark) -> &'static str {
    match mark {
        StepMark::None => "",
        StepMark::SuperScaling => "super-scaling",
        StepMark::PoorThenGood => "poor, then good",
    }
}

/// The likeliest reason for what stands out.
pub fn reason_words(reason: Reason) -> &'static str {
    match reason {
        Reason::Plan => "plan",
        Reason::Clock => "clock",
        Reason::Io => "I/O",
        Reason::Neighbour => "neighbour",
        Reason::Dop => "parallelism",
        Reason::Unexplained => "unexplained",
    }
}

/// Outliers, those of whole queries first, then the furthest from the usual.
pub fn ordered_outliers(queries: &Queries) -> Vec<&Outlier> {
    let mut outliers: Vec<&Outlier> = queries.outliers.iter().collect();
    let distance = |outlier: &Outlier| outlier.times.ln().abs();
    outliers
        .sort_by(|a, b| a.block.is_some().cmp(&b.block.is_some()).then(distance(b).total_cmp(&distance(a))));
    outliers
}

/// Whether a line of a plan only moves rows between threads.
pub fn only_moves(line: &str) -> bool {
    line.trim_start().starts_with("~ ")
}

/// Longest operator that is written into a sentence.
const MAX_OPERATOR: usize = 40;

/// What is in the other plan instead of what the baseline's has, by the first operators that differ:
/// `HASH_JOIN (…) instead of NESTED_LOOP_JOIN (…)`.
pub fn instead(change: &PlanChange) -> String {
    let cut = |line: &str| short(line, MAX_OPERATOR);
    let (other, own) = change.operators();
    match (other.map(cut), own.map(cut)) {
        (Some(other), Some(own)) => format!("{other} instead of {own}"),
        (Some(other), None) => format!("{other} more"),
        (None, Some(own)) => format!("without {own}"),
        (None, None) => "the same operators in another order".to_owned(),
    }
}

/// A text cut with an ellipsis.
pub fn short(text: &str, most: usize) -> String {
    match text.chars().count() {
        count if count <= most => text.to_owned(),
        _ => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// How large the data is, in words: over memory and over the LLC. `None` where no scale is known.
pub fn data_words(queries: &Queries) -> Option<String> {
    let words: Vec<String> = queries.data.iter().map(size_words).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

fn size_words(size: &DataSize) -> String {
    let over = |name: &str, bytes_of: Option<u64>| match bytes_of.filter(|bytes| *bytes > 0) {
        Some(own) => format!("{} x {name} ({})", significant(size.logical_bytes / own as f64, 2), bytes(own)),
        None => format!("{name} of unknown size"),
    };
    let [memory, llc] = [over("memory", size.memory_bytes), over("the LLC", size.llc_bytes)];
    format!("scale {}: {} GB of data, {memory}, {llc}", size.scale, significant(size.logical_bytes / 1e9, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(lines: &[(Option<&str>, Option<&str>)]) -> PlanChange {
        let owned = |line: Option<&str>| line.map(str::to_owned);
        PlanChange {
            query: 15,
            baseline: 0,
            other: 1,
            treatments: vec![],
            change: Change::Different,
            lines: lines.iter().map(|(own, other)| (owned(*own), owned(*other))).collect(),
        }
    }

    #[test]
    fn the_first_operators_that_differ_are_named() {
        let moved = (None, Some("  ~ Gather"));
        let same = (Some("SORT a"), Some("SORT a"));
        let changed = change(&[same, moved, (Some("  NL JOIN b"), None), (None, Some("  HASH JOIN b"))]);
        assert_eq!(instead(&changed), "HASH JOIN b instead of NL JOIN b");
        assert_eq!(instead(&change(&[same, (None, Some("TOP_N 10"))])), "TOP_N 10 more");
        assert_eq!(instead(&change(&[same, (Some("FILTER"), None)])), "without FILTER");
        assert_eq!(instead(&change(&[same])), "the same operators in another order");
        let long = "HASH JOIN ".repeat(20);
        assert!(instead(&change(&[(Some("a"), Some(&long))])).chars().count() < 70);
    }

    #[test]
    fn names_in_a_row_are_folded() {
        assert_eq!(query_names([1, 2, 3, 4, 7, 9, 10, 22]), "Q1–Q4, Q7, Q9, Q10, Q22");
        assert_eq!(query_names([]), "");
        assert_eq!(some_names(&["a", "b", "c", "d", "e"]), "a, b, c, d, e");
        assert_eq!(some_names(&["a", "b", "c", "d", "e", "f"]), "a, b, c, d and 2 more");
    }

    #[test]
    fn bounds_that_are_the_same_are_one_figure() {
        assert_eq!(bounds_words(1687.2, 2236.4), "1687–2236");
        assert_eq!(bounds_words(12.301, 12.302), "12.3");
    }
}
