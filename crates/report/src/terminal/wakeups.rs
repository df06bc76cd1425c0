//! Wake-ups of sleeping threads beside cache-line latency: a line for each distance.

use super::lines::{Aligned, cut};
use super::{BOLD, DIM, Style};
use crate::hardware::{Wake, latency_ns, wakes};
use crate::text::plain;
use std::collections::BTreeSet;
use threadwise_document::numbers::significant;
use threadwise_study::probe::{Locality, Probe};

/// All lines about wake-ups.
pub fn wakeups(probe: &Probe, style: Style) -> Vec<String> {
    let distances: BTreeSet<Locality> = probe.wakeups.iter().map(|one| one.distance).collect();
    if distances.is_empty() {
        return Vec::new();
    }
    let columns = wakes(probe);
    let headings = ["wake-up µs", "CPUs", "line ns"].map(str::to_owned).into_iter();
    let mut rows = vec![headings.chain(columns.iter().map(heading)).collect::<Vec<String>>()];
    rows.extend(distances.into_iter().filter_map(|distance| row(probe, distance, &columns)));
    let plain_rows = rows.into_iter().map(|row| row.iter().map(|cell| plain(cell, style.unicode)).collect());
    let aligned = Aligned::new(plain_rows.collect(), &[0, 1], style.width);
    let lines = aligned.rows.iter().enumerate().map(|(at, cells)| {
        let line = cut(cells.join(aligned.gap).trim_end(), style);
        if at == 0 { style.paint(BOLD, &line) } else { line }
    });
    let note = "medians; idle: after 0.5 ms of idleness; line: least, compare-and-swap";
    lines.chain([style.paint(DIM, &cut(note, style))]).collect()
}

/// A pause has no more than a word, right of what it is of.
fn heading(wake: &Wake) -> String {
    if wake.is_idle { "idle".to_owned() } else { wake.words() }
}

fn row(probe: &Probe, distance: Locality, columns: &[Wake]) -> Option<Vec<String>> {
    let pair = probe.wakeups.iter().find(|one| one.distance == distance)?;
    let cpus = if pair.a == pair.b { pair.a.to_string() } else { format!("{}-{}", pair.a, pair.b) };
    let line = probe.latency(pair.a, pair.b).map(|latency| latency_ns(latency.cas.min_ns));
    let figure = |wake: &Wake| {
        let found = probe.wakeup(distance, wake.method, wake.is_idle);
        found.map_or_else(|| "-".to_owned(), |one| significant(one.median_ns / 1e3, 3))
    };
    let heads = [distance.words().to_owned(), cpus, line.unwrap_or_else(|| "-".to_owned())];
    Some(heads.into_iter().chain(columns.iter().map(figure)).collect())
}
