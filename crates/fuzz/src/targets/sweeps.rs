//! Sweeps as tables of comma-separated values, fitted by a scaling law.

use crate::random::Random;
use crate::target::{Judged, Target, hold, one_line};
use threadwise_analysis::Interval;
use threadwise_analysis::scaling_law::table::{self, TableError};
use threadwise_analysis::scaling_law::{Draws, Outcome, ScalingLaw, SeriesLaw, Shape, laws};

/// Number of resamplings: enough for interval ends, few enough for thousands of inputs.
const REPLICATES: usize = 20;

/// Longer tables are read but not fitted.
const MOST_FITTED: usize = 60;

/// The target.
pub fn make() -> Result<Target, String> {
    Ok(Target::texts(50, 3, csv, judge))
}

/// A number as people and programs write it, including odd ones.
fn number(random: &mut Random) -> String {
    let value = random.below(1_000_000) as f64 / 997.0 + 0.001;
    match random.below(120) {
        0..10 => format!("{value:e}"),
        10 => (*random.pick(&["0", "-1", "NaN", "inf", "1e308", "5e-324", "1e-300", "", "1_000"])).to_owned(),
        _ => format!("{value:.3}"),
    }
}

fn csv(random: &mut Random) -> String {
    let by_shape = random.percent(30);
    let mut columns = match by_shape {
        true => vec!["cores", "threads_per_core", "throughput"],
        false if random.percent(60) => vec!["sessions", "throughput", "cores", "threads_per_core"],
        false => vec!["sessions", "throughput"],
    };
    columns.extend(random.percent(30).then_some("clock"));
    columns.extend(random.percent(30).then_some("series"));
    let mut text = columns.join(",") + "\n";
    let machine = (1 + random.below(64), 1 + random.below(8));
    for _ in 0..random.below(14) {
        let cells: Vec<String> = columns
            .iter()
            .map(|column| match *column {
                "cores" if !by_shape => machine.0.to_string(),
                "threads_per_core" if !by_shape => machine.1.to_string(),
                "cores" | "sessions" => (1 + random.below(70)).to_string(),
                "threads_per_core" => (1 + random.below(8)).to_string(),
                "series" => (*random.pick(&["a", "b", "c"])).to_owned(),
                _ => number(random),
            })
            .collect();
        text.push_str(&(cells.join(",") + "\n"));
    }
    text
}

fn judge(text: &str) -> Judged {
    let series = match table::read(text) {
        Ok(series) => series,
        Err(error) => {
            one_line(&error.to_string())?;
            // The header line was parsed.
            return Ok(matches!(error, TableError::Number { .. } | TableError::Empty | TableError::Long));
        }
    };
    if series.iter().map(|one| one.points.len()).sum::<usize>() > MOST_FITTED {
        return Ok(true);
    }
    let shapes = [[2, 16], [1, 32]].map(|[packages, cores]| Shape { packages, cores, threads: 2 });
    let found = laws(&series, &shapes, Draws { count: REPLICATES, ..Draws::usual(1) });
    hold(found.len() == series.len(), || "a series without a result".to_owned())?;
    found.iter().try_for_each(answered)?;
    Ok(true)
}

/// A law with consistent figures, or a reason.
fn answered(one: &SeriesLaw) -> Result<(), String> {
    match &one.outcome {
        Outcome::Gap(why) => hold(!why.is_empty(), || "no law and no reason".to_owned()),
        Outcome::Law(law) => in_order(law),
    }
}

fn in_order(law: &ScalingLaw) -> Result<(), String> {
    let ordered = |name: &str, value: &Interval| {
        let is_so = value.low <= value.mean && value.mean <= value.high;
        hold(is_so, || format!("{name}: {} [{}, {}]", value.mean, value.low, value.high))
    };
    law.rate_per_s.iter().try_for_each(|rate| ordered("rate", rate))?;
    let costs = [("sigma", &law.sigma), ("kappa", &law.kappa)].into_iter();
    for (name, cost) in costs.filter_map(|(name, cost)| Some((name, cost.as_ref()?))) {
        ordered(name, cost)?;
        hold(cost.low >= 0.0, || format!("{name} below 0"))?;
    }
    law.yields.iter().try_for_each(|one| ordered("yield", &one.known))?;
    law.curve.iter().try_for_each(|one| ordered("curve", &one.known))?;
    if let Some(turns) = &law.turns {
        ordered("knee", &turns.knee)?;
        ordered("peak", &turns.peak)?;
        let most = turns.logical_cpus.map_or(f64::INFINITY, f64::from);
        hold(turns.peak.high <= most && turns.knee.low >= 1.0, || {
            "a turning point off the curve".to_owned()
        })?;
    }
    for one in &law.predictions {
        hold(one.rate_per_s.is_some() != one.gap.is_some(), || {
            "a prediction and a gap, or neither".to_owned()
        })?;
        one.rate_per_s.iter().try_for_each(|rate| ordered("prediction", rate))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_tables_are_read_and_every_law_is_in_order() {
        let mut target = make().unwrap();
        let mut past = 0;
        for number in 0..400 {
            let input = (target.input)(&mut Random::of(1, number));
            let judged = (target.judge)(&input);
            assert!(judged.is_ok(), "{judged:?}: {}", String::from_utf8_lossy(&input));
            past += u32::from(judged.unwrap());
        }
        // Fewer than half are a finding of the fuzzer's own.
        assert!(past > 250, "{past} of 400 were tables");
    }
}
