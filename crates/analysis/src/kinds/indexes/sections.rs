//! Gains under every lock in one table, and one lock against another.

use super::findings::estimate;
use crate::Estimate;
use crate::Facts;
use crate::groups::distinct;
use crate::kind::Kind;
use crate::kinds::rate::sections::comparison;
use crate::lock_gains::{Gain, LockGain, LockGains};
use std::collections::BTreeMap;
use threadwise_document::numbers::set_percent;
use threadwise_document::{Block, Cell, Column, Mark, Prose, Says, Section, Shown, Table, prose};

/// The sections that answer the question.
pub fn answers(facts: &Facts<'_>, kind: &dyn Kind, gains: &LockGains) -> Vec<Section> {
    let about = prose!(
        "Each gain is a ratio of rows a second, A : B the throughput of A over that of B under the same lock."
    );
    let mut legend = vec![prose!("[low, high]: {} interval over blocks.", set_percent(facts.level()))];
    legend.extend(Mark::ALL.map(Prose::sign));
    let blocks = vec![
        Block::Text(about, Shown::Everywhere),
        Block::Table(by_lock(facts, gains)),
        Block::Table(against(gains)),
        Block::Legend(legend, Shown::Terminal),
    ];
    vec![
        Section::new("locks", "Gains by kind of lock", blocks),
        Section::new("comparison", "Placements compared", comparison(facts, kind)),
    ]
}

/// What gains are of, in the study's order: a column each.
fn compared(gains: &LockGains) -> Vec<&str> {
    distinct(gains.gains.iter().map(|gain| gain.of.as_str()))
}

/// A row for each lock under each combination of the other levels, a column for each gain.
fn by_lock(facts: &Facts<'_>, gains: &LockGains) -> Table {
    let ratios = compared(gains);
    let levels: Vec<&BTreeMap<String, String>> = distinct(gains.gains.iter().map(|gain| &gain.levels));
    let locks: Vec<&str> = distinct(gains.gains.iter().map(|gain| gain.lock.as_str()));
    let factors: Vec<&String> = levels.first().map(|first| first.keys().collect()).unwrap_or_default();
    let mut columns: Vec<Column> = factors.iter().map(|factor| Column::text(*factor)).collect();
    columns.push(Column::text("lock"));
    columns.extend(ratios.iter().map(|name| Column::figure(*name).shorten_at(1)));
    let cell = |levels: &BTreeMap<String, String>, lock: &str, name: &str| -> Cell {
        let is_it = |gain: &&Gain| gain.levels == *levels && gain.lock == lock && gain.of == name;
        let gain = gains.gains.iter().find(is_it);
        let found: Option<&Estimate> = gain.and_then(|gain| estimate(facts, &gain.comparison));
        Cell::ratio(found.map(|estimate| &estimate.ratio), Says::Higher)
    };
    let row = |levels: &BTreeMap<String, String>, lock: &str| -> Vec<Cell> {
        let words = levels.values().map(Cell::text);
        let words = words.chain([Cell::text(lock)]);
        words.chain(ratios.iter().map(|name| cell(levels, lock, name))).collect()
    };
    let rows =
        levels.iter().flat_map(|levels| locks.iter().map(|lock| row(levels, lock)).collect::<Vec<_>>());
    Table::new("Gains", columns, rows)
}

/// Every pair, with the interval that decides; on the page alone, since the verdict has what is shown.
fn against(gains: &LockGains) -> Table {
    let row = |pair: &LockGain| -> Option<Vec<Cell>> {
        let (top, below) = (gains.gain(&pair.top)?, gains.gain(&pair.below)?);
        let ratio = pair.ratio.as_ref()?.adjusted();
        let says = match pair.is_shown() {
            true if ratio.mean > 1.0 => format!("{} gains more", top.lock),
            true => format!("{} gains more", below.lock),
            false => "no difference is shown".to_owned(),
        };
        let levels: Vec<&str> = top.levels.values().map(String::as_str).collect();
        let words = [top.of.clone(), levels.join(", "), format!("{} : {}", top.lock, below.lock)];
        let cells = words.into_iter().map(Cell::text);
        Some(cells.chain([Cell::Interval(ratio), Cell::text(says)]).collect())
    };
    let columns = vec![
        Column::text("gain"),
        Column::text("with"),
        Column::text("locks"),
        Column::figure("gain over gain"),
        Column::text(""),
    ];
    let caption =
        "One lock against another: the ratio of two gains, paired by block; intervals hold for all together";
    Table::new(caption, columns, gains.pairs.iter().filter_map(row)).shown(Shown::Page)
}
