//! Report of 10,000 runs of 20 slices of 2 sessions: HTML, JSON and terminal, against one pass of
//! the same slices through CSV in the same process, interleaved.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // A program for people, with the tests' fixture.

#[path = "../tests/it/support.rs"]
mod support;

use std::hint::black_box;
use std::time::{Duration, Instant};
use support::{Draws, Fixture};
use threadwise_report::terminal::{self, Style};
use threadwise_report::{csv, html, json};

/// Pairs of measurements.
const PAIRS: usize = 7;

fn time(task: impl FnOnce() -> usize) -> Duration {
    let start = Instant::now();
    black_box(task());
    start.elapsed()
}

fn main() {
    // 16 treatments a block: 625 blocks are 10,000 runs.
    let fixture = Fixture::generated(625, 20);
    let facts = fixture.facts();
    let style = Style { color: true, unicode: true, width: 100 };
    let report = || {
        let document = fixture.document();
        let page = html::render(&document).map_or(0, |page| page.len());
        let text = terminal::verdict(&document, style).len() + terminal::sections(&document, style).len();
        page + text
            + json::report(&facts, &document).len()
            + terminal::drawing(&fixture.topology, style).len()
    };
    let yardstick = || {
        let mut out = Vec::new();
        let written = csv::slices_csv(&facts, &mut out);
        if written.is_ok() { out.len() } else { 0 }
    };
    let slices: usize = fixture.runs.iter().map(|run| run.slices.len()).sum();
    println!(
        "{} runs, {slices} slices, page of {} bytes",
        fixture.runs.len(),
        html::render(&fixture.document()).map_or(0, |p| p.len())
    );
    let mut ratios = Vec::new();
    let mut seconds = Vec::new();
    let mut order = Draws(1);
    for _ in 0..PAIRS {
        let first = order.next() < 0.5;
        let early = first.then(|| time(yardstick));
        let late = time(report);
        let other = early.unwrap_or_else(|| time(yardstick));
        ratios.push(late.as_secs_f64() / other.as_secs_f64());
        seconds.push(late.as_secs_f64());
    }
    ratios.sort_by(f64::total_cmp);
    seconds.sort_by(f64::total_cmp);
    let shown =
        |values: &[f64]| format!("{:.3} [{:.3}, {:.3}]", values[PAIRS / 2], values[0], values[PAIRS - 1]);
    println!("report / CSV of its slices: {} (median [least, most] of {PAIRS} pairs)", shown(&ratios));
    println!("report: {} s", shown(&seconds));
}
