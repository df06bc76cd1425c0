//! Several studies side by side: one row a comparison, one column a study.
//!
//! Only ratios stand side by side. A row is a different amount of work in each engine, so rows per
//! second of two engines are no comparison of anything; the ratio of an engine to itself is.

pub mod aspects;
pub mod card;
pub mod change;
mod differs;
mod document;
pub mod quantity;
pub mod rates;

pub use document::{document, foot, made};

use crate::estimate::first_reason;
use crate::groups::bare;
use crate::{Analysis, Estimate};
use std::collections::BTreeSet;
use threadwise_machine::Topology;
use threadwise_study::{Study, Treatment};

/// One study as it was analysed.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// What was asked.
    pub study: &'a Study,
    /// Where.
    pub topology: &'a Topology,
    /// What came out.
    pub analysis: &'a Analysis,
}

/// The table.
#[derive(Debug, Clone, PartialEq)]
pub struct SideBySide<'a> {
    /// Comparisons by name, in order of first appearance.
    pub rows: Vec<Row<'a>>,
    /// What keeps the studies from being alike, one line each.
    pub cautions: Vec<String>,
}

/// One comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'a> {
    /// Its name, the same in every study that has it.
    pub name: &'a str,
    /// What its ratios are of: throughput, or a quantity of commands.
    pub metric: &'a str,
    /// One per study, in their order.
    pub cells: Vec<Cell<'a>>,
}

/// What one study says of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// Its ratio.
    Ratio {
        /// The estimate.
        estimate: &'a Estimate,
        /// Whether A/A of its group is an alarm.
        alarm: bool,
    },
    /// There is none; why.
    Lacks(String),
}

/// Puts the ratios of throughput of several studies side by side; of commands those of every quantity.
pub fn side_by_side<'a>(sides: &[Side<'a>]) -> SideBySide<'a> {
    // A comparison's name with the treatment on top, which tells why another study lacks it.
    let mut names: Vec<(&'a str, &'a str, &'a str)> = Vec::new();
    // Headlines first: studies may have different ones.
    let most = sides.iter().map(|side| side.metrics().len()).max().unwrap_or(0);
    for rank in 0..most {
        for side in sides {
            let metrics = side.metrics();
            let Some(&metric) = metrics.get(rank) else { continue };
            for comparison in &side.study.comparisons {
                if !names.iter().any(|(known, shown, _)| *known == comparison.name && *shown == metric) {
                    names.push((&comparison.name, metric, &comparison.treatment));
                }
            }
        }
    }
    let rows = names.iter().map(|&(name, metric, treatment)| Row {
        name,
        metric,
        cells: sides.iter().map(|side| cell(side, name, metric, treatment)).collect(),
    });
    SideBySide { rows: rows.collect(), cautions: cautions(sides) }
}

impl<'a> Side<'a> {
    /// What its ratios are of, the headline first.
    fn metrics(&self) -> Vec<&'a str> {
        match &self.analysis.commands {
            Some(commands) => commands.quantities.iter().map(|quantity| quantity.metric.as_str()).collect(),
            None => vec![self.analysis.headline()],
        }
    }
}

fn cell<'a>(side: &Side<'a>, name: &str, metric: &str, treatment: &str) -> Cell<'a> {
    let analysis = side.analysis;
    let mut estimates = analysis.estimates.iter().filter(|estimate| estimate.metric == metric);
    match estimates.find(|estimate| estimate.name == name) {
        Some(estimate) => Cell::Ratio { estimate, alarm: has_alarm(side, estimate) },
        None => {
            Cell::Lacks(why_no_metric(side, name, metric).unwrap_or_else(|| why_not(side, name, treatment)))
        }
    }
}

/// Why a study that has the comparison has no ratio of this metric.
fn why_no_metric(side: &Side<'_>, name: &str, metric: &str) -> Option<String> {
    if !side.metrics().contains(&metric) {
        return Some("not measured".to_owned());
    }
    let gap = side.analysis.commands.as_ref()?.gap(name, metric)?;
    Some(format!("no ratio: {}", gap.reason))
}

fn has_alarm(side: &Side<'_>, estimate: &Estimate) -> bool {
    let group = side.study.treatment(&estimate.treatment).map_or("", |(_, treatment)| &treatment.group);
    side.analysis.floor(group, &estimate.metric).is_some_and(|floor| floor.alarm.is_some())
}

/// Why a study has no such ratio: its machine lacks something, its runs do not count, or it was not
/// asked.
fn why_not(side: &Side<'_>, name: &str, treatment: &str) -> String {
    if let Some(comparison) = side.study.comparisons.iter().find(|comparison| comparison.name == name) {
        let sides = std::iter::once(&comparison.treatment).chain(&comparison.baseline);
        let reasons = sides.filter_map(|side_name| {
            let (_, treatment) = side.study.treatment(side_name)?;
            first_reason(&side.analysis.excluded_blocks, side_name, &treatment.group)
        });
        return reasons.map(str::to_owned).next().unwrap_or_else(|| "no usable run".to_owned());
    }
    let lines = side.study.left_out.iter().filter_map(|line| line.split_once(':'));
    let mut reasons = lines.filter(|(what, _)| [treatment, bare(treatment)].contains(what));
    reasons.next().map_or_else(|| "not asked".to_owned(), |(_, why)| why.trim().to_owned())
}

/// What a reader must know before taking two columns for the same thing.
fn cautions<'a>(sides: &[Side<'a>]) -> Vec<String> {
    let Some((first, rest)) = sides.split_first() else { return Vec::new() };
    let differ = |same: &dyn Fn(&Side<'a>) -> bool| !rest.iter().all(same);
    let mut lines = Vec::new();
    if sides.iter().any(|side| side.study.is_simulated()) {
        lines.push("some figures come from a model, not from a machine".to_owned());
    }
    if differ(&|side| side.study.workload == first.study.workload) {
        lines.push("the workloads differ: a ratio belongs to its own".to_owned());
    }
    let machine = |side: &Side<'a>| {
        let identity = &side.topology.identity;
        (identity.cpu_model.clone(), identity.hypervisor.clone(), side.topology.cores.len())
    };
    if differ(&|side| machine(side) == machine(first) && side.topology.allowed() == first.topology.allowed())
    {
        lines.push("the machines differ, or the logical CPUs that were allowed".to_owned());
    }
    let known = &first.study.treatments;
    let both = |side: &Side<'a>| {
        let study = side.study;
        known.iter().filter_map(move |one| Some((one, study.treatment(&one.name)?.1)))
    };
    let placed = |(one, other): (&Treatment, &Treatment)| {
        (one.placement.as_str(), one.sessions, one.pin)
            == (other.placement.as_str(), other.sessions, other.pin)
    };
    if differ(&|side| both(side).all(placed)) {
        lines.push("treatments of the same name have different placements or sessions".to_owned());
    }
    let options: BTreeSet<&str> =
        rest.iter().flat_map(both).flat_map(|(one, other)| unlike(one, other)).collect();
    if !options.is_empty() {
        let names: Vec<&str> = options.into_iter().collect();
        lines.push(format!("treatments of the same name have other values of {}", names.join(", ")));
    }
    lines
}

/// Names of the options that two treatments have different values of.
fn unlike<'a>(one: &'a Treatment, other: &'a Treatment) -> impl Iterator<Item = &'a str> {
    let names = one.options.keys().chain(other.options.keys());
    names.filter(|name| one.options.get(*name) != other.options.get(*name)).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse_on;
    use crate::fixtures::{machine, run, study};
    use threadwise_study::engine::Properties;
    use threadwise_study::{OptionValue, Run, RunStatus};

    fn runs(ratios: &[(&str, u64)]) -> Vec<Run> {
        let one = |block: u32| {
            let all = [("A", 100_000), ("A'", 100_000)].into_iter().chain(ratios.iter().copied());
            // Each wobbles on its own.
            all.zip(0u32..).map(move |((name, rows), at)| {
                let rows = rows + u64::from((block * 7 + at * 5) % 9) * rows / 2000;
                run(block, name, &[rows])
            })
        };
        (0..8).flat_map(|block| one(block).collect::<Vec<_>>()).collect()
    }

    #[test]
    fn rows_are_matched_by_name_and_gaps_have_reasons() {
        let topology = machine(1, 2, 1);
        let one = study(&[""], &["P same-package 2", "O one-cpu 2"]);
        let mut two = study(&[""], &["O one-cpu 2", "X cross-package 2"]);
        two.left_out = vec!["P: no second core".to_owned()];
        let first = analyse_on(&one, None, &runs(&[("P", 190_000), ("O", 100_010)]), 1.0);
        let mut failed = runs(&[("O", 50_000), ("X", 1)]);
        for run in failed.iter_mut().filter(|run| run.treatment == "X") {
            run.status = RunStatus::Failed { kind: "crash".to_owned(), message: "gone".to_owned() };
        }
        let mut second = analyse_on(&two, None, &failed, 1.0);
        second.noise_floors[0].alarm = Some(crate::estimate::Alarm::Wide);
        let sides = [
            Side { study: &one, topology: &topology, analysis: &first },
            Side { study: &two, topology: &topology, analysis: &second },
        ];
        let table = side_by_side(&sides);
        let names: Vec<&str> = table.rows.iter().map(|row| row.name).collect();
        assert_eq!(names, ["P : A+A'", "O : A+A'", "X : A+A'"]);
        let ratio = |row: usize, column: usize| match &table.rows[row].cells[column] {
            Cell::Ratio { estimate, alarm } => (format!("{:.2}", estimate.ratio.value), *alarm),
            Cell::Lacks(why) => (why.clone(), false),
        };
        assert_eq!(ratio(0, 0), ("1.90".to_owned(), false));
        assert_eq!(ratio(0, 1), ("no second core".to_owned(), false));
        assert_eq!(ratio(1, 0), ("1.00".to_owned(), false));
        assert_eq!(ratio(1, 1), ("0.50".to_owned(), true));
        assert_eq!(ratio(2, 0), ("not asked".to_owned(), false));
        assert_eq!(ratio(2, 1), ("crash: gone".to_owned(), false));
        assert_eq!(table.cautions, Vec::<String>::new());
    }

    #[test]
    fn what_differs_is_said() {
        let (small, large) = (machine(1, 2, 1), machine(1, 4, 1));
        let one = study(&[""], &["P same-package 2"]);
        let mut two = one.clone();
        (two.workload, two.engine) = ("insert".to_owned(), "simulated".to_owned());
        two.engine_properties = Some(Properties { simulated: true, ..Properties::default() });
        two.treatments[2].sessions = 3;
        two.treatments[0].options.insert("loop".to_owned(), OptionValue::Text("server".to_owned()));
        let analysis = analyse_on(&one, None, &[], 1.0);
        let sides = [
            Side { study: &one, topology: &small, analysis: &analysis },
            Side { study: &two, topology: &large, analysis: &analysis },
        ];
        let table = side_by_side(&sides);
        assert_eq!(table.rows[0].cells, [(); 2].map(|()| Cell::Lacks("no usable run".to_owned())));
        assert_eq!(table.cautions.len(), 5, "{:?}", table.cautions);
        assert!(table.cautions[4].ends_with("other values of loop"));
        assert_eq!(side_by_side(&[]).rows, []);
    }

    #[test]
    fn a_document_has_a_column_a_study_and_a_reason_for_each_gap() {
        use threadwise_document::{Block, Cell};
        let topology = machine(1, 2, 1);
        let one = study(&[""], &["P same-package 2", "O one-cpu 2"]);
        let mut two = one.clone();
        two.workload = "insert".to_owned();
        let mut measured = analyse_on(&one, None, &runs(&[("P", 190_000), ("O", 100_010)]), 1.0);
        measured.noise_floors[0].alarm = Some(crate::estimate::Alarm::Different);
        let nothing = analyse_on(&two, None, &[], 1.0);
        let facts =
            [crate::Facts::new(&one, &topology, &measured), crate::Facts::new(&two, &topology, &nothing)];
        let made = document(&facts, "1.0");
        assert_eq!(made.title, "Ratios of rows/s side by side");
        let cautions: Vec<String> = made.verdict.iter().map(crate::Finding::text).collect();
        assert_eq!(cautions, ["Mind: the workloads differ: a ratio belongs to its own."]);
        let Block::Table(table) = &made.section("ratios").unwrap().blocks[0] else { panic!("no table") };
        let rows: Vec<&Vec<Cell>> = table.cells().collect();
        assert_eq!((rows.len(), &rows[0][0]), (2, &Cell::text("P : A+A'")));
        let is_ratio = |cell: &Cell| matches!(cell, Cell::Ratio(ratio, _) if ratio.value > 1.8);
        let Cell::Both(ratio, alarm) = &rows[0][1] else { panic!("{:?}", rows[0]) };
        assert!(is_ratio(ratio) && **alarm == Cell::text("~"), "{:?}", rows[0]);
        assert_eq!(rows[0][2], Cell::Gap("no usable run".to_owned()));
        assert_eq!(
            document(&[], "1.0").section("ratios").unwrap().blocks.len(),
            2,
            "that there is none, and the foot"
        );
    }
}
