//! All conversion of numbers to text: verdict, tables, charts and exports for people use the same digits. Pure
//! functions.
//!
//! Three significant digits, four if an interval is within 1% of its centre: more would be noise. Numbers that are not
//! finite are `n/a`; very long ones (300 digits) have an exponent.

use crate::Interval;
use threadwise_machine::CpuSet;

/// Least decimal exponent of a number that is written without one.
const LEAST_EXPONENT: i32 = -4;

/// Whole numbers from here on are written with an exponent.
const LONG: f64 = 1e6;

/// An interval within this share of its centre gets a fourth digit.
const NARROW_SHARE: f64 = 0.01;

/// A value in a unit, as `10.2 s`, `35.8 MiB`, `8.9%`, `477.9k`, `1.27x`. Known units: `ns`, `s`, `bytes`, `share`,
/// `points` (percentage points of a difference), `ratio`; for any other the number alone, since its column names the
/// unit.
pub fn value(value: f64, unit: &str) -> String {
    match unit {
        "bytes" if value.is_finite() => whole_bytes(value),
        _ => Scale::of(value, unit, 3).with_unit(value),
    }
}

/// A value and the ends of its interval with as many decimals, the unit once: `10.2 s` and `[10.1, 10.3]`. No ends with
/// one block.
pub fn interval(interval: &Interval) -> (String, Option<String>) {
    let narrow = interval.half_share().is_some_and(|half| half <= NARROW_SHARE);
    let scale = Scale::of(interval.mean, &interval.unit, if narrow { 4 } else { 3 });
    let ends = || format!("[{}, {}]", scale.bare(interval.low), scale.bare(interval.high));
    (scale.with_unit(interval.mean), interval.has_ends().then(ends))
}

/// Format of a value and its interval.
enum Scale {
    /// Divided by a factor, with this many decimals; a unit after the value; with `each`, after the ends too.
    Decimals { factor: f64, decimals: usize, unit: &'static str, each: bool },
    /// Percentage points, with a sign.
    Points { decimals: usize },
    /// By a function, which formats every number alike.
    Each(fn(f64) -> String, &'static str),
}

impl Scale {
    fn of(value: f64, unit: &str, digits: usize) -> Self {
        let size = value.abs();
        match unit {
            "share" => return Self::Each(bare_percent, "%"),
            "ratio" => return Self::Each(ratio, "x"),
            "points" => return Self::Points { decimals: usize::from(size < 9.95) },
            _ => {}
        }
        let scales: &[(f64, &'static str)] = match unit {
            "ns" => &[(1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns")],
            "s" => &[(1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")],
            "bytes" => &[
                (1.099511627776e12, " TiB"),
                (1_073_741_824.0, " GiB"),
                (1_048_576.0, " MiB"),
                (1024.0, " KiB"),
                (1.0, " bytes"),
            ],
            _ => &[(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")],
        };
        // 999.96 of a unit would be printed as a thousand of it.
        let least = 1.0 - 0.5 * 10_f64.powi(-(digits as i32));
        let last = scales.len() - 1;
        // Four digits need no suffix: 1010 is read faster than 1.010k.
        let reaches = |factor: f64, words: &str| size >= factor * least && (words != "k" || size >= 9_999.5);
        let (factor, words) = match scales.iter().find(|(factor, words)| reaches(*factor, words)) {
            Some(found) => *found,
            // 0 bytes, 0 s, 0 of anything; less than the smallest unit.
            None if unit == "s" && size == 0.0 => scales[0],
            None => scales[last],
        };
        let scaled = value / factor;
        match is_plain(scaled) {
            true => Self::Decimals {
                factor,
                decimals: decimals(scaled, digits),
                unit: words,
                each: words.len() == 1,
            },
            // An exponent is of the unit itself: 1.00e300, not 1.00e288T.
            false => Self::Each(
                exponent,
                scales.iter().find(|(factor, _)| *factor == 1.0).map_or("", |(_, unit)| unit),
            ),
        }
    }

    fn bare(&self, value: f64) -> String {
        match self {
            _ if !value.is_finite() => "n/a".to_owned(),
            Self::Decimals { factor, decimals, unit, each } => {
                let number = fixed(value / factor, *decimals);
                if *each { format!("{number}{unit}") } else { number }
            }
            Self::Points { decimals } => fixed(value, *decimals),
            Self::Each(write, _) => write(value),
        }
    }

    fn with_unit(&self, value: f64) -> String {
        match self {
            _ if !value.is_finite() => "n/a".to_owned(),
            Self::Decimals { unit, each: false, .. } => format!("{}{unit}", self.bare(value)),
            Self::Decimals { .. } => self.bare(value),
            Self::Points { .. } => {
                let sign = if value > 0.0 { "+" } else { "" };
                format!("{sign}{} points", self.bare(value))
            }
            Self::Each(write, unit) => format!("{}{unit}", write(value)),
        }
    }
}

fn whole_bytes(value: f64) -> String {
    if value < 0.0 { format!("-{}", whole_bytes(-value)) } else { bytes(value.round() as u64) }
}

fn is_plain(value: f64) -> bool {
    value == 0.0 || (1e-4..LONG).contains(&value.abs())
}

fn exponent(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{value:.2e}") }
}

/// Decimals for a number of significant digits; none for a longer whole number, or for 0.
fn decimals(value: f64, digits: usize) -> usize {
    if value == 0.0 {
        return 0;
    }
    // The exponent after rounding: 9.996 has three digits as 10.0.
    let rounded = format!("{value:.*e}", digits.saturating_sub(1));
    let exponent: i32 = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    (digits as i32 - 1 - exponent).clamp(0, 9) as usize
}

/// A fixed number of decimals, and never `-0`.
fn fixed(value: f64, decimals: usize) -> String {
    if value.abs() >= 1e9 {
        return exponent(value);
    }
    let text = format!("{value:.decimals$}");
    match text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') {
        true => text.trim_start_matches('-').to_owned(),
        false => text,
    }
}

/// A number rounded to so many significant digits; 0, and what is not finite, as it is.
pub fn rounded(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10_f64.powi(digits - 1 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

/// A number with this many significant digits (more for a longer whole number); trailing zeros are kept, so that
/// columns line up: `12.34`, `1.00e300`, `5.12e-9`.
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "n/a".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let rounded = format!("{value:.*e}", digits.saturating_sub(1));
    let exponent: i32 = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    if exponent < LEAST_EXPONENT || value.abs().round() >= LONG {
        return rounded;
    }
    fixed(value, (digits as i32 - 1 - exponent).clamp(0, 6) as usize)
}

/// A number that a user set, with at most three significant digits and no trailing zeros: `0.01`, `2.5`.
pub fn set_number(value: f64) -> String {
    let text = significant(value, 3);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A number with this many significant digits and a suffix: `477.9k`, `1.271M`, `12.34`.
pub fn compact(value: f64, digits: usize) -> String {
    Scale::of(value, "1", digits).with_unit(value)
}

/// The digits of a ratio: hundredths, tenths from 10 on, thousandths below 0.1, an exponent beyond.
pub fn ratio(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => "n/a".to_owned(),
        size if size > 0.0 && size < 1e-3 || size >= 1e6 => exponent(value),
        size if size >= 9.995 => fixed(value, 1),
        size if size < 0.0995 => fixed(value, 3),
        _ => fixed(value, 2),
    }
}

/// A ratio near 1, for which hundredths are too coarse: `1.004`.
pub fn ratio_near_1(value: f64) -> String {
    if value.is_finite() { fixed(value, 3) } else { "n/a".to_owned() }
}

/// A share: `12%`, `8.9%`, `<0.1%` for a positive share that would print as 0.
pub fn percent(share: f64) -> String {
    if share.is_finite() { format!("{}%", bare_percent(share)) } else { "n/a".to_owned() }
}

fn bare_percent(share: f64) -> String {
    match 100.0 * share {
        v if !v.is_finite() => "n/a".to_owned(),
        v if v > 0.0 && v < 0.05 => "<0.1".to_owned(),
        v if v.abs() >= LONG => exponent(v),
        v if v == 0.0 || v.abs() >= 9.95 => fixed(v, 0),
        v => fixed(v, 1),
    }
}

/// A share of nearly all, for which whole per cents are too coarse: `99.8%`, and `100%` only if nothing is missing.
pub fn most_percent(share: f64) -> String {
    match 100.0 * share {
        v if !(98.95..100.0).contains(&v) => percent(share),
        v if v >= 99.95 => ">99.9%".to_owned(),
        v => format!("{}%", fixed(v, 1)),
    }
}

/// A share that a user set, with no more digits than it has: `95%`, `99.5%`.
pub fn set_percent(share: f64) -> String {
    // 0.07 * 100 is 7.000000000000001.
    format!("{}%", (share * 1e6).round() / 1e4)
}

/// A ratio's distance from 1 with its sign: `+57%`, `-3.2%`.
pub fn change(ratio: f64) -> String {
    let sign = if ratio >= 1.0 && ratio.is_finite() { "+" } else { "" };
    // With its ends, which may have either sign, `<0.1%` would be hard to read.
    let is_nothing = (ratio - 1.0).abs() < 0.0005;
    format!("{sign}{}", if is_nothing { "0.0%".to_owned() } else { percent(ratio - 1.0) })
}

/// The ends of a ratio as distances from 1, in percent: `[52, 62]`.
pub fn change_ends(low: f64, high: f64, value: f64) -> String {
    let decimals = usize::from((value - 1.0).abs() < 0.0995);
    format!("[{}, {}]", fixed(100.0 * (low - 1.0), decimals), fixed(100.0 * (high - 1.0), decimals))
}

/// A p value: `0.012`, `<0.001`.
pub fn p_value(value: f64) -> String {
    match value {
        v if !v.is_finite() => "n/a".to_owned(),
        v if v < 0.001 => "<0.001".to_owned(),
        v => fixed(v, 3),
    }
}

/// A correlation with its sign: `+0.31`.
pub fn correlation(value: f64) -> String {
    if value.is_finite() { format!("{value:+.2}") } else { "n/a".to_owned() }
}

/// A duration from nanoseconds: `812 ns`, `2.41 µs`, `13.0 ms`, `1.50 s`.
pub fn nanoseconds(ns: f64) -> String {
    value(ns, "ns")
}

/// A duration from seconds: `8.32 s`, `1083 s`, `12.3 ms`.
pub fn seconds(s: f64) -> String {
    value(s, "s")
}

/// A size: `35.8 MiB`, `32 KiB`, `12 bytes`.
pub fn bytes(bytes: u64) -> String {
    threadwise_machine::words::bytes(bytes)
}

/// A count with a thousands separator: `294,528`.
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

/// `1 core`, `2 cores`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `no`, `one`, `two`, … `twelve`, then digits.
pub fn count_word(count: u32) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    WORDS.get(count as usize).map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

/// A text with an initial capital. The symbols of the scaling law stay as they are: Σ is a sum.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        None | Some('σ' | 'κ') => text.to_owned(),
        Some(first) => first.to_uppercase().chain(letters).collect(),
    }
}

/// A CPU list that also folds steps of two and more: `0-30:2,64`. The kernel's own list form
/// (`lib/bitmap-str.c`), which machines with alternating numbers need to stay on one line.
pub fn cpu_list(set: &CpuSet) -> String {
    let cpus: Vec<u32> = set.iter().collect();
    let mut parts: Vec<String> = Vec::new();
    let mut at = 0;
    while at < cpus.len() {
        let end = stride_end(&cpus, at);
        match end - at {
            0 => parts.push(cpus[at].to_string()),
            _ if cpus[at + 1] == cpus[at] + 1 => parts.push(format!("{}-{}", cpus[at], cpus[end])),
            _ => parts.push(format!("{}-{}:{}", cpus[at], cpus[end], cpus[at + 1] - cpus[at])),
        }
        at = end + 1;
    }
    parts.join(",")
}

/// Last index of the run of equal steps that starts at `at`; a run of step above 1 needs 4 members.
fn stride_end(cpus: &[u32], at: usize) -> usize {
    let Some(&next) = cpus.get(at + 1) else { return at };
    let step = next - cpus[at];
    let mut end = at + 1;
    while end + 1 < cpus.len() && cpus[end + 1] - cpus[end] == step {
        end += 1;
    }
    // Steps that end where consecutive numbers begin belong to these: 0,8-11.
    if step == 1 || end - at >= 3 { end } else { at }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(mean: f64, low: f64, high: f64, unit: &str) -> String {
        let (figure, ends) = interval(&Interval { mean, low, high, unit: unit.to_owned() });
        format!("{figure} {}", ends.unwrap_or_default()).trim_end().to_owned()
    }

    #[test]
    fn a_capital_begins_a_sentence_and_no_symbol_becomes_another() {
        let found = ["one", "σ 3%", "κ 0%", ""].map(capital);
        assert_eq!(found[0], "One");
        assert_eq!((found[1].as_str(), found[2].as_str(), found[3].as_str()), ("σ 3%", "κ 0%", ""));
    }

    #[test]
    fn values_have_three_digits_and_their_unit() {
        let ns = [812.0, 2_412.0, 13.04e6, 1.5e9, 0.0].map(|ns| value(ns, "ns"));
        assert_eq!(ns, ["812 ns", "2.41 µs", "13.0 ms", "1.50 s", "0 ns"]);
        let s = [0.0, 9.16e-5, 0.0123, 8.32, 99.94, 99.96, 1083.0, 3729.4, f64::INFINITY].map(seconds);
        assert_eq!(s, ["0 s", "91.6 µs", "12.3 ms", "8.32 s", "99.9 s", "100 s", "1083 s", "3729 s", "n/a"]);
        let rest =
            [value(37_500_000.0, "bytes"), value(477_875.0, "1/s"), value(12.0, "tx"), value(1.271, "ratio")];
        assert_eq!(rest, ["35.8 MiB", "478k", "12.0", "1.27x"]);
        assert_eq!(
            [compact(477_875.0, 4), compact(999_960.0, 4), compact(12.0, 4)],
            ["477.9k", "1.000M", "12.00"]
        );
    }

    #[test]
    fn ends_have_the_decimals_of_their_centre_and_a_narrow_interval_one_more() {
        assert_eq!(both(10.2e9, 10.05e9, 10.37e9, "ns"), "10.2 s [10.1, 10.4]");
        assert_eq!(both(22.41, 22.30, 22.52, "s/item"), "22.41 [22.30, 22.52]");
        assert_eq!(both(477_875.0, 470_000.0, 485_000.0, "1/s"), "478k [470k, 485k]");
        assert_eq!(both(0.089, 0.085, 0.093, "share"), "8.9% [8.5, 9.3]");
        assert_eq!(both(3600.0, 3500.0, 3700.0, "s"), "3600 s [3500, 3700]");
        assert_eq!(both(37.5e6, 37.0e6, 38.0e6, "bytes"), "35.8 MiB [35.3, 36.2]");
        assert_eq!(both(1e300, 1e299, 2e300, "1/s"), "1.00e300 [1.00e299, 2.00e300]");
        assert_eq!(both(20.2, 15.4, 25.0, "points"), "+20 points [15, 25]");
        assert_eq!(both(-3.21, -6.5, 0.04, "points"), "-3.2 points [-6.5, 0.0]");
        assert_eq!(both(5.0, f64::NEG_INFINITY, f64::INFINITY, "1"), "5.00");
    }

    #[test]
    fn ratios_and_shares() {
        assert_eq!(
            [1.2712, 0.0412, 12.34, 99.96, 3e40, 2.5e-9, 1.0].map(ratio),
            ["1.27", "0.041", "12.3", "100.0", "3.00e40", "2.50e-9", "1.00"]
        );
        assert_eq!(
            [0.0001, 0.0894, 0.123, 1.0, 12.5, 0.0].map(percent),
            ["<0.1%", "8.9%", "12%", "100%", "1250%", "0%"]
        );
        assert_eq!(
            [0.998, 0.99999, 1.0, 0.96, 0.9899, f64::NAN].map(most_percent),
            ["99.8%", ">99.9%", "100%", "96%", "99.0%", "n/a"]
        );
        assert_eq!([set_percent(0.07), set_percent(0.995)], ["7%", "99.5%"]);
        assert_eq!([0.01, 2.5, 300.0, 1e-7].map(set_number), ["0.01", "2.5", "300", "1.00e-7"]);
        assert_eq!(
            [1.57, 0.968, 1.0001, 0.9999, f64::INFINITY].map(change),
            ["+57%", "-3.2%", "+0.0%", "0.0%", "n/a"]
        );
        assert_eq!(
            [change_ends(1.52, 1.62, 1.57), change_ends(0.97, 0.99, 0.98)],
            ["[52, 62]", "[-3.0, -1.0]"]
        );
    }

    #[test]
    fn no_number_is_wider_than_a_column() {
        for exponent in -323..309 {
            let number = -format!("1.23456789e{exponent}").parse::<f64>().unwrap();
            let texts = [
                compact(number, 4),
                significant(number, 4),
                ratio(number),
                nanoseconds(number),
                seconds(number),
            ];
            for text in texts.into_iter().chain([percent(-number), value(number, "bytes")]) {
                assert!(text.chars().count() <= 14, "{number:e}: {text}");
            }
        }
    }

    #[test]
    fn counts() {
        assert_eq!([0, 999, 1000, 294_528].map(grouped), ["0", "999", "1,000", "294,528"]);
        assert_eq!(
            [counted(1, "core"), counted(2, "core"), count_word(2), count_word(13)],
            ["1 core", "2 cores", "two", "13"]
        );
    }

    #[test]
    fn lists_fold_steps() {
        let list = |text: &str| cpu_list(&CpuSet::parse_list(text).unwrap());
        assert_eq!(list("0-30:2"), "0-30:2");
        assert_eq!(list("0-3,8,64-65"), "0-3,8,64-65");
        assert_eq!(list("0,2"), "0,2");
        assert_eq!(list("0,4,8-11"), "0,4,8-11");
        assert_eq!(list(""), "");
    }
}
