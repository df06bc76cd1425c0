//! Turns of phrase of a fleet's report.

use crate::fleet::judged::{Between, JudgedComparison, Range};
use crate::{Answer, Ratio};
use threadwise_document::numbers::{self, set_percent};
use threadwise_document::{Prose, prose};

/// `1 study`, `12 studies`.
pub(super) fn studies(count: usize) -> String {
    if count == 1 { "1 study".to_owned() } else { format!("{count} studies") }
}

/// What a comparison is called in a sentence: that of second threads by what it is.
pub(super) fn name(comparison: &JudgedComparison) -> String {
    match (comparison.kind.as_str(), comparison.name.split_once('/')) {
        ("smt-yield", None) => "SMT yield (both threads of a core over one)".to_owned(),
        ("smt-yield", Some((_, group))) => {
            format!("SMT yield with {group} (both threads of a core over one)")
        }
        _ => comparison.name.clone(),
    }
}

/// `c7i over m6a is 1.14x [1.09, 1.19]`: the larger of two kinds over the other, with the interval that decides and what
/// is said of it.
pub(super) fn larger(between: &Between) -> Prose {
    let (_, _, ratio) = oriented(between);
    prose!("{}{}", larger_alone(between), answered(&ratio))
}

/// The same without what is said of it.
pub(super) fn larger_alone(between: &Between) -> Prose {
    let (kind, other, ratio) = oriented(between);
    prose!("{} over {} is {}", kind, other, &ratio)
}

/// The larger kind, the smaller one, and their ratio with the interval that decides.
fn oriented(between: &Between) -> (&str, &str, Ratio) {
    match between.ratio.value < 1.0 {
        true => (&between.other, &between.kind, between.ratio.inverse().decisive()),
        false => (&between.kind, &between.other, between.ratio.decisive()),
    }
}

/// What is said of a ratio, to stand behind it; empty where it is beyond the margin.
pub(super) fn answered(ratio: &Ratio) -> String {
    let margin = set_percent(ratio.margin);
    match ratio.answer {
        Answer::Larger | Answer::Smaller => String::new(),
        Answer::WithinMargin => format!(", a difference of less than {margin}"),
        Answer::SizeOpen => format!(", whether by more than {margin} is open"),
        Answer::Equivalent => format!(", the same within {margin}"),
        Answer::Undecided => ", undecided".to_owned(),
    }
}

/// A ratio with its interval and what is said of it.
pub(super) fn judged(ratio: &Ratio) -> Prose {
    prose!("{}{}", ratio, answered(ratio))
}

/// `1.18x to 1.37x`.
pub(super) fn range(range: &Range, unit: &str) -> Prose {
    let [low, high] = [range.low, range.high].map(|end| Prose::figure(numbers::value(end, unit)));
    prose!("{} to {}", low, high)
}

/// `±6.1%`, a half-width.
pub(super) fn half(half_width: f64) -> Prose {
    Prose::figure(format!("±{}", numbers::percent(half_width)))
}
