//! What findings are put together from: what may be said of a ratio, lists, evidence.

use crate::{Estimate, Finding, Ratio};
use threadwise_document::{Prose, numbers, prose};

/// A ratio with what may be said of it: whether a difference is shown, and whether it is conclusive.
pub fn judged(estimate: &Estimate) -> Prose {
    let ratio = &estimate.ratio;
    let mut text = prose!("{}{}", ratio, not_shown(ratio));
    if !ratio.conclusive && ratio.blocks >= 2 {
        // That there is an effect is decided; how large it is, is not.
        let words = if ratio.effect { "size only within" } else { "inconclusive" };
        text.push(prose!(", {} {}", words, plus_minus(ratio.half_width())));
    }
    text
}

/// That no difference is shown, and why where the interval alone would show one; empty where one is.
pub fn not_shown(ratio: &Ratio) -> String {
    match ratio.why_not_shown().filter(|_| ratio.blocks >= 2) {
        _ if ratio.effect => String::new(),
        Some(why) => format!(", no difference shown ({why})"),
        None => ", no difference shown".to_owned(),
    }
}

/// `+57% [52, 62]`, or that no difference is shown, of a ratio's distance from 1.
pub fn change(estimate: &Estimate) -> Prose {
    let ratio = &estimate.ratio;
    let reason = if ratio.blocks < 2 { String::new() } else { not_shown(ratio) };
    prose!("{}{}", Prose::change(ratio), reason)
}

/// A share as a figure: `12%`.
pub fn share(share: f64) -> Prose {
    Prose::figure(numbers::percent(share))
}

/// A half-width or a noise floor: `±9.1%`.
pub fn plus_minus(share: f64) -> Prose {
    Prose::figure(format!("±{}", numbers::percent(share)))
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

/// Most names or reasons that one line lists.
pub const MAX_LISTED: usize = 3;

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
    let mut clauses: Vec<Prose> = clauses.into_iter().collect();
    let more = clauses.len().saturating_sub(most);
    clauses.truncate(most);
    clauses.extend((more > 0).then(|| prose!("{} more in the table", more)));
    (!clauses.is_empty()).then(|| Prose::join(clauses, "; "))
}

/// Puts a finding together; `evidence` names estimates or treatments.
pub fn finding(kind: &str, line: impl Into<Prose>, evidence: &[&str]) -> Finding {
    let mut names: Vec<String> = Vec::new();
    for name in evidence {
        if !names.iter().any(|known| known == name) {
            names.push((*name).to_owned());
        }
    }
    Finding { kind: kind.to_owned(), line: line.into(), evidence: names }
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
        let shown = estimate("x", 1.94, 1.90, 1.98);
        assert_eq!(judged(&shown).to_string(), "1.94x [1.90, 1.98]");
        let none = Ratio { effect: false, ..made(1.01, 0.99, 1.03) };
        assert_eq!(judged(&with(none)).to_string(), "1.01x [0.99, 1.03], no difference shown");
        let floor = Ratio { effect: false, ..made(1.02, 1.01, 1.03) };
        assert_eq!(
            judged(&with(floor.clone())).to_string(),
            "1.02x [1.01, 1.03], no difference shown (within the noise floor)"
        );
        let adjusted = Ratio { holm_low: 0.99, holm_high: 1.05, ..floor.clone() };
        assert!(
            judged(&with(adjusted.clone()))
                .to_string()
                .ends_with("(not after adjusting for all comparisons)")
        );
        let tail = Ratio { value: 2.89, low: 1.14, high: 7.32, ..adjusted };
        let reason = "no difference shown (not after adjusting for all comparisons)";
        assert_eq!(change(&with(tail.clone())).to_string(), format!("+189% [14, 632], {reason}"));
        assert_eq!(
            change(&with(Ratio { value: 3.5, ..tail })).to_string(),
            format!("3.50x [1.14, 7.32], {reason}")
        );
        assert!(change(&with(floor)).to_string().ends_with("no difference shown (within the noise floor)"));
        let wide = Ratio { conclusive: false, ..made(1.2, 1.1, 1.309) };
        assert_eq!(judged(&with(wide.clone())).to_string(), "1.20x [1.10, 1.31], size only within ±9.1%");
        let open = with(Ratio { effect: false, ..wide });
        assert_eq!(
            judged(&open).to_string(),
            "1.20x [1.10, 1.31], no difference shown (within the noise floor), inconclusive ±9.1%"
        );
        let one = with(Ratio { blocks: 1, ..made(12.34, 0.0, f64::INFINITY) });
        assert_eq!(judged(&one).to_string(), "12.3x (1 block, no interval)");
        assert!(change(&estimate("x", 2.5, 1.1, 1e200)).to_string().len() < 30);
    }

    #[test]
    fn changes_and_lists() {
        assert_eq!(change(&estimate("x", 0.98, 0.97, 0.99)).to_string(), "-2.0% [-3.0, -1.0]");
        let none = Ratio { effect: false, ..made(1.0001, 0.99, 1.01) };
        assert_eq!(change(&with(none)).to_string(), "+0.0% [-1.0, 1.0], no difference shown");
        let parts = ["a", "b", "c", "d"].map(str::to_owned);
        assert_eq!(list(&parts[..3]), "a, b and c");
        assert_eq!(shortened(&parts).to_string(), "a; b; c; and 1 more");
        assert_eq!(limited(parts.map(Prose::from), 2).unwrap().to_string(), "a; b; 2 more in the table");
        assert_eq!(limited([], 2), None);
    }
}
