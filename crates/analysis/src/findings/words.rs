//! Figures as text: ratios with intervals, percentages, counts.

use super::facts::Facts;
use crate::{Estimate, Interval};
use threadwise_study::command::Each;
use threadwise_study::{OptionValue, Options, Study, command, tpch, worklist};

/// What a workload's rows are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Rows of many: `reads`.
    pub noun: &'static str,
    /// The same with a capital.
    pub noun_capital: &'static str,
    /// One: `read`, as in "CPU per read".
    pub one: &'static str,
    /// What more than linear scaling can come from.
    pub causes: &'static str,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Reads,
    Inserts,
    Queries,
    Runs,
    Rows,
}

impl Work {
    /// The words of a study's workload.
    pub fn of(study: &Study) -> Self {
        let causes = "clocks and caches";
        match study.workload.as_str() {
            "logical-io" => {
                Self { noun: "reads", noun_capital: "Reads", one: "read", causes, kind: Kind::Reads }
            }
            "insert" => Self {
                noun: "inserts",
                noun_capital: "Inserts",
                one: "inserted row",
                // Commits of several sessions may wait for one flush of the log together.
                causes: "shared flushes, clocks and caches",
                kind: Kind::Inserts,
            },
            tpch::WORKLOAD => {
                Self { noun: "queries", noun_capital: "Queries", one: "query", causes, kind: Kind::Queries }
            }
            command::WORKLOAD | worklist::WORKLOAD => {
                Self { noun: "runs", noun_capital: "Runs", one: "run", causes, kind: Kind::Runs }
            }
            _ => Self { noun: "rows", noun_capital: "Rows", one: "row", causes, kind: Kind::Rows },
        }
    }

    /// Whether it is the workload of cached reads.
    pub fn reads(self) -> bool {
        self.kind == Kind::Reads
    }

    /// What its rows are, for the verdict's scope.
    pub fn scope(self, study: &Study) -> Option<String> {
        let text = match self.kind {
            // Its findings tell their own.
            Kind::Queries => return None,
            Kind::Runs if study.workload == worklist::WORKLOAD => return super::worklist::scope(study),
            Kind::Runs => return Some(runs_scope(study)),
            Kind::Reads => "reads are rows read from the engine's cache",
            Kind::Inserts => "inserts are rows of committed transactions",
            Kind::Rows => return None,
        };
        // Only what was asked for everywhere: a factor's levels are reported as such.
        let all = |name: &str, value: &str| {
            let own = |options: &Options| options.get(name).is_some_and(|own| own.to_string() == value);
            !study.treatments.is_empty() && study.treatments.iter().all(|t| own(&t.options))
        };
        let relaxed = all("durability", "relaxed").then_some(", commits do not wait for the disk");
        let unlogged = all("table", "unlogged").then_some(", a crash may empty the table");
        Some([Some(text), relaxed, unlogged].into_iter().flatten().collect())
    }
}

/// Longest command that the scope writes out.
const MAX_COMMAND: usize = 80;

/// What is run: the command, and how many of it at once.
fn runs_scope(study: &Study) -> String {
    let by_session = study.treatments.iter().any(|own| command::each(&own.options) == Each::Session);
    let each = if by_session { "one process a session" } else { "one process a treatment" };
    format!("{each} of: {}", command_words(study))
}

/// The first command, cut to a length that fits a sentence.
pub fn command_words(study: &Study) -> String {
    let mut all = study.treatments.iter().filter_map(|treatment| treatment.options.get("command"));
    let words = all.next().map(OptionValue::to_string).unwrap_or_default().replace('`', "'");
    match words.chars().count() {
        0..=MAX_COMMAND => words,
        _ => words.chars().take(MAX_COMMAND - 1).chain(['…']).collect(),
    }
}

/// `1.94x [1.90, 1.98]`; with one block, of which no interval can be made, that is said instead.
pub fn ratio(estimate: &Estimate) -> String {
    if estimate.blocks < 2 {
        return format!("{}x (1 block, no interval)", figure(estimate.value));
    }
    interval(estimate.value, estimate.low, estimate.high)
}

/// A ratio with given ends.
pub fn interval(value: f64, low: f64, high: f64) -> String {
    format!("{}x [{}, {}]", figure(value), figure(low), figure(high))
}

/// A ratio with what may be said of it: whether a difference is shown, and whether it is conclusive.
pub fn judged(estimate: &Estimate) -> String {
    let mut text = ratio(estimate);
    if !estimate.effect {
        text += reason(estimate);
    }
    if !estimate.conclusive && estimate.blocks >= 2 {
        // That there is an effect is decided; how large it is, is not.
        let word = if estimate.effect { "size only within" } else { "inconclusive" };
        text += &format!(", {word} ±{}", percent(estimate.half_width()));
    }
    text
}

fn reason(estimate: &Estimate) -> &'static str {
    not_shown((estimate.low, estimate.high), (estimate.holm_low, estimate.holm_high))
}

/// That no difference is shown, and why where the interval alone would show one; of what is no effect, by
/// its own interval and Holm's.
pub fn not_shown(own: (f64, f64), holm: (f64, f64)) -> &'static str {
    let leaves_out_1 = |(low, high): (f64, f64)| low > 1.0 || high < 1.0;
    if leaves_out_1(holm) {
        ", no difference shown (within the noise floor)"
    } else if leaves_out_1(own) {
        ", no difference shown (not after adjusting for all comparisons)"
    } else {
        ", no difference shown"
    }
}

/// `+57% [52, 62]`, or that no difference is shown, of a ratio's distance from 1.
pub fn change(estimate: &Estimate) -> String {
    if estimate.blocks < 2 {
        return format!("{} (1 block, no interval)", signed_percent(estimate.value - 1.0));
    }
    let reason = if estimate.effect { "" } else { reason(estimate) };
    if estimate.value >= 3.0 {
        // Beyond that a factor is read more easily than hundreds of percent.
        return format!("{}{reason}", ratio(estimate));
    }
    let decimals = usize::from((estimate.value - 1.0).abs() < 0.1);
    let end = |ratio: f64| plain(100.0 * (ratio - 1.0), decimals);
    let value = signed_percent(estimate.value - 1.0);
    format!("{value} [{}, {}]{reason}", end(estimate.low), end(estimate.high))
}

/// `±` figures and shares: two significant digits below 10%, whole above.
pub fn percent(share: f64) -> String {
    let value = 100.0 * share;
    format!("{}%", plain(value, usize::from(value.abs() < 9.95)))
}

fn signed_percent(share: f64) -> String {
    let sign = if share >= 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(share))
}

/// From here on a number is written with an exponent: a sentence has no room for 300 digits.
const LONG: f64 = 1e9;

/// Below this a number is written with an exponent: 0.000 says nothing of it.
const SMALL: f64 = 1e-4;

/// A number with so many decimals and never as `-0`.
fn plain(value: f64, decimals: usize) -> String {
    if value.is_finite() && value.abs() >= LONG {
        return format!("{value:.2e}");
    }
    let text = format!("{value:.decimals$}");
    if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') {
        text.trim_start_matches('-').to_owned()
    } else {
        text
    }
}

/// A ratio's digits: hundredths, tenths from 10 on, thousandths below 0.1, and what would be 0.000 with an
/// exponent.
pub fn figure(value: f64) -> String {
    if value > 0.0 && value < SMALL {
        return format!("{value:.1e}");
    }
    let decimals = if value >= 9.995 {
        1
    } else if value < 0.0995 {
        3
    } else {
        2
    };
    plain(value, decimals)
}

/// `one`, `two`, … `twelve`, then digits.
pub fn count(number: u32) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    WORDS.get(number as usize).map_or_else(|| number.to_string(), |word| (*word).to_owned())
}

/// The same with a capital.
pub fn count_capital(number: u32) -> String {
    capital(&count(number))
}

/// A text with a capital at its start.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `1 block`, `8 blocks`.
pub fn plural(number: u32, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

/// A treatment's name without its group's suffix: `same-core` of `same-core/l2`. Names that a study
/// file gives have no `/`.
pub fn bare(name: &str) -> &str {
    name.split_once('/').map_or(name, |(bare, _)| bare)
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
pub fn shortened(lines: &[String]) -> String {
    shortened_of(lines, lines.len())
}

/// The first few, and how many more of `total`.
pub fn shortened_of(lines: &[String], total: usize) -> String {
    let shown = lines[..lines.len().min(MAX_LISTED)].join("; ");
    match total.saturating_sub(MAX_LISTED) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

/// Where the data of a group lies (`inside L2`), or its levels as they are (`(shared=true)`).
pub fn group_words(study: &Study, group: &str) -> String {
    levels(group)
        .map(|level| data_words(study, group, level).unwrap_or_else(|| format!("({level})")))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The levels of a group, such as `data=l2`.
pub fn levels(group: &str) -> impl Iterator<Item = &str> {
    group.split(',').map(str::trim).filter(|level| !level.is_empty())
}

/// Where data lies under a level of `data`; `None` for levels of other factors.
pub fn data_words(study: &Study, group: &str, level: &str) -> Option<String> {
    Some(match level.strip_prefix("data=")? {
        "l2" => "inside L2".to_owned(),
        "llc" => "inside the LLC".to_owned(),
        "memory" => "beyond the LLC".to_owned(),
        "large" => format!("with {} a session", data_size(study, group)),
        other => format!("({other})"),
    })
}

/// Data of one session of a group: its blocks of 4,096 bytes.
fn data_size(study: &Study, group: &str) -> String {
    let treatment = study.treatments.iter().find(|treatment| treatment.group == group);
    match treatment.and_then(|treatment| treatment.options.get("blocks")) {
        Some(OptionValue::Integer(blocks)) if *blocks >= 256 => format!("{} MiB", blocks / 256),
        Some(OptionValue::Integer(blocks)) => format!("{} KiB", blocks * 4),
        _ => "data of unknown size".to_owned(),
    }
}

/// One text per group, each with its group's name where there is more than one group.
pub fn by_group(facts: &Facts<'_>, text: impl Fn(&str) -> Option<String>) -> Option<String> {
    let groups = facts.study.groups();
    let place = |group: &str| if groups.len() < 2 { String::new() } else { group_words(facts.study, group) };
    let parts: Vec<String> = groups
        .iter()
        .filter_map(|group| Some(format!("{} {}", text(group)?, place(group)).trim_end().to_owned()))
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// `31.2 [30.1, 32.3]`: three significant digits of the mean, and as many decimals at its ends.
pub fn number(value: &Interval) -> String {
    scaled(value, 1.0, "")
}

/// `12.3 s [12.1, 12.5]`.
pub fn seconds(elapsed: &Interval) -> String {
    scaled(elapsed, 1e9, " s")
}

/// An interval in a unit, with as many decimals as its mean has in three digits.
pub fn scaled(value: &Interval, unit: f64, words: &str) -> String {
    let parts = [value.mean, value.low, value.high].map(|part| part / unit);
    let is_plain = parts[0] == 0.0 || (SMALL..LONG).contains(&parts[0].abs());
    let decimals = decimals(parts[0]);
    let [mean, low, high] = parts.map(|part| match is_plain && part.abs() < LONG {
        true => format!("{part:.decimals$}"),
        false => format!("{part:.2e}"),
    });
    match value.high.is_finite() {
        true => format!("{mean}{words} [{low}, {high}]"),
        false => format!("{mean}{words} (1 block, no interval)"),
    }
}

/// Decimals of three significant digits; none for a longer whole number.
fn decimals(value: f64) -> usize {
    // The exponent after rounding: 9.996 has three digits as 10.0.
    let rounded = format!("{value:.2e}");
    let exponent: i32 = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    (2 - exponent).clamp(0, 9) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::estimate;

    #[test]
    fn ratios_and_what_may_be_said_of_them() {
        let shown = estimate("x", 1.94, 1.90, 1.98);
        assert_eq!(judged(&shown), "1.94x [1.90, 1.98]");
        let none = Estimate { effect: false, ..estimate("x", 1.01, 0.99, 1.03) };
        assert_eq!(judged(&none), "1.01x [0.99, 1.03], no difference shown");
        let floor = Estimate { effect: false, ..estimate("x", 1.02, 1.01, 1.03) };
        assert_eq!(judged(&floor), "1.02x [1.01, 1.03], no difference shown (within the noise floor)");
        let adjusted = Estimate { holm_low: 0.99, holm_high: 1.05, ..floor.clone() };
        assert!(judged(&adjusted).ends_with("(not after adjusting for all comparisons)"));
        let tail = Estimate { value: 2.89, low: 1.14, high: 7.32, ..adjusted.clone() };
        let reason = "no difference shown (not after adjusting for all comparisons)";
        assert_eq!(change(&tail), format!("+189% [14, 632], {reason}"));
        assert_eq!(change(&Estimate { value: 3.5, ..tail }), format!("3.50x [1.14, 7.32], {reason}"));
        assert!(change(&floor).ends_with("no difference shown (within the noise floor)"));
        let wide = Estimate { conclusive: false, ..estimate("x", 1.2, 1.1, 1.309) };
        assert_eq!(judged(&wide), "1.20x [1.10, 1.31], size only within ±9.1%");
        let open = Estimate { effect: false, ..wide };
        assert_eq!(
            judged(&open),
            "1.20x [1.10, 1.31], no difference shown (within the noise floor), inconclusive ±9.1%"
        );
        let one = Estimate { blocks: 1, ..estimate("x", 12.34, 0.0, f64::INFINITY) };
        assert_eq!(ratio(&one), "12.3x (1 block, no interval)");
        assert_eq!(interval(0.05, 0.041, 0.06), "0.050x [0.041, 0.060]");
    }

    #[test]
    fn huge_and_tiny_numbers_have_an_exponent() {
        let interval = |mean: f64| Interval { mean, low: mean * 0.5, high: mean * 1.5, unit: "1".to_owned() };
        assert_eq!(number(&interval(1e300)), "1.00e300 [5.00e299, 1.50e300]");
        assert_eq!(number(&interval(2e-12)), "2.00e-12 [1.00e-12, 3.00e-12]");
        assert_eq!(number(&interval(1_234_000.0)), "1234000 [617000, 1851000]");
        assert_eq!(number(&interval(0.0)), "0.00 [0.00, 0.00]");
        assert_eq!([figure(1e300), figure(3e-9), figure(0.041)], ["1.00e300", "3.0e-9", "0.041"]);
        assert_eq!(percent(1e300), "1.00e302%");
        assert!(change(&estimate("x", 2.5, 1.1, 1e200)).len() < 30);
    }

    #[test]
    fn changes_and_percentages() {
        assert_eq!(change(&estimate("x", 1.6, 1.52, 1.69)), "+60% [52, 69]");
        assert_eq!(change(&estimate("x", 0.98, 0.97, 0.99)), "-2.0% [-3.0, -1.0]");
        let none = Estimate { effect: false, ..estimate("x", 1.0001, 0.99, 1.01) };
        assert_eq!(change(&none), "+0.0% [-1.0, 1.0], no difference shown");
        assert_eq!(
            (percent(0.011).as_str(), percent(0.22).as_str(), percent(-0.0001).as_str()),
            ("1.1%", "22%", "0.0%")
        );
    }

    #[test]
    fn counts_and_lists() {
        assert_eq!(
            (count(2).as_str(), count(13).as_str(), count_capital(3).as_str()),
            ("two", "13", "Three")
        );
        assert_eq!((plural(1, "block").as_str(), plural(8, "block").as_str()), ("1 block", "8 blocks"));
        let parts = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        assert_eq!(
            (list(&parts).as_str(), list(&parts[..2]).as_str(), list(&[]).as_str()),
            ("a, b and c", "a and b", "")
        );
    }
}
