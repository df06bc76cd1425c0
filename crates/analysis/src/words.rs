//! Parts of findings: the answer to a ratio, lists, evidence.

use crate::estimate::{Fastest, Guess};
use crate::{Answer, Estimate, Finding, FindingKind, Interval, Ratio};
use threadwise_document::{Class, Prose, numbers, prose};

/// A ratio with the answer to it.
pub fn judged(estimate: &Estimate) -> Prose {
    prose!("{}{}", &estimate.ratio, answered(&estimate.ratio))
}

/// A ratio that is reported because of its result: with the interval that decides.
pub fn judged_decisive(ratio: &Ratio) -> Prose {
    let ratio = ratio.decisive();
    prose!("{}{}", &ratio, answered(&ratio))
}

/// The answer to a ratio, to follow it; empty if it is larger or smaller by more than the margin.
pub fn answered(ratio: &Ratio) -> String {
    let margin = numbers::set_percent(ratio.margin);
    let adjusted = ratio.why_not_shown().filter(|_| ratio.blocks >= 2);
    match ratio.answer {
        Answer::Larger | Answer::Smaller => String::new(),
        Answer::WithinMargin => format!(", a difference of less than {margin}"),
        Answer::SizeOpen if Answer::by_interval(ratio.low, ratio.high, ratio.margin) != Answer::SizeOpen => {
            format!(", whether by more than {margin} is open after adjusting for all comparisons")
        }
        Answer::SizeOpen => format!(", whether by more than {margin} is open"),
        Answer::Equivalent => format!(", the same within {margin}"),
        Answer::Undecided if ratio.blocks < 2 => String::new(),
        Answer::Undecided => adjusted.map_or(", undecided".to_owned(), |why| format!(", undecided ({why})")),
    }
}

/// `+57% [52, 62]`, a ratio's distance from 1, with the answer to it.
pub fn change(estimate: &Estimate) -> Prose {
    prose!("{}{}", Prose::change(&estimate.ratio), answered(&estimate.ratio))
}

/// A change that is reported because of its result: with the interval that decides.
pub fn change_decisive(ratio: &Ratio) -> Prose {
    let ratio = ratio.decisive();
    prose!("{}{}", Prose::change(&ratio), answered(&ratio))
}

/// `-2.0% [-2.4, -1.6]`: a ratio's distance from 1, with the interval that allows for selection.
pub fn changed(change: &Ratio) -> Prose {
    let Interval { mean, low, high, .. } = change.decisive().interval();
    let mut text = Prose::figure(numbers::change(mean));
    match change.blocks < 2 {
        true => text.push(" (1 block, no interval)"),
        false => {
            text.push(" ");
            text.push(Prose::of(Class::Interval, numbers::change_ends(low, high, mean)));
        }
    }
    text
}

/// `2.0% [1.6, 2.4] slower`: a change of a ratio of speeds, in words.
pub fn faster_or_slower(change: &Ratio) -> Prose {
    let Interval { mean, low, high, .. } = change.decisive().interval();
    match mean < 1.0 {
        true => prose!("{} slower", &Interval::of([1.0 - mean, 1.0 - high, 1.0 - low], "share")),
        false => prose!("{} faster", &Interval::of([mean - 1.0, low - 1.0, high - 1.0], "share")),
    }
}

/// A share as a figure: `12%`.
pub fn share(share: f64) -> Prose {
    Prose::figure(numbers::percent(share))
}

/// A half-width or a noise floor: `±9.1%`.
pub fn plus_minus(share: f64) -> Prose {
    Prose::figure(format!("±{}", numbers::percent(share)))
}

/// `72%`; more than simulations can confirm is `over 99%`.
pub fn probability(value: f64) -> Prose {
    match value {
        most if most > 0.99 => Prose::figure("over 99%"),
        some => Prose::figure(numbers::percent(some)),
    }
}

/// `probability 72% that three do over 3% more`: the guess for a step.
pub fn likely(guess: Guess, more: &str, margin: f64) -> Prose {
    let probability = probability(guess.probability);
    let side = if guess.is_above { "over" } else { "at most" };
    let margin = Prose::figure(numbers::set_percent(margin));
    prose!("probability {} that {} do {} {} more", probability, more, side, margin)
}

/// `one core`, `13 cores`.
pub fn count_of(count: usize, noun: &str) -> String {
    format!("{} {noun}{}", numbers::count_word(count as u32), if count == 1 { "" } else { "s" })
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// Most names or reasons in a line.
pub const MAX_LISTED: usize = 3;

/// The first of some parts, and how many more there are, in words.
pub fn first<T>(parts: impl IntoIterator<Item = T>, most: usize, words: impl Fn(usize) -> T) -> Vec<T> {
    let mut parts: Vec<T> = parts.into_iter().collect();
    let more = parts.len().saturating_sub(most);
    parts.truncate(most);
    parts.extend((more > 0).then(|| words(more)));
    parts
}

/// `3 more`.
pub fn more<T: From<String>>(count: usize) -> T {
    format!("{count} more").into()
}

/// The first few, and how many more.
pub fn shortened<T: Clone + Into<Prose>>(lines: &[T]) -> Prose {
    shortened_of(lines, lines.len())
}

/// The first few, and how many more of `total`.
pub fn shortened_of<T: Clone + Into<Prose>>(lines: &[T], total: usize) -> Prose {
    let mut shown = Prose::join(lines.iter().take(MAX_LISTED).cloned().map(Into::into), "; ");
    if let more @ 1.. = total.saturating_sub(MAX_LISTED) {
        shown.push(prose!("; and {} more", more));
    }
    shown
}

/// The first few, and how many more a table has; `None` without any.
pub fn limited(clauses: impl IntoIterator<Item = Prose>, most: usize) -> Option<Prose> {
    let clauses = first(clauses, most, |more| prose!("{} more in the table", more));
    (!clauses.is_empty()).then(|| Prose::join(clauses, "; "))
}

/// Puts a finding together; `evidence` names estimates or treatments. Ratios have the intervals that decide, as in the
/// answer on the screen: two intervals of one ratio would look like a contradiction.
pub fn finding(kind: FindingKind, line: impl Into<Prose>, evidence: &[&str]) -> Finding {
    let mut names: Vec<String> = Vec::new();
    for name in evidence {
        if !names.iter().any(|known| known == name) {
            names.push((*name).to_owned());
        }
    }
    Finding { kind, line: line.into().decisive(), evidence: names }
}

/// Most treatments that are named as possibly the best.
const MAX_AMONG: usize = 3;

/// `Fastest of 5: d8.`, or for several that may be, `Among the fastest of 5: d8, d4 and 1 more.`; `best` is `fastest`
/// or `best`.
pub fn fastest(found: &Fastest, best: &str, place: &str, name: impl Fn(&str) -> String) -> Prose {
    let count = found.candidates as usize;
    let place = if place.is_empty() { String::new() } else { format!(" {place}") };
    match found.among.as_slice() {
        [one] => prose!("{} of {}{}: {}.", numbers::capital(best), count, place, name(one)),
        all if all.len() == count => prose!("Which of {}{} is {} is not decided.", count, place, best),
        some => {
            let names = first(some.iter().map(|one| name(one)), MAX_AMONG, more);
            prose!("Among the {} of {}{}: {}.", best, count, place, list(&names))
        }
    }
}

/// Names of estimates, as evidence.
pub fn names<'a>(estimates: &[&'a Estimate]) -> Vec<&'a str> {
    estimates.iter().map(|estimate| estimate.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{estimate, ratio as made};

    fn with(ratio: Ratio) -> Estimate {
        Estimate { ratio, ..estimate("x", 1.0, 1.0, 1.0) }
    }

    #[test]
    fn ratios_and_what_may_be_said_of_them() {
        let said = |ratio: Ratio| judged(&with(ratio)).to_string();
        assert_eq!(said(made(1.94, 1.90, 1.98)), "1.94x [1.90, 1.98]");
        assert_eq!(said(made(1.00, 0.99, 1.01)), "1.00x [0.99, 1.01], the same within 3%");
        assert_eq!(said(made(1.02, 1.01, 1.025)), "1.02x [1.01, 1.02], a difference of less than 3%");
        assert_eq!(said(made(1.04, 1.01, 1.07)), "1.04x [1.01, 1.07], whether by more than 3% is open");
        assert_eq!(said(made(1.01, 0.95, 1.07)), "1.01x [0.95, 1.07], undecided");
        let open = Ratio { answer: Answer::SizeOpen, ..made(1.18, 1.08, 1.28) };
        assert!(said(open).ends_with("more than 3% is open after adjusting for all comparisons"));
        let adjusted = Ratio { answer: Answer::Undecided, ..made(1.02, 1.01, 1.03) };
        assert!(
            said(adjusted)
                .ends_with("undecided (not after adjusting for all comparisons and for correlation)")
        );
        let one = Ratio { blocks: 1, answer: Answer::Undecided, ..made(12.34, 0.0, f64::INFINITY) };
        assert_eq!(said(one), "12.3x (1 block, no interval)");
        assert!(change(&estimate("x", 2.5, 1.1, 1e200)).to_string().len() < 60);
    }

    #[test]
    fn what_is_named_for_what_it_turned_out_to_be_has_the_interval_that_decides() {
        let ratio = Ratio {
            adjusted_low: 0.98,
            adjusted_high: 1.10,
            answer: Answer::Undecided,
            ..made(1.04, 1.01, 1.07)
        };
        assert_eq!(judged_decisive(&ratio).to_string(), "1.04x [0.98, 1.10], undecided");
        assert_eq!(change_decisive(&ratio).to_string(), "+4.0% [-2.0, 10.0], undecided");
        assert!(judged(&with(ratio)).to_string().starts_with("1.04x [1.01, 1.07], undecided (not after"));
    }

    #[test]
    fn the_fastest_and_those_that_may_be() {
        let said = |among: &[&str]| {
            let among = among.iter().map(|name| (*name).to_owned()).collect();
            let found = Fastest { group: String::new(), candidates: 5, among };
            fastest(&found, "fastest", "", str::to_owned).to_string()
        };
        assert_eq!(said(&["d8"]), "Fastest of 5: d8.");
        assert_eq!(said(&["d8", "d4"]), "Among the fastest of 5: d8 and d4.");
        assert_eq!(said(&["d8", "d4", "d2", "d1"]), "Among the fastest of 5: d8, d4, d2 and 1 more.");
        assert_eq!(said(&["a", "b", "c", "d", "e"]), "Which of 5 is fastest is not decided.");
    }

    #[test]
    fn changes_and_lists() {
        assert_eq!(change(&estimate("x", 0.9, 0.89, 0.91)).to_string(), "-10% [-11, -9]");
        assert_eq!(
            change(&with(made(1.0001, 0.99, 1.01))).to_string(),
            "+0.0% [-1.0, 1.0], the same within 3%"
        );
        let parts = ["a", "b", "c", "d"].map(str::to_owned);
        assert_eq!(list(&parts[..3]), "a, b and c");
        assert_eq!(shortened(&parts).to_string(), "a; b; c; and 1 more");
        assert_eq!(limited(parts.map(Prose::from), 2).unwrap().to_string(), "a; b; 2 more in the table");
        assert_eq!(limited([], 2), None);
    }
}
