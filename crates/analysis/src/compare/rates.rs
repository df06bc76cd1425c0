//! The figures by which several studies are compared: a rate, or another figure that a treatment has in every block;
//! rates of several studies side by side, and the ratio of each study to the first.
//!
//! A study's mean is that of its blocks' logarithms, and its standard error that of the interval in the study's report
//! (Student's t over blocks, docs/METHODOLOGY.md).
//!
//! Each study is one boot at one time, so a ratio of two is unpaired: Welch's t (Biometrika 34, 1947) of the means over
//! the blocks of both. It holds for these two hours. Studies of one machine differ by 1 to 3% from hour to hour more
//! than that interval says, so no change is claimed (docs/METHODOLOGY.md, "Did it change?").

use super::aspects::{Aspect, apart, machines_differ, once};
use crate::commands::direction;
use crate::estimate::{Rule, THROUGHPUT, judge};
use crate::{Direction, Facts, Interval, Ratio, UNTIL_LEVEL_SHARE};
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_document::{Block, Cell, Column, Section, Table, numbers, prose};
use threadwise_statistics::{MeanEstimate, t_quantile, welch_of};
use threadwise_study::{Stopping, Study};

/// A figure of a treatment.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Quantity {
    /// Its metric's name, as in the JSON of a report: `rows_per_s`, `latency_ns_p99`.
    pub metric: String,
    /// Its name in words: `rows/s`.
    pub name: String,
    /// Which side is better.
    pub direction: Direction,
}

/// The figures that studies of sessions can be compared by, with their names in words and what is better.
const OF_SESSIONS: [(&str, &str, Direction); 6] = [
    (THROUGHPUT, "throughput", Direction::HigherIsBetter),
    ("rows_per_s_per_session", "throughput per session", Direction::HigherIsBetter),
    ("cpu_ns_per_row", "CPU time per row", Direction::LowerIsBetter),
    ("latency_ns_p50", "latency p50", Direction::LowerIsBetter),
    ("latency_ns_p99", "latency p99", Direction::LowerIsBetter),
    ("latency_ns_p99_of_slices", "latency p99 of slices", Direction::LowerIsBetter),
];

/// The first of them for studies of loads at a rate.
const HEADLINE_AT_A_RATE: &str = "latency_ns_p99";

impl Quantity {
    /// All figures that a study can be compared by, its headline first.
    pub fn all(facts: &Facts<'_>) -> Vec<Self> {
        if let Some(commands) = &facts.analysis.commands {
            let one = |quantity: &crate::commands::Quantity| Self {
                metric: quantity.metric.clone(),
                name: quantity.name.clone(),
                direction: direction(quantity.better),
            };
            return commands.quantities.iter().map(one).collect();
        }
        let rate = facts.study.nouns().rate;
        let one = |(metric, name, direction): (&str, &str, Direction)| Self {
            metric: metric.to_owned(),
            name: if metric == THROUGHPUT { rate } else { name }.to_owned(),
            direction,
        };
        let mut all = OF_SESSIONS.map(one);
        if facts.study.is_at_a_rate() {
            // What is done is what comes in: its latency is what can differ.
            all.sort_by_key(|quantity| quantity.metric != HEADLINE_AT_A_RATE);
        }
        all.to_vec()
    }

    /// The named figure; without a name the headline (throughput, or that of a command). `None` if the study does not
    /// have it.
    pub fn of(facts: &Facts<'_>, metric: Option<&str>) -> Option<Self> {
        let mut all = Self::all(facts).into_iter();
        match metric {
            Some(metric) => all.find(|one| one.metric == metric),
            None => all.next(),
        }
    }

    /// The figure of a treatment with its interval over blocks; `None` if the study has none.
    pub fn interval<'a>(&self, facts: &Facts<'a>, treatment: &str) -> Option<&'a Interval> {
        let interval = facts.summary(treatment)?.metrics.get(&self.metric)?;
        (interval.mean > 0.0 && interval.mean.is_finite()).then_some(interval)
    }

    /// The mean of its logarithm over the blocks of a study.
    ///
    /// Degenerate cases: one block has an infinite standard error.
    pub fn mean(&self, facts: &Facts<'_>, treatment: &str) -> Option<MeanEstimate> {
        let interval = self.interval(facts, treatment)?;
        let blocks = facts.summary(treatment)?.runs as usize;
        let (mean, degrees) = (interval.mean.ln(), blocks.saturating_sub(1) as f64);
        let t = t_quantile(1.0 - alpha(facts.study) / 2.0, degrees).filter(|_| interval.has_ends());
        let (n, standard_error, degrees) = match t {
            Some(t) => (blocks, (interval.high / interval.mean).ln() / t, degrees),
            None => (1, f64::INFINITY, 0.0),
        };
        Some(MeanEstimate { n, mean, standard_error, correlation: 0.0, degrees })
    }
}

/// 1 less the level of the intervals of a study's treatments.
pub fn alpha(study: &Study) -> f64 {
    let share = match study.design.stopping {
        Stopping::Until { .. } => UNTIL_LEVEL_SHARE,
        Stopping::Budget { .. } | Stopping::Blocks { .. } => 1.0,
    };
    (1.0 - study.design.level) * share
}

/// How ratios of several studies are judged: by the largest margin, at the highest level.
pub(super) fn rule(studies: &[Facts<'_>], direction: Direction) -> Rule {
    let margin = studies.iter().map(|facts| facts.study.design.margin).fold(0.0, f64::max);
    let alpha = studies.iter().map(|facts| alpha(facts.study)).fold(1.0, f64::min);
    Rule { margin, alpha, direction }
}

/// Rates of several studies.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Rates<'a> {
    /// Their quantity.
    pub quantity: Quantity,
    /// One per treatment that two studies have, in the order of the first study.
    pub rows: Vec<RateRow<'a>>,
    /// Margin, as a fraction: the largest of the studies.
    pub margin: f64,
    /// Level of the intervals of the ratios.
    pub level: f64,
    /// Why there are no ratios; `None` if there are.
    pub no_ratios: Option<&'static str>,
}

/// One treatment.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct RateRow<'a> {
    /// Its name.
    pub treatment: &'a str,
    /// Its rate in each study, with the interval over that study's blocks; `None` if the study has none.
    pub rates: Vec<Option<&'a Interval>>,
    /// Ratio of each later study to the first, from the blocks of both; `None` if one of them has no rate, or the
    /// treatment differs.
    #[serde(rename = "ratios_to_first")]
    pub ratios: Vec<Option<Ratio>>,
}

/// The rates of studies of one engine, workload and quantity.
///
/// # Errors
/// Why there are none.
pub fn rates<'a>(studies: &[Facts<'a>], aspects: &[Aspect]) -> Result<Rates<'a>, String> {
    let (first, rest) = studies.split_first().filter(|(_, rest)| !rest.is_empty()).ok_or("one study")?;
    let quantity = Quantity::of(first, None).ok_or("the first study has no headline")?;
    if rest.iter().any(|facts| Quantity::of(facts, None).as_ref() != Some(&quantity)) {
        return Err("the studies are of different quantities".to_owned());
    }
    if rest.iter().any(|facts| facts.study.engine != first.study.engine) {
        return Err("a row is a different amount of work in each engine".to_owned());
    }
    if rest.iter().any(|facts| facts.study.workload != first.study.workload) {
        return Err("the workloads differ".to_owned());
    }
    let rule = rule(studies, quantity.direction);
    let is_over_boots = studies.iter().any(|facts| facts.study.external.is_some());
    let no_ratios = machines_differ(aspects).then_some("the machines differ");
    let no_ratios = no_ratios.or(is_over_boots.then_some("a study is over boots"));
    let rows = once(first.study).filter_map(|treatment| {
        let name = treatment.name.as_str();
        let rates: Vec<_> = studies.iter().map(|facts| quantity.interval(facts, name)).collect();
        let is_in_two = rates.iter().flatten().count() >= 2;
        let ratio = |facts| ratio(first, facts, name, &quantity, rule).filter(|_| no_ratios.is_none());
        let ratios = rest.iter().map(ratio).collect();
        is_in_two.then_some(RateRow { treatment: name, rates, ratios })
    });
    let (margin, level) = (rule.margin, 1.0 - rule.alpha);
    Ok(Rates { rows: rows.collect(), quantity, margin, level, no_ratios })
}

/// The ratio of a treatment in a study to the first study, from the blocks of both.
fn ratio(first: &Facts<'_>, other: &Facts<'_>, name: &str, quantity: &Quantity, rule: Rule) -> Option<Ratio> {
    let is_alike = apart(first.study.treatment(name)?.1, other.study.treatment(name)?.1).is_empty();
    let (below, top) = (quantity.mean(first, name)?, quantity.mean(other, name)?);
    judge(&[(welch_of(&top, &below), None)], rule).pop().filter(|_| is_alike)
}

/// Rates of every treatment, and the ratios to the first study.
pub(super) fn section(rates: &Rates<'_>) -> Section {
    let studies = rates.rows.first().map_or(0, |row| row.rates.len());
    let with_ratios = rates.no_ratios.is_none();
    let row = |row: &RateRow<'_>| {
        let figures = row.rates.iter().map(|rate| Cell::interval(*rate));
        let ratio = |ratio: &Option<Ratio>| ratio.clone().map_or_else(Cell::none, Cell::BareRatio);
        let ratios = row.ratios.iter().filter(|_| with_ratios).map(ratio);
        std::iter::once(Cell::text(row.treatment)).chain(figures).chain(ratios).collect()
    };
    let figures = (1..=studies).map(|number| Column::text(number.to_string()).shorten_at(1));
    let ratios = (2..=studies).filter(|_| with_ratios);
    let ratios = ratios.map(|number| Column::text(format!("{number} / 1")).shorten_at(2));
    let columns = std::iter::once(Column::text(&rates.quantity.name)).chain(figures).chain(ratios);
    let table = Table::new("", columns.collect(), rates.rows.iter().map(row));
    let text = match rates.no_ratios {
        None => prose!(
            "Ratios to study 1 are unpaired, made from the blocks of both studies at {}. Each study is one boot at \
             one time: the effect of its hour is in the ratio and not in the interval. Margin {}.",
            numbers::set_percent(rates.level),
            numbers::set_percent(rates.margin)
        ),
        Some(why) => prose!("No ratios of rates: {}.", why),
    };
    Section::new("rates", "Rates", vec![Block::Table(table), Block::text(text)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse_on;
    use crate::compare::aspects::aspects;
    use crate::fixtures::{machine, run, study};
    use threadwise_statistics::welch;
    use threadwise_study::Run;

    /// Blocks of A and P, which wobble by 1%.
    fn runs(rate: f64) -> Vec<Run> {
        let of_block = |block: u32| {
            let wobble = 1.0 + 0.01 * f64::from(block * 5 % 8);
            ["A", "A'", "P"].map(|name| run(block, name, &[(rate * wobble) as u64]))
        };
        (0..8).flat_map(of_block).collect()
    }

    #[test]
    fn two_studies_have_an_unpaired_ratio_from_the_blocks_of_both() {
        let (topology, study) = (machine(1, 2, 1), study(&[""], &["P same-package 2"]));
        let (first, second) =
            (analyse_on(&study, None, &runs(1e6), 1.0), analyse_on(&study, None, &runs(9e5), 1.0));
        let studies = [&first, &second].map(|analysis| Facts::new(&study, &topology, analysis));
        let found = rates(&studies, &aspects(&studies)).unwrap();
        let names: Vec<&str> = found.rows.iter().map(|row| row.treatment).collect();
        assert_eq!((names, found.no_ratios, found.margin), (vec!["A", "P"], None, 0.03));
        let ratio = found.rows[0].ratios[0].as_ref().unwrap();
        let logs = |rate: f64| -> Vec<f64> {
            (0..8u32).map(|block| (rate * (1.0 + 0.01 * f64::from(block * 5 % 8))).floor().ln()).collect()
        };
        let (low, high) = welch(&logs(9e5), &logs(1e6)).unwrap().interval(0.05);
        assert!((ratio.low.ln() - low).abs() < 1e-9 && (ratio.high.ln() - high).abs() < 1e-9, "{ratio:?}");
        assert!((ratio.value - 0.9).abs() < 1e-5);
    }

    #[test]
    fn rates_of_other_machines_have_no_ratio_and_those_of_other_work_are_not_shown() {
        let (small, large) = (machine(1, 2, 1), machine(1, 4, 1));
        let one = study(&[""], &["P same-package 2"]);
        let mut two = one.clone();
        let analysis = analyse_on(&one, None, &runs(1e6), 1.0);
        let of_machines = [Facts::new(&one, &small, &analysis), Facts::new(&two, &large, &analysis)];
        let found = rates(&of_machines, &aspects(&of_machines)).unwrap();
        assert_eq!((found.no_ratios, &found.rows[0].ratios), (Some("the machines differ"), &vec![None]));
        assert!(found.rows[0].rates.iter().all(Option::is_some));
        // A treatment that does something else has no ratio either.
        two.treatments[2].sessions = 3;
        let of_settings = [Facts::new(&one, &small, &analysis), Facts::new(&two, &small, &analysis)];
        let found = rates(&of_settings, &aspects(&of_settings)).unwrap();
        assert!(found.rows[0].ratios[0].is_some() && found.rows[1].ratios[0].is_none());
        two.engine = "other".to_owned();
        let of_engines = [Facts::new(&one, &small, &analysis), Facts::new(&two, &small, &analysis)];
        let why = rates(&of_engines, &aspects(&of_engines)).unwrap_err();
        assert_eq!(why, "a row is a different amount of work in each engine");
        assert_eq!(rates(&of_engines[..1], &[]).unwrap_err(), "one study");
    }

    #[test]
    fn the_mean_of_a_study_is_that_of_its_blocks() {
        let (study, topology) = (study(&[""], &["P same-package 2"]), machine(1, 2, 1));
        let rows = [1000u64, 1010, 990, 1020, 1005, 1000, 995, 1015];
        let runs: Vec<_> = (0..8u32)
            .flat_map(|block| ["A", "A'", "P"].map(|name| run(block, name, &[rows[block as usize]])))
            .collect();
        let analysis = analyse_on(&study, None, &runs, 1.0);
        let facts = Facts::new(&study, &topology, &analysis);
        let quantity = Quantity::of(&facts, None).unwrap();
        assert_eq!((quantity.metric.as_str(), quantity.name.as_str()), ("rows_per_s", "rows/s"));
        let got = quantity.mean(&facts, "P").unwrap();
        let logs = rows.map(|rows| (rows as f64).ln());
        let wanted = MeanEstimate::correlated(&logs, 0.0).unwrap();
        assert!((got.mean - wanted.mean).abs() < 1e-12 && got.degrees == 7.0);
        assert!((got.standard_error / wanted.standard_error - 1.0).abs() < 1e-9);
        // One value against itself: no ratio of two studies has an interval of one block.
        assert_eq!(welch(&logs[..1], &logs).unwrap().n, 1);
        let one_block = analyse_on(&study, None, &runs[..3], 1.0);
        let one_block = Facts::new(&study, &topology, &one_block);
        assert!(quantity.mean(&one_block, "P").unwrap().standard_error.is_infinite());
        assert_eq!((quantity.mean(&facts, "X"), Quantity::of(&facts, Some("speed"))), (None, None));
    }
}
