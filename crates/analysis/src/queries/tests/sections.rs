//! What a report shows of queries: the sections, and that none of their tables and charts is out of step.

use super::*;
use crate::{Facts, document};
use threadwise_document::{Block, Cell, Chart, Document, Row, Section, Shown, Table};

/// What a study shows; every row of every table has a cell for each column.
fn shown(study: &Study, topology: &Topology, analysis: &Analysis) -> Document {
    let document = document(&Facts::new(study, topology, analysis));
    for table in document.sections.iter().flat_map(tables) {
        for row in &table.rows {
            let Row::Cells(cells) = row else { continue };
            assert_eq!(cells.len(), table.columns.len(), "{table:#?}");
        }
    }
    document
}

/// Damaged runs too are shown without a cell that is missing.
pub fn assert_shown(study: &Study, topology: &Topology, analysis: &Analysis) {
    shown(study, topology, analysis);
}

fn tables(section: &Section) -> Vec<&Table> {
    fn held(block: &Block) -> Vec<&Table> {
        match block {
            Block::Table(table) => vec![table],
            Block::Figure(figure) => vec![&figure.table],
            Block::Fold(fold) => fold.tables.iter().collect(),
            _ => Vec::new(),
        }
    }
    section.blocks.iter().flat_map(held).collect()
}

/// A table's rows as text, by names of columns.
fn column<'a>(table: &'a Table, name: &str) -> Vec<&'a Cell> {
    let at = table.columns.iter().position(|column| column.name == name).unwrap();
    table.cells().map(|cells| &cells[at]).collect()
}

fn ids(document: &Document) -> Vec<&str> {
    document.sections.iter().map(|section| section.id).collect()
}

/// Three queries under two DOPs; Q3 of the higher one has another plan.
fn two_dops() -> (Study, Analysis) {
    let study = study_of("1-3", &["d2 no-smt 1 2", "d4 no-smt 1 4"]);
    let runs = power(&study, 8, |name, query, block| {
        let speed = if name == "d4" { 3.0 } else { 1.5 };
        let mut one = took(query, 100.0 / speed * noise(block, name, query, 0.002));
        if (name, query) == ("d4", 3) {
            one.plan = Some("AGGREGATE q3\n  INDEX_SCAN lineitem".to_owned());
        }
        one
    });
    let analysis = look(&study, Some(&machine(1, 4, 1)), &runs);
    (study, analysis)
}

#[test]
fn what_answers_the_question_comes_first() {
    let (study, analysis) = two_dops();
    let document = shown(&study, &machine(1, 4, 1), &analysis);
    let first = ["table", "comparison", "queries", "steps", "heat", "plans"];
    assert_eq!(ids(&document)[..6], first, "{:?}", ids(&document));
    assert_eq!(document.title, "test (3 of the 22 queries)");
    let floor = document.facts.iter().find(|fact| fact.name == "noise floor of totals").unwrap();
    assert_eq!(floor.note, "A' against A (noise)");

    let table = tables(&document.sections[0]).into_iter().find(|table| table.columns.len() > 9).unwrap();
    let ratios = column(table, "ratio of totals");
    assert_eq!(ratios[0], &Cell::text("baseline"));
    assert!(matches!(ratios[1], Cell::BareRatio(_)), "noise is not judged: {:?}", ratios[1]);
    let Cell::Ratio(ratio, _) = ratios[3] else { panic!("{:?}", ratios[3]) };
    assert!(ratio.is_different() && (ratio.value - 2.0).abs() < 0.05, "{ratio:?}");
    assert_eq!(column(table, "plans")[3], &Cell::Count(1));
}

#[test]
fn with_little_room_the_highest_dop_stays() {
    let (study, analysis) = two_dops();
    let document = shown(&study, &machine(1, 4, 1), &analysis);
    let section = document.section("queries").unwrap();
    let table = tables(section)[0];
    let steps: Vec<(&str, u8)> =
        table.columns.iter().map(|column| (column.name.as_str(), column.narrow.drop_at)).collect();
    assert_eq!(steps, [("query", 0), ("baseline", 3), ("d2", 2), ("d4", 0)]);
    assert_eq!(table.shown, Shown::Everywhere);
    assert!(matches!(column(table, "d4")[2], Cell::Both(_, sign) if **sign == Cell::text("P")));
    let Block::Figure(figure) = &section.blocks[0] else { panic!("{section:#?}") };
    let Chart::Bars(chart) = &figure.chart else { panic!("{figure:#?}") };
    let changed: Vec<u8> = chart.panels[1].bars.iter().map(|bar| bar.5).collect();
    assert_eq!((chart.panels.len(), changed), (2, vec![0, 0, 1]));
    // A fold for the baseline, which has both its runs, and for each treatment.
    assert_eq!(section.blocks.iter().filter(|block| matches!(block, Block::Fold(_))).count(), 3);
}

#[test]
fn other_plans_stand_side_by_side() {
    let (study, analysis) = two_dops();
    let document = shown(&study, &machine(1, 4, 1), &analysis);
    let section = document.section("plans").unwrap();
    let fold = section.blocks.iter().find_map(|block| match block {
        Block::Fold(fold) => Some(fold),
        _ => None,
    });
    let fold = fold.unwrap();
    assert_eq!(fold.title, "Q3 · d4 · INDEX_SCAN lineitem instead of SCAN lineitem");
    let texts: Vec<[&str; 2]> =
        fold.sides[0].rows.iter().map(|[left, other]| [left.text.as_str(), other.text.as_str()]).collect();
    assert_eq!(
        texts,
        [["  AGGREGATE q3", "  AGGREGATE q3"], ["−   SCAN lineitem", "+   INDEX_SCAN lineitem"]]
    );
}

#[test]
fn without_runs_there_is_nothing_to_draw() {
    let study = study_of("1-2", &["T no-smt 1 2"]);
    let topology = machine(1, 2, 1);
    let document = shown(&study, &topology, &look(&study, Some(&topology), &[]));
    for id in ["steps", "heat", "core-seconds", "plans", "outliers"] {
        assert!(document.section(id).is_none(), "{id}: {:?}", ids(&document));
    }
}
