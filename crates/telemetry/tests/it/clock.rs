//! Clock figures of recorded counter series against what was worked out by hand beside them.
#![allow(clippy::unwrap_used)]

use threadwise_telemetry::perf::turbostat::{Clocks, Counts, clocks, growth};

const SERIES: &str = include_str!("../fixtures/clock/series.txt");

#[derive(Debug, Default)]
struct Case {
    name: String,
    before: Counts,
    after: Counts,
    elapsed_ns: u64,
    expected: [Option<f64>; 4],
    gap: Option<String>,
}

fn number<T: std::str::FromStr>(word: &str) -> Option<T> {
    (word != "-").then(|| word.parse().ok().unwrap_or_else(|| panic!("{word} is no number")))
}

fn counts(words: &[&str]) -> Counts {
    Counts { aperf: number(words[0]), mperf: number(words[1]), tsc: number(words[2]) }
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in SERIES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (key, rest) = line.split_once(' ').unwrap();
        let words: Vec<&str> = rest.split(' ').collect();
        if key == "case" {
            cases.push(Case { name: rest.to_owned(), ..Case::default() });
            continue;
        }
        let case = cases.last_mut().unwrap();
        match key {
            "before" => case.before = counts(&words),
            "after" => {
                case.after = counts(&words);
                case.elapsed_ns = number(words[3]).unwrap();
            }
            "expect" => case.expected = std::array::from_fn(|at| number(words[at])),
            "gap" => case.gap = Some(rest.to_owned()),
            _ => panic!("unknown key {key}"),
        }
    }
    cases
}

fn figures(case: &Case) -> Clocks {
    match growth(&case.before, &case.after) {
        Ok(grown) => clocks(&grown, case.elapsed_ns),
        Err(why) => Clocks { gap: Some(why), ..Clocks::default() },
    }
}

#[test]
fn figures_are_turbostats() {
    let cases = cases();
    assert_eq!(cases.len(), 12);
    for case in cases {
        let got = figures(&case);
        let figures = [got.avg_mhz, got.busy_pct, got.bzy_mhz, got.tsc_mhz];
        for (got, expected) in figures.iter().zip(case.expected) {
            let near = match (got, expected) {
                (Some(got), Some(expected)) => (got - expected).abs() <= 1e-9 * expected,
                (got, expected) => got.is_none() && expected.is_none(),
            };
            assert!(near, "{}: {figures:?} where {:?} was worked out", case.name, case.expected);
        }
        let words = case.gap.as_deref();
        assert_eq!(got.gap.is_some(), words.is_some(), "{}: {:?}", case.name, got.gap);
        assert!(words.is_none_or(|words| got.gap.unwrap().contains(words)), "{}", case.name);
    }
}
