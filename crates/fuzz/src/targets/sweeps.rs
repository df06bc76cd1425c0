//! Sweeps as tables of comma-separated values, fitted by a scaling law.

use crate::random::Grammar;
use crate::target::{Target, one_line};
use threadwise_analysis::Interval;
use threadwise_analysis::scaling_law::table::{self, TableError};
use threadwise_analysis::scaling_law::{Draws, Outcome, ScalingLaw, Shape, laws};

/// Number of resamplings: enough for interval ends, few enough for thousands of inputs.
const REPLICATES: usize = 20;

/// Longer tables are read but not fitted.
const MOST_FITTED: usize = 60;

/// Heads of tables and their rows; N stands for a number as people and programs write it.
const TABLES: [[&str; 2]; 7] = [
    ["sessions,throughput", "[1-9][0-9]?,N"],
    ["sessions,throughput,clock", "[1-9][0-9]?,N,N"],
    ["sessions,throughput,series", "[1-9][0-9]?,N,[abc]"],
    ["sessions,throughput,cores,threads_per_core", "[1-9][0-9]?,N,16,2"],
    ["sessions,throughput,cores,threads_per_core,clock,series", "[1-9][0-9]?,N,6,1,N,[abc]"],
    ["cores,threads_per_core,throughput", "[1-9][0-9]?,[1-8],N"],
    ["cores,threads_per_core,throughput,clock,series", "[1-9][0-9]?,[1-8],N,N,[abc]"],
];
const NUMBER: &str = r"([1-9][0-9]{0,2}\.[0-9]{3}|0\.[0-9]{2}[1-9]|[1-9]\.[0-9]{2}e[0-3])";
const ODD: &str = "(0|-1|NaN|inf|1e308|5e-324|1e-300||1_000)";

/// The target.
pub fn make() -> Target {
    let table = |[head, row]: [&str; 2]| {
        let rows = |number| row.replace('N', number);
        format!("{head}\n({}\n){{0,12}}(|||{}\n)", rows(NUMBER), rows(ODD))
    };
    let grammar = Grammar::new(&TABLES.map(table).join("|"));
    Target::texts(50, 3, move |random| random.matching(&grammar), judge)
}

fn judge(text: &str) -> bool {
    let series = match table::read(text) {
        Ok(series) => series,
        Err(error) => {
            one_line(&error);
            // The header line was parsed.
            return matches!(error, TableError::Number { .. } | TableError::Empty | TableError::Long);
        }
    };
    if series.iter().map(|one| one.points.len()).sum::<usize>() > MOST_FITTED {
        return true;
    }
    let shapes = [[2, 16], [1, 32]].map(|[packages, cores]| Shape { packages, cores, threads: 2 });
    let found = laws(&series, &shapes, Draws { count: REPLICATES, ..Draws::usual(1) });
    assert_eq!(found.len(), series.len(), "a series without a result");
    for one in &found {
        match &one.outcome {
            Outcome::Gap(why) => assert!(!why.is_empty(), "no law and no reason"),
            Outcome::Law(law) => in_order(law),
        }
    }
    true
}

/// A law has consistent figures.
fn in_order(law: &ScalingLaw) {
    let ordered = |name: &str, value: &Interval| {
        let is_so = value.low <= value.mean && value.mean <= value.high;
        assert!(is_so, "{name}: {} [{}, {}]", value.mean, value.low, value.high);
    };
    law.rate_per_s.iter().for_each(|rate| ordered("rate", rate));
    for cost in [&law.sigma, &law.kappa].into_iter().flatten() {
        ordered("sigma or kappa", cost);
        assert!(cost.low >= 0.0, "a cost below 0");
    }
    law.yields.iter().for_each(|one| ordered("yield", &one.known));
    law.curve.iter().for_each(|one| ordered("curve", &one.known));
    if let Some(turns) = &law.turns {
        ordered("knee", &turns.knee);
        ordered("peak", &turns.peak);
        let most = turns.logical_cpus.map_or(f64::INFINITY, f64::from);
        assert!(turns.peak.high <= most && turns.knee.low >= 1.0, "a turning point off the curve");
    }
    for one in &law.predictions {
        assert_ne!(one.rate_per_s.is_some(), one.gap.is_some(), "a prediction and a gap, or neither");
        one.rate_per_s.iter().for_each(|rate| ordered("prediction", rate));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn most_tables_are_read_and_every_law_is_in_order() {
        let mut target = make();
        let mut past = 0;
        for number in 0..400 {
            let input = (target.input)(&mut Random::of(1, number));
            past += u32::from((target.judge)(&input));
        }
        // Fewer than half are a finding of the fuzzer's own.
        assert!(past > 250, "{past} of 400 were tables");
    }
}
