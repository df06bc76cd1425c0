//! Figures of queries as text.

use crate::Ratio;
use crate::findings::words::interval;

/// Nanoseconds as `390 ms` or `1.20 s`.
pub fn duration(ns: f64) -> String {
    match ns {
        ns if ns < 9.995e6 => format!("{:.2} ms", ns / 1e6),
        ns if ns < 9.995e8 => format!("{:.0} ms", ns / 1e6),
        ns if ns < 9.995e9 => format!("{:.2} s", ns / 1e9),
        ns => format!("{:.1} s", ns / 1e9),
    }
}

/// Bytes as `812 MiB`.
pub fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && value < 9.95);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// Seconds as text.
pub fn seconds(s: f64) -> String {
    if s >= 99.95 { format!("{s:.0} s") } else { duration(s * 1e9) }
}

/// A ratio with its interval, or that there is none.
pub fn ratio(ratio: &Ratio) -> String {
    match ratio.blocks {
        0 | 1 => format!("{:.2}x (1 block, no interval)", ratio.value),
        _ => interval(ratio.value, ratio.low, ratio.high),
    }
}

/// Half of a ratio's interval as a fraction, as [`crate::Estimate::half_width`]; infinite without one.
pub fn half_width(ratio: &Ratio) -> f64 {
    let width = (ratio.high / ratio.low).sqrt() - 1.0;
    if width.is_finite() { width } else { f64::INFINITY }
}

/// The first sentence of what an engine said, at most so many characters of it: engines add advice over
/// several lines. A sentence ends at a line's end, or where a capital follows `. `. A bracket that was
/// opened is closed.
pub fn short_reason(text: &str, most: usize) -> String {
    let text = text.trim();
    let line = text.lines().next().unwrap_or_default().trim_end();
    let begins = |at: &usize| line[at + 2..].starts_with(char::is_uppercase);
    let end = line.match_indices(". ").map(|(at, _)| at).find(begins).unwrap_or(line.len());
    let sentence = line[..end].trim_end_matches('.');
    let short: String = sentence.chars().take(most).collect();
    let is_cut = short.len() < text.trim_end_matches('.').len();
    let is_open = short.matches('(').count() > short.matches(')').count();
    match (is_cut, is_open) {
        (false, _) => short,
        (true, true) => format!("{} …)", short.trim_end()),
        (true, false) => format!("{} …", short.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_their_first_sentence() {
        assert_eq!(short_reason("out of memory", 80), "out of memory");
        assert_eq!(short_reason("It ended.", 80), "It ended");
        let advice = "Out of Memory Error: 1.5 GiB (e.g. of one sort) is too much. Possible solutions:\n* fewer threads";
        assert_eq!(
            short_reason(advice, 200),
            "Out of Memory Error: 1.5 GiB (e.g. of one sort) is too much …"
        );
        assert_eq!(short_reason(advice, 40), "Out of Memory Error: 1.5 GiB (e.g. of on …)");
        assert_eq!(
            short_reason("block 0: failed (engine: no room\nfree some)", 80),
            "block 0: failed (engine: no room …)"
        );
        assert_eq!(short_reason("é. Ä", 80), "é …");
        assert_eq!(short_reason("", 80), "");
    }

    #[test]
    fn half_widths_are_of_logarithms() {
        let of = |low, high| half_width(&crate::fixtures::ratio(1.0, low, high));
        assert!((of(1.0, 1.21) - 0.1).abs() < 1e-12);
        assert_eq!(of(0.0, f64::INFINITY), f64::INFINITY);
    }
}
