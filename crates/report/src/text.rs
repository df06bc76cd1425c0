//! Numbers and texts as people read them. Pure functions.

use threadwise_analysis::{Interval, TreatmentSummary};
use threadwise_machine::text::is_deceptive;

pub use threadwise_document::numbers::cpu_list;

/// One line of text for a terminal: deceptive characters are replaced; without `unicode` the rest
/// is ASCII too.
pub fn plain(text: &str, unicode: bool) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => line.push(' '),
            c if is_deceptive(c) || crate::terminal::sign::is_private(c) => {
                line.push(if unicode { '\u{fffd}' } else { '?' })
            }
            c if unicode || c.is_ascii() => line.push(c),
            c => line.push_str(ascii(c)),
        }
    }
    line
}

fn ascii(c: char) -> &'static str {
    match c {
        '±' => "+-",
        '▲' => "^",
        '▼' => "v",
        '×' => "x",
        'µ' | 'μ' => "u",
        '–' | '—' | '−' => "-",
        '…' => "...",
        '′' | '‘' | '’' => "'",
        '“' | '”' => "\"",
        '·' => "-",
        '≥' => ">=",
        '≤' => "<=",
        '→' => "->",
        '\u{a0}' | '\u{2009}' | '\u{202f}' => " ",
        _ => "?",
    }
}

/// Least decimal exponent of a number that is written without one.
const LEAST_EXPONENT: i32 = -4;

/// Whole numbers from here on are written with an exponent.
const LONG: f64 = 1e6;

/// A number with so many significant digits and a suffix: `477.9k`, `1.271M`, `12.34`; with an exponent
/// where there is no suffix for it.
pub fn compact(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "n/a".to_owned();
    }
    if value.abs() >= 999.5e12 {
        return significant(value, digits);
    }
    let scales = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    // 999.96 of a unit would be printed as a thousand of it.
    let least = 1.0 - 0.5 * 10_f64.powi(-(digits as i32));
    let scale = scales.into_iter().find(|(scale, _)| value.abs() >= scale * least);
    let (scale, suffix) = scale.unwrap_or((1.0, ""));
    format!("{}{suffix}", significant(value / scale, digits))
}

/// A number with `digits` significant digits (more where it is a longer whole number); trailing zeros are
/// kept, so that columns line up. From a million on and below 0.0001 it has an exponent, since a column has
/// no room for 300 digits, and 0.000000 says nothing: `1.00e300`, `5.12e-9`.
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "n/a".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // The exponent after rounding: 9.9996 has four digits as 10.00.
    let rounded = format!("{value:.*e}", digits.saturating_sub(1));
    let exponent: i32 = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    if exponent < LEAST_EXPONENT || value.abs().round() >= LONG {
        return rounded;
    }
    let decimals = (digits as i32 - 1 - exponent).clamp(0, 6) as usize;
    format!("{value:.decimals$}")
}

/// A duration: `812 ns`, `2.41 µs`, `13.0 ms`, `1.50 s`.
pub fn nanoseconds(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "n/a".to_owned(),
        v if v < 1e3 => format!("{} ns", significant(value, 3)),
        v if v < 1e6 => format!("{} µs", significant(value / 1e3, 3)),
        v if v < 1e9 => format!("{} ms", significant(value / 1e6, 3)),
        _ => format!("{} s", significant(value / 1e9, 3)),
    }
}

/// A size: `35.8 MiB`, `32 KiB`.
pub fn bytes(value: u64) -> String {
    let scales = [(1_u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match scales.into_iter().find(|(scale, _)| value >= *scale) {
        Some((scale, unit)) if value.is_multiple_of(scale) => format!("{} {unit}", value / scale),
        Some((scale, unit)) => format!("{} {unit}", significant(value as f64 / scale as f64, 3)),
        None => format!("{value} B"),
    }
}

/// A share: `12.3%`; `<0.1%` for what is above nothing and would print as nothing.
pub fn share(value: f64) -> String {
    match value {
        v if !v.is_finite() => "n/a".to_owned(),
        v if v > 0.0 && v < 0.0005 => "<0.1%".to_owned(),
        v if v >= 1e4 => format!("{:.1e}%", v * 100.0),
        v if v >= 0.9995 => format!("{:.0}%", v * 100.0),
        v => format!("{:.1}%", v * 100.0),
    }
}

/// A share that somebody set, with no more digits than it has: `95%`, `99.5%`.
pub fn set_share(value: f64) -> String {
    // 0.07 * 100 is 7.000000000000001.
    format!("{}%", (value * 1e6).round() / 1e4)
}

/// A p value: `0.012`, `<0.001`.
pub fn p_value(value: f64) -> String {
    match value {
        v if !v.is_finite() => "n/a".to_owned(),
        v if v < 0.001 => "<0.001".to_owned(),
        v => format!("{v:.3}"),
    }
}

/// A ratio: `1.271x` is too fine, `0.04x` too coarse.
pub fn ratio(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "n/a".to_owned(),
        v if !(0.1..100.0).contains(&v) => significant(value, 3),
        _ => format!("{value:.2}"),
    }
}

/// A ratio with its interval: `1.27x [1.24, 1.30]`.
pub fn ratio_interval(value: f64, low: f64, high: f64) -> String {
    format!("{}x [{}, {}]", ratio(value), ratio(low), ratio(high))
}

/// A metric's value by its unit.
pub fn metric(value: f64, unit: &str) -> String {
    match unit {
        "ns" => nanoseconds(value),
        "share" => share(value),
        _ => compact(value, 4),
    }
}

/// A metric's interval, `[low, high]`.
pub fn metric_bounds(interval: &Interval) -> String {
    format!("[{}, {}]", metric(interval.low, &interval.unit), metric(interval.high, &interval.unit))
}

/// `1 core`, `2 cores`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A count with its thousands set apart: `294,528`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Valid runs, with those that failed or were left out: `7, 1 failed`.
pub fn runs_words(summary: &TreatmentSummary) -> String {
    let mut text = summary.runs.to_string();
    if summary.failed > 0 {
        text.push_str(&format!(", {} failed", summary.failed));
    }
    if summary.excluded > 0 {
        text.push_str(&format!(", {} excluded", summary.excluded));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits_and_their_unit() {
        assert_eq!(compact(477_875.0, 4), "477.9k");
        assert_eq!(compact(999_960.0, 4), "1.000M");
        assert_eq!(compact(12.0, 4), "12.00");
        assert_eq!(compact(f64::NAN, 4), "n/a");
        assert_eq!(nanoseconds(812.0), "812 ns");
        assert_eq!(nanoseconds(2_412.0), "2.41 µs");
        assert_eq!(nanoseconds(1.5e9), "1.50 s");
        assert_eq!(bytes(32 << 10), "32 KiB");
        assert_eq!(bytes(37_500_000), "35.8 MiB");
        assert_eq!(share(0.0001), "<0.1%");
        assert_eq!(share(1.0), "100%");
        assert_eq!(set_share(0.07), "7%");
        assert_eq!(set_share(0.995), "99.5%");
        assert_eq!(ratio_interval(1.2712, 1.24, 1.3), "1.27x [1.24, 1.30]");
        assert_eq!(ratio(0.0412), "0.0412");
    }

    #[test]
    fn no_number_is_wider_than_a_column() {
        assert_eq!(significant(1e300, 4), "1.000e300");
        assert_eq!(significant(-1.25e-12, 3), "-1.25e-12");
        assert_eq!(significant(0.000_099_99, 3), "0.000100", "as it is rounded");
        assert_eq!([significant(999_999.0, 4), significant(1_234_567.0, 4)], ["999999", "1.235e6"]);
        assert_eq!([compact(999.4e12, 4), compact(1e15, 4)], ["999.4T", "1.000e15"]);
        assert_eq!([ratio(3e40), ratio(2.5e-9)], ["3.00e40", "2.50e-9"]);
        assert_eq!([share(12.5), share(1e300)], ["1250%", "1.0e302%"]);
        for exponent in -323..309 {
            let value = -format!("1.23456789e{exponent}").parse::<f64>().unwrap();
            let texts = [compact(value, 4), significant(value, 4), ratio(value), nanoseconds(value)];
            for text in texts.into_iter().chain([share(-value), bytes(-value as u64)]) {
                assert!(text.len() <= 13, "{value:e}: {text}");
            }
        }
    }

    #[test]
    fn large_counts_are_grouped() {
        assert_eq!(
            [0, 999, 1000, 294_528, 1_000_000].map(grouped),
            ["0", "999", "1,000", "294,528", "1,000,000"]
        );
    }

    #[test]
    fn nothing_deceptive_reaches_a_terminal() {
        let hostile = "a\u{1b}[31m\u{202e}b\nc\u{9b}±\u{2066}";
        assert_eq!(plain(hostile, true), "a\u{fffd}[31m\u{fffd}b c\u{fffd}±\u{fffd}");
        assert_eq!(plain(hostile, false), "a?[31m?b c?+-?");
    }
}
