//! Several studies side by side as a document: a table of the studies, and one of their ratios.

use super::aspects::aspects;
use super::rates::{RateRow, Rates, rates};
use super::{Cell as Found, Row, Side, SideBySide, differs, side_by_side};
use crate::kind::COMPARABLE;
use crate::words::finding;
use crate::{Facts, Ratio, kinds};
use threadwise_document::{Block, Cell, Column, Document, Finding, Mark, Prose, Says, Section, Shown, Table};
use threadwise_document::{numbers, prose};

/// Stands behind a ratio of whose baseline A/A is an alarm.
const ALARM: &str = "~";

/// The report of several studies, each with its file as [`Facts::source`].
pub fn document(studies: &[Facts<'_>], program_version: &str) -> Document {
    let table = made(studies);
    let caution = |line: &String| finding("caution", prose!("Mind: {}.", line), &[]);
    let mut verdict: Vec<Finding> = table.cautions.iter().map(caution).collect();
    let aspects = aspects(studies);
    let rates = rates(studies, &aspects, None).ok().filter(|rates| !rates.rows.is_empty());
    if rates.as_ref().is_some_and(|rates| rates.no_ratios.is_none()) {
        verdict.push(finding("change", CANNOT_TELL, &[]));
    }
    let foot = Block::Text(foot(studies).into(), Shown::Everywhere);
    let ratios = match table.rows.is_empty() {
        true => vec![Block::Text("No comparison in any of them.".into(), Shown::Everywhere)],
        false => [vec![Block::Table(ratios(studies, &table.rows))], legend()].concat(),
    };
    Document {
        title: format!("Ratios of {} side by side", unit(studies)),
        simulated: studies.iter().any(Facts::is_simulated),
        verdict,
        sections: [
            Some(Section::new("studies", "Studies", vec![Block::Table(about(studies))])),
            (studies.len() > 1).then(|| differs::section(&aspects, &columns(studies.len()))),
            rates.map(|rates| Section::new("rates", "Rates", side_by_side_rates(&rates))),
            Some(Section::new("ratios", "Ratios", ratios.into_iter().chain([foot]).collect())),
        ]
        .into_iter()
        .flatten()
        .collect(),
        footer: format!("threadwise {program_version}"),
        ..Document::default()
    }
}

/// What one study of each cannot say.
const CANNOT_TELL: &str = "One study each cannot show whether anything changed: studies of one machine differ by 1 to 3% \
     from hour to hour more than their own intervals say. Three and more a side can tell.";

/// A column for each study.
fn columns(studies: usize) -> Vec<(String, Vec<usize>)> {
    (0..studies).map(|at| ((at + 1).to_string(), vec![at])).collect()
}

/// Rates of every treatment, and the ratios to the first study.
fn side_by_side_rates(rates: &Rates<'_>) -> Vec<Block> {
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
    let columns = std::iter::once(Column::text(rates.quantity.name.clone())).chain(figures).chain(ratios);
    let margin = numbers::set_percent(rates.margin);
    let text = match rates.no_ratios {
        None => prose!(
            "Ratios to study 1 are unpaired, made from the blocks of both studies at {}. Each study is one boot at one time: its \
             hour is in the ratio and not in the interval. Margin {}.",
            numbers::set_percent(rates.level),
            margin
        ),
        Some(why) => prose!("No ratios of rates: {}.", why),
    };
    let table = Table::new("", columns.collect(), rates.rows.iter().map(row));
    vec![Block::Table(table), Block::Text(text, Shown::Everywhere)]
}

/// The ratios of several studies, row by row.
pub fn made<'a>(studies: &[Facts<'a>]) -> SideBySide<'a> {
    let sides = studies.iter().map(|facts| Side {
        study: facts.study,
        topology: facts.topology,
        analysis: facts.analysis,
    });
    side_by_side(&sides.collect::<Vec<_>>())
}

/// What may be compared, and what may not: what all kinds have in common.
pub fn foot(studies: &[Facts<'_>]) -> &'static str {
    let mut all: Vec<&str> = studies.iter().map(|facts| kinds::of(facts.study).comparable()).collect();
    all.dedup();
    if let [same] = all.as_slice() { same } else { COMPARABLE }
}

/// Whether any study is one of commands, whose rows name what their ratios are of.
fn any_runs(studies: &[Facts<'_>]) -> bool {
    studies.iter().any(|facts| facts.study.runs_whole())
}

/// What the ratios are of: the unit that all studies have in common.
fn unit(studies: &[Facts<'_>]) -> &'static str {
    if !studies.is_empty() && studies.iter().all(|facts| facts.study.runs_whole()) {
        return "commands";
    }
    let mut units: Vec<&str> =
        studies.iter().map(|facts| kinds::of(facts.study).nouns(facts.study).rate).collect();
    units.dedup();
    match units.as_slice() {
        [] => "rows/s",
        [one] => one,
        _ => "throughput",
    }
}

/// The studies by number.
fn about(studies: &[Facts<'_>]) -> Table {
    let rows = (1..).zip(studies).map(|(number, facts): (u64, _)| {
        let simulated = if facts.is_simulated() { "SIMULATED, " } else { "" };
        let engine = format!("{simulated}{} {}", facts.study.engine, facts.engine_version);
        let floor = facts.widest_floor().map(|floor| floor.floor.exp_m1()).filter(|floor| floor.is_finite());
        vec![
            Cell::Count(number),
            Cell::text(engine.trim()),
            Cell::text(&facts.study.workload),
            Cell::text(facts.source),
            Cell::Count(facts.analysis.blocks.into()),
            Cell::Text(floor.map_or("unknown".to_owned(), |floor| format!("±{}", numbers::percent(floor)))),
        ]
    });
    let texts = ["", "engine", "workload", "result file"].map(Column::text);
    let figures = ["blocks", "noise floor"].map(Column::figure);
    Table::new("", texts.into_iter().chain(figures).collect(), rows)
}

/// A row a comparison, a column a study.
fn ratios(studies: &[Facts<'_>], rows: &[Row<'_>]) -> Table {
    let any_runs = any_runs(studies);
    let says = if any_runs { Says::Better } else { Says::Higher };
    let cell = |found: &Found<'_>| match found {
        Found::Lacks(why) => Cell::Gap(why.clone()),
        Found::Ratio { estimate, alarm } => {
            let ratio = Cell::Ratio(estimate.ratio.clone(), says);
            match alarm {
                true => Cell::Both(Box::new(ratio), Box::new(Cell::text(ALARM))),
                false => ratio,
            }
        }
    };
    let lines = rows.iter().map(|row| {
        let name = match any_runs {
            true => format!("{} ({})", row.name, quantity(studies, row)),
            false => row.name.to_owned(),
        };
        std::iter::once(Cell::Text(name)).chain(row.cells.iter().map(cell)).collect()
    });
    let numbers = (1..=studies.len()).map(|number| Column::text(number.to_string()).shorten_at(1));
    let columns = std::iter::once(Column::text("comparison")).chain(numbers).collect();
    Table::new("", columns, lines)
}

/// What a row's ratios are of.
fn quantity<'a>(studies: &[Facts<'a>], row: &Row<'_>) -> &'a str {
    let mut all = studies.iter().filter_map(|facts| facts.analysis.commands.as_ref());
    all.find_map(|runs| runs.quantity(row.metric)).map_or("throughput", |quantity| &quantity.name)
}

/// What the signs mean; the page has words for those of ratios.
fn legend() -> Vec<Block> {
    let sign: Prose = format!("{ALARM} A/A alarm").into();
    let signs = Mark::ALL.into_iter().map(Prose::sign).chain([sign.clone()]);
    vec![Block::Legend(signs.collect(), Shown::Terminal), Block::Legend(vec![sign], Shown::Page)]
}
