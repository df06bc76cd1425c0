//! The baseline's rate over time, with its levels as steps.

use crate::Facts;
use crate::drift::Drift;
use crate::workload::Nouns;
use threadwise_document::chart::LevelChart;
use threadwise_document::{Block, Cell, Chart, Column, Figure, Shown, Table, numbers};

/// A figure for each group whose baseline has several blocks.
pub fn figures(facts: &Facts<'_>, nouns: &Nouns) -> Vec<Block> {
    let several = facts.analysis.drift.iter().filter(|drift| drift.blocks.len() > 1);
    several.map(|drift| figure(facts, nouns, drift)).collect()
}

fn figure(facts: &Facts<'_>, nouns: &Nouns, drift: &Drift) -> Block {
    let ends = drift.levels.iter().skip(1).map(|level| level.start_s);
    let last_s = drift.blocks.last().map_or(0.0, |block| block.start_s);
    let levels = drift.levels.iter().zip(ends.chain([last_s])).map(|(level, end_s)| {
        let rate = &level.rows_per_s;
        let end = |end: f64| end.is_finite().then_some(end);
        (level.start_s, end_s, rate.mean, end(rate.low), end(rate.high))
    });
    let points = drift.blocks.iter().map(|block| (block.start_s, block.rows_per_s, block.block));
    let (why, shown) = match (&drift.gap, drift.changes.is_empty()) {
        (Some(gap), _) => (format!("no change is looked for: {gap}"), Shown::Page),
        (None, true) => ("no change of its level is shown".to_owned(), Shown::Page),
        (None, false) => ("steps are levels that differ".to_owned(), Shown::Everywhere),
    };
    let title = facts.titled("Rate of the baseline over time", &drift.group);
    Block::Figure(Box::new(Figure {
        wide: true,
        title: title.clone(),
        description: format!(
            "{} of each block, mean of the baseline and its twin; {why}.",
            nouns.rate_in_full
        ),
        table: table(drift, nouns, title).shown(shown),
        chart: Chart::Levels(LevelChart {
            group: drift.group.clone(),
            unit: nouns.rate,
            points: points.collect(),
            levels: levels.collect(),
        }),
    }))
}

/// Level by level.
fn table(drift: &Drift, nouns: &Nouns, title: String) -> Table {
    let changes = std::iter::once(None).chain(drift.changes.iter().map(Some));
    let rows = drift.levels.iter().zip(changes).map(|(level, change)| {
        let blocks = match level.first_block == level.last_block {
            true => level.first_block.to_string(),
            false => format!("{} to {}", level.first_block, level.last_block),
        };
        let change = change.map_or_else(Cell::none, |change| {
            let ends = numbers::change_ends(change.low, change.high, change.value);
            Cell::text(format!("{} {ends}", numbers::change(change.value)))
        });
        vec![
            Cell::Text(blocks),
            Cell::Value { value: level.start_s * 1e9, unit: "ns" },
            Cell::interval(Some(&level.rows_per_s)),
            change,
        ]
    });
    let columns = vec![
        Column::text("blocks"),
        Column::figure("from"),
        Column::figure(nouns.rate),
        Column::figure("to the level before"),
    ];
    Table::new(title, columns, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::fixtures::{machine, run, study};
    use crate::kinds;
    use threadwise_study::Run;

    #[test]
    fn two_levels_are_two_steps_and_two_rows_on_every_medium() {
        let study = study(&[""], &["T same-package 2"]);
        let rows =
            |block: u32| 1_000_000 * if block < 6 { 10 } else { 8 } + u64::from(block * 7 % 5) * 10_000;
        let slow = |block: u32| {
            let mut runs = ["A", "A'", "T"].map(|name| run(block, name, &[rows(block); 4]));
            let start_ns = 3_000_000_000 * u64::from(block);
            runs.iter_mut().flat_map(|run| &mut run.slices).for_each(|slice| slice.start_ns = start_ns);
            runs
        };
        let runs: Vec<Run> = (0..12).flat_map(slow).collect();
        let (topology, analysis) = (machine(1, 2, 1), analyse(&study, &runs, 1.0));
        let facts = Facts::new(&study, &topology, &analysis);
        let blocks = figures(&facts, &kinds::of(&study).nouns(&study));
        let [Block::Figure(figure)] = blocks.as_slice() else { panic!("{blocks:?}") };
        let Chart::Levels(chart) = &figure.chart else { panic!("{figure:?}") };
        assert_eq!(
            chart.levels.iter().map(|level| (level.0, level.1)).collect::<Vec<_>>(),
            [(0.0, 18.0), (18.0, 33.0)]
        );
        assert_eq!((chart.points.len(), figure.table.rows.len()), (12, 2));
        assert!(
            figure.table.shown.on_terminal() && figure.description.ends_with("steps are levels that differ.")
        );
        let last: Vec<&Cell> = figure.table.cells().last().unwrap().iter().collect();
        assert_eq!(last[0], &Cell::text("6 to 11"));
        assert!(matches!(last[3], Cell::Text(change) if change.starts_with("-20% [")), "{last:?}");
    }
}
