//! Wake-ups of sleeping threads beside cache-line latency, by distance.

use crate::hardware::shown::{Wake, wakes};
use std::collections::BTreeSet;
use threadwise_document::{Cell, Column, Interval, Table};
use threadwise_study::probe::{Locality, Probe, Wakeup};

/// A row for each distance, nearest first, with the columns that were measured; `None` without any.
pub fn table(probe: &Probe) -> Option<Table> {
    let distances: BTreeSet<Locality> = probe.wakeups.iter().map(|one| one.distance).collect();
    let columns = wakes(probe);
    let row = |distance: &Locality| {
        let pair = probe.wakeups.iter().find(|one| one.distance == *distance)?;
        let cpus = if pair.a == pair.b { pair.a.to_string() } else { format!("{}, {}", pair.a, pair.b) };
        let line = probe.latency(pair.a, pair.b).map(|latency| latency.cas.min_ns);
        let figure = |wake: &Wake| {
            let found = probe.wakeup(*distance, wake.method, wake.is_idle);
            Cell::interval(found.map(median).as_ref())
        };
        let heads = [Cell::named(distance.words(), &format!("CPU {cpus}")), Cell::value(line, "ns")];
        Some(heads.into_iter().chain(columns.iter().map(figure)).collect::<Vec<Cell>>())
    };
    let headings = [Column::text("distance").shorten_at(2), Column::figure("cache line")];
    let figures = columns.iter().map(|wake| {
        // Pauses are left out first: without them a client and its server wake each other.
        let column = Column::figure(wake.words()).shorten_at(1);
        if wake.is_idle { column.drop_at(3) } else { column }
    });
    let caption = "Cache line, one way, and waking a sleeping thread: median by what wakes it; idle: after 0.5 ms of idleness";
    Table::new(caption, headings.into_iter().chain(figures).collect(), distances.iter().filter_map(row))
        .filled()
}

fn median(one: &Wakeup) -> Interval {
    Interval::of([one.median_ns, one.median_low_ns, one.median_high_ns], "ns")
}
