//! Spinlocks, waits and latches by the statistics of the whole server: tables of the names with the most.
//!
//! The figures are made in `activity`; published studies of log buffers list five spinlocks in the same way.

use crate::activity::{MAX_SERVER_NAMES, ServerLock, ServerLocks, ServerWait};
use crate::words::list;
use crate::{Facts, Interval};
use std::collections::BTreeSet;
use threadwise_document::numbers::{capital, count_word};
use threadwise_document::{Block, Cell, Column, Prose, Section, Shown, Table, prose};
use threadwise_study::workload::Nouns;

/// The section; `None` if the server reports none of them.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let nouns = &facts.study.nouns();
    let treatments = facts.analysis.treatments.iter();
    let locks: Vec<(&str, &ServerLocks)> = treatments
        .clone()
        .filter_map(|summary| Some((summary.name.as_str(), summary.activity.server_locks.as_ref()?)))
        .collect();
    let waits: Vec<(&str, &ServerWait)> = treatments
        .flat_map(|summary| summary.activity.server_waits.iter().map(|wait| (summary.name.as_str(), wait)))
        .collect();
    if locks.is_empty() && waits.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Text(whose(&locks), Shown::Everywhere)];
    blocks.extend((!locks.is_empty()).then(|| Block::Table(of_locks(&locks, nouns))));
    blocks.extend((!waits.is_empty()).then(|| Block::Table(of_waits(&waits, nouns))));
    Some(Section::new("server-locks", "Locks of the server", blocks))
}

/// Source of the figures, and of the bounds.
fn whose(locks: &[(&str, &ServerLocks)]) -> Prose {
    let mut text = prose!(
        "The server's own statistics, including its other clients: the {} names with the most over all treatments.",
        count_word(MAX_SERVER_NAMES as u32)
    );
    let clocks: BTreeSet<&str> = locks.iter().map(|(_, locks)| locks.clock.as_str()).collect();
    if !clocks.is_empty() {
        let clocks: Vec<String> = clocks.into_iter().map(str::to_owned).collect();
        text.push(prose!(
            " Cycles per spin, at most: seconds times cores times measured clock, over spins, with the cores of the \
             placement if the server is bound to it, else one core of this machine for each session as far as there \
             are cores, so they are valid if the server runs here. Clock: {}.",
            list(&clocks)
        ));
    }
    text
}

fn of_locks(treatments: &[(&str, &ServerLocks)], nouns: &Nouns) -> Table {
    let all = || treatments.iter().flat_map(|(_, locks)| &locks.locks);
    let by_commit = all().all(|lock| lock.spins == 0.0 || lock.spins_per_commit.is_some());
    let row = |treatment: &str, lock: &ServerLock, clock: &str| {
        let per_unit = if by_commit { &lock.spins_per_commit } else { &lock.spins_per_row };
        let figures = [per_unit, &lock.spins_per_collision, &lock.spins_per_backoff].map(or_none);
        let cycles = match &lock.cycles_per_spin_bound {
            Some(cycles) => Cell::Interval(cycles.clone()),
            None if lock.spins == 0.0 => Cell::none(),
            None => Cell::Gap(clock.to_owned()),
        };
        let share = lock.share.clone().map_or_else(Cell::none, Cell::Share);
        let names = [Cell::text(&lock.name), Cell::text(treatment)];
        names.into_iter().chain([or_none(&lock.spins_per_s), share]).chain(figures).chain([cycles]).collect()
    };
    let names = treatments.first().map_or(0, |(_, locks)| locks.locks.len());
    let rows = (0..names).flat_map(|at| {
        let of_name = treatments.iter().filter_map(move |(treatment, locks)| {
            Some((*treatment, locks.locks.get(at)?, locks.clock.as_str()))
        });
        of_name.map(|(treatment, lock, clock)| row(treatment, lock, clock))
    });
    let unit = if by_commit { "commit" } else { nouns.row };
    let columns = vec![
        Column::text("spinlock"),
        Column::text("treatment"),
        Column::figure("spins/s").shorten_at(1),
        Column::figure("share of spins").drop_at(4),
        Column::figure(format!("spins/{unit}")).shorten_at(1),
        Column::figure("spins/collision").shown(Shown::Page),
        Column::figure("spins/backoff").shorten_at(2).drop_at(5),
        Column::figure("cycles/spin, at most").shorten_at(2),
    ];
    Table::new("Spinlocks of the server", columns, rows)
}

fn of_waits(waits: &[(&str, &ServerWait)], nouns: &Nouns) -> Table {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for (_, wait) in waits {
        let name = (wait.kind.as_str(), wait.name.as_str());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let rows = names.into_iter().flat_map(|(kind, name)| {
        let of_name =
            waits.iter().filter(move |(_, wait)| (wait.kind.as_str(), wait.name.as_str()) == (kind, name));
        of_name.map(move |(treatment, wait)| {
            let kind = if kind == "latch" { "latch" } else { "wait" };
            let figures = [&wait.wait_ns_per_row, &wait.waits_per_row, &wait.ns_per_wait].map(or_none);
            [Cell::named(name, kind), Cell::text(*treatment)].into_iter().chain(figures).collect()
        })
    });
    let columns = vec![
        Column::text("wait or latch"),
        Column::text("treatment"),
        Column::figure(format!("waited/{}", nouns.row)).shorten_at(1),
        Column::figure(format!("waits/{}", nouns.row)).shorten_at(2).drop_at(4),
        Column::figure("each").shorten_at(1),
    ];
    Table::new(capital("waits and latches of the server"), columns, rows).shown(Shown::Page)
}

fn or_none(figure: &Option<Interval>) -> Cell {
    Cell::interval(figure.as_ref())
}
