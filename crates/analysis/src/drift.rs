//! Drift of the baseline: its rate block by block, and the levels between which it changed.
//!
//! A block counts as one number, the mean of the logarithms of A's and A′'s rates: it starts new workers, on cores that
//! it draws, so rounds within it cannot distinguish a change of the machine from one of the block. Changes are those of
//! `statistics::change_points`; docs/METHODOLOGY.md, "Drift of the baseline". They explain spread; nothing is dropped.

use crate::estimate::sides::members;
use crate::estimate::{Observed, ObservedBlock};
use crate::setting::Setting;
use crate::words::{MAX_LISTED, finding};
use crate::{Facts, Finding, FindingKind, Interval};
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_document::chart::LevelChart;
use threadwise_document::{Block, Cell, Chart, Class, Column, Figure, Prose, Shown, Table, numbers, prose};
use threadwise_statistics::change_points::{MIN_VALUES, Reference, change_points, levels};
use threadwise_study::workload::Nouns;
use threadwise_study::{Role, Run};

/// Drift of a group's baseline.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Drift {
    /// Group.
    pub group: String,
    /// Treatment name of the baseline.
    pub baseline: String,
    /// Its rate in each usable block, in their order.
    pub blocks: Vec<BlockRate>,
    /// Its levels: one if no change is shown.
    pub levels: Vec<Level>,
    /// Why no change is looked for.
    pub gap: Option<String>,
}

/// The baseline's rate in a block.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct BlockRate {
    /// Its number.
    pub block: u32,
    /// Start of the baseline's first slice, seconds since the start of the study.
    pub start_s: f64,
    /// Rows per second, geometric mean of the baseline's and its twin's.
    pub rows_per_s: f64,
}

/// Blocks of one level.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Level {
    /// First block.
    pub first_block: u32,
    /// Last block.
    pub last_block: u32,
    /// Start of the first block, seconds since the start of the study.
    pub start_s: f64,
    /// Geometric mean of the blocks' rates.
    pub rows_per_s: Interval,
    /// Ratio to the level before, with an interval that allows for the choice of the block; `None` for the first.
    pub change: Option<Interval>,
    /// p of the test of no change in the stretch of blocks where it was found.
    pub p: Option<f64>,
}

impl Drift {
    /// Levels that differ from the one before.
    fn changes(&self) -> impl Iterator<Item = (&Level, &Level, &Interval)> {
        self.levels.windows(2).filter_map(|pair| Some((&pair[0], &pair[1], pair[1].change.as_ref()?)))
    }
}

/// Drift of each group's baseline, in study order; a group without a usable block is left out. Over all groups, at most
/// alpha of the studies without a change report one.
pub(crate) fn drifts(setting: &Setting<'_>, observed: &Observed, runs: &[Run]) -> Vec<Drift> {
    let study = setting.study;
    // At a rate throughput is what arrives.
    if study.is_at_a_rate() {
        return Vec::new();
    }
    let alpha = setting.alpha / observed.groups.len().max(1) as f64;
    let mut reference = Reference::default();
    let of_group = |group: &String| {
        let first = |role| members(study, group, role).into_iter().next();
        let base = first(Role::Baseline)?;
        let sides: Vec<usize> = [Some(base), first(Role::BaselineTwin)].into_iter().flatten().collect();
        let blocks: Vec<BlockRate> =
            observed.blocks.iter().filter_map(|block| rate(observed, block, &sides, runs)).collect();
        let logs: Vec<f64> = blocks.iter().map(|block| block.rows_per_s.ln()).collect();
        let found = change_points(&logs, alpha, &mut reference);
        let all = levels(&logs, &found, setting.alpha)?;
        let changes = found.iter().zip(all.steps).map(Some);
        let levels =
            all.levels.iter().zip(std::iter::once(None).chain(changes)).map(|((range, log), change)| Level {
                first_block: blocks[range.start].block,
                last_block: blocks[range.end - 1].block,
                start_s: blocks[range.start].start_s,
                rows_per_s: log.each(f64::exp, "1/s"),
                p: change.as_ref().map(|(found, _)| found.p),
                change: change.map(|(_, step)| step.exp()),
            });
        Some(Drift {
            group: group.clone(),
            baseline: study.treatments[base].name.clone(),
            levels: levels.collect(),
            gap: (blocks.len() < MIN_VALUES).then(|| format!("fewer than {MIN_VALUES} blocks")),
            blocks,
        })
    };
    observed.groups.iter().filter_map(of_group).collect()
}

/// The rate of a block in which all of these treatments are usable and have rows.
fn rate(observed: &Observed, block: &ObservedBlock, sides: &[usize], runs: &[Run]) -> Option<BlockRate> {
    let log = |at: &usize| Some(observed.usable(block, *at)?.work().rows_per_s()?.ln());
    let logs: Vec<f64> = sides.iter().map(log).collect::<Option<_>>()?;
    let starts = sides.iter().filter_map(|at| runs.get(block.sources[*at]?));
    let start_ns = starts.flat_map(|run| &run.slices).map(|slice| slice.start_ns).min()?;
    let rows_per_s = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    let rate = BlockRate { block: block.number, start_s: start_ns as f64 / 1e9, rows_per_s };
    (rows_per_s.is_finite() && rows_per_s > 0.0).then_some(rate)
}

fn drifts_of<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Drift> {
    facts.analysis.get::<Vec<Drift>>().into_iter().flatten()
}

/// Changes of the baseline's rate, if any is shown.
pub(crate) fn finding_of(facts: &Facts<'_>) -> Option<Finding> {
    let changed: Vec<&Drift> = drifts_of(facts).filter(|drift| drift.changes().next().is_some()).collect();
    let evidence: Vec<&str> = changed.iter().map(|drift| drift.baseline.as_str()).collect();
    let sentences = Prose::join(changed.iter().map(|drift| sentence(facts, drift)), "; ");
    let within = if facts.study.runs_whole() { "blocks" } else { "rounds" };
    let text = prose!(
        "Drift: {}. Ratios are taken within {}, so they are valid; rates are means over its levels.",
        sentences,
        within
    );
    (!changed.is_empty()).then(|| finding(FindingKind::Drift, text, &evidence))
}

/// `the baseline's rate fell in block 23, 4.2 min after the start, from 12.3 M/s [12.1, 12.5] to 11.6 M/s [11.4, 11.8]
/// (-5.4% [-7.2, -3.6])`.
fn sentence(facts: &Facts<'_>, drift: &Drift) -> Prose {
    let group = facts.group_words(&drift.group);
    let place = if group.is_empty() { String::new() } else { format!(" {group}") };
    let clauses = drift.changes().take(MAX_LISTED).map(|(before, after, change)| {
        prose!(
            "{} in block {}, {} after the start, from {} to {} ({} {})",
            if change.mean > 1.0 { "rose" } else { "fell" },
            after.first_block as usize,
            Prose::figure(numbers::seconds(after.start_s)),
            &before.rows_per_s,
            &after.rows_per_s,
            Prose::figure(numbers::change(change.mean)),
            Prose::of(Class::Interval, numbers::change_ends(change.low, change.high, change.mean))
        )
    });
    let mut text = prose!("the baseline's rate{} {}", place, Prose::join(clauses, ", and "));
    if let more @ 1.. = drift.changes().count().saturating_sub(MAX_LISTED) {
        text.push(prose!(", and {} more", numbers::counted(more, "time")));
    }
    text
}

/// The rate over time with its levels as steps: one figure for each group whose baseline has several blocks.
pub(crate) fn figures(facts: &Facts<'_>) -> Vec<Block> {
    let nouns = &facts.study.nouns();
    let several = drifts_of(facts).filter(|drift| drift.blocks.len() > 1);
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
    let (why, shown) = match (&drift.gap, drift.levels.len() > 1) {
        (Some(gap), _) => (format!("no change is looked for: {gap}"), Shown::Page),
        (None, false) => ("no change of its level is shown".to_owned(), Shown::Page),
        (None, true) => ("steps are levels that differ".to_owned(), Shown::Everywhere),
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
    let blocks = |level: &&Level| match level.first_block == level.last_block {
        true => Cell::Text(level.first_block.to_string()),
        false => Cell::Text(format!("{} to {}", level.first_block, level.last_block)),
    };
    let change = |change: &Interval| {
        let ends = numbers::change_ends(change.low, change.high, change.mean);
        Cell::Text(format!("{} {ends}", numbers::change(change.mean)))
    };
    Table::of(
        title,
        &drift.levels,
        &[
            (Column::text("blocks"), &blocks),
            (Column::figure("from"), &|level| Cell::value(level.start_s * 1e9, "ns")),
            (Column::figure(nouns.rate), &|level| Cell::Interval(level.rows_per_s.clone())),
            (Column::figure("to the level before"), &|level| {
                level.change.as_ref().map_or_else(Cell::none, change)
            }),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{machine, run, study};
    use crate::{Analysis, analyse, plain_verdict};
    use threadwise_study::Run;

    fn of(analysis: &Analysis) -> &[Drift] {
        analysis.get::<Vec<Drift>>().unwrap()
    }

    /// Twelve blocks of a second each, every slice with so many rows by block and treatment.
    fn runs(rows: impl Fn(u32, &str) -> u64) -> Vec<Run> {
        let mut all: Vec<Run> = (0..12)
            .flat_map(|block| ["A", "A'", "T"].map(|name| run(block, name, &[rows(block, name); 4])))
            .collect();
        for run in &mut all {
            let block = u64::from(run.block);
            run.slices.iter_mut().for_each(|slice| slice.start_ns = 1_000_000_000 * (5 + 2 * block));
        }
        all
    }

    /// All slow down by a tenth in block 7; blocks differ by at most 0.2%.
    fn slower(block: u32, name: &str) -> u64 {
        let noise = u64::from((block * 7 + name.len() as u32 * 3) % 5);
        (if block < 7 { 1_000_000 } else { 900_000 }) + 500 * noise
    }

    #[test]
    fn a_change_is_named_with_its_time_and_its_rates() {
        let study = study(&[""], &["T same-package 2"]);
        let analysis = analyse(&study, &runs(slower), 1.0);
        let drift = &of(&analysis)[0];
        let [_, level] = drift.levels.as_slice() else { panic!("{drift:?}") };
        assert_eq!((level.first_block, level.start_s, drift.blocks.len()), (7, 19.0, 12));
        let change = level.change.as_ref().unwrap();
        assert!(change.low < 0.9 && change.high > 0.9 && change.high < 0.91, "{change:?}");
        assert_eq!((drift.levels[0].last_block, drift.levels[1].first_block), (6, 7));
        let verdict = plain_verdict(&study, &machine(1, 2, 1), &analysis);
        let line =
            verdict.iter().find(|finding| finding.kind == FindingKind::Drift).unwrap().line.to_string();
        assert!(
            line.starts_with("Drift: the baseline's rate fell in block 7, 19.0 s after the start, from "),
            "{line}"
        );
        assert!(line.contains(" (-10% [") && line.ends_with("rates are means over its levels."), "{line}");
    }

    #[test]
    fn nothing_is_said_of_a_rate_that_stays() {
        let study = study(&[""], &["T same-package 2"]);
        // The treatment alone slows down, and the baseline in one block.
        let rows = |block: u32, name: &str| match (name, block) {
            ("T", _) => slower(block, name),
            (_, 4) => 800_000,
            _ => slower(0, name) + 500 * u64::from(block * 3 % 5),
        };
        let analysis = analyse(&study, &runs(rows), 1.0);
        assert_eq!(of(&analysis)[0].levels.len(), 1);
        let few: Vec<Run> = runs(slower).into_iter().filter(|run| run.block > 4).collect();
        let analysis = analyse(&study, &few, 1.0);
        assert_eq!(of(&analysis)[0].gap.as_deref(), Some("fewer than 8 blocks"));
        assert!(of(&analyse(&study, &[], 1.0)).is_empty());
    }

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
        let blocks = figures(&facts);
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
