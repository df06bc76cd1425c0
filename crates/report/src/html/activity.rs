//! What sessions did beside their rows: a picture of waits, and tables of all of it.

use super::data::{Charts, Figure, Section, TableView, WaitChart, WaitRow};
use super::tables::{capital, view};
use crate::Document;
use crate::activity::{
    bounds, by_unit, counted, cpu_title, cut, cycles_words, figure, fixed_title, has_any, has_spins, plain,
    shows_fixed,
};
use crate::text::{grouped, nanoseconds, share, significant};
use crate::words::words;
use std::collections::BTreeSet;
use threadwise_analysis::activity::{Locks, OTHER, RUNNING, Waits};
use threadwise_analysis::{Interval, TreatmentSummary};

/// Data of the picture: treatments with enough samples; `None` where there is none.
pub fn wait_chart(document: &Document) -> Option<WaitChart> {
    let known = document.analysis.treatments.iter();
    let sampled: Vec<(&TreatmentSummary, &Waits)> = known
        .filter_map(|own| Some((own, own.activity.waits.as_ref().filter(|waits| waits.enough)?)))
        .collect();
    let (_, first) = sampled.first()?;
    let names = first.shares.iter().map(|wait| (cut(&wait.name), class(&wait.name))).collect();
    let rows = sampled.iter().map(|(own, waits)| WaitRow {
        name: own.name.clone(),
        samples: waits.samples,
        shares: waits.shares.iter().map(|wait| rounded(wait.share.mean)).collect(),
    });
    Some(WaitChart { names, rows: rows.collect() })
}

/// More digits than a share of samples has make the page larger and nothing clearer.
fn rounded(share: f64) -> f64 {
    (share * 1e5).round() / 1e5
}

fn class(name: &str) -> &'static str {
    match name {
        RUNNING => "running",
        OTHER => "other",
        _ => "wait",
    }
}

/// The section; `None` where the engine tells nothing.
pub fn section(document: &Document, charts: &Charts) -> Option<Section> {
    has_any(document).then(|| {
        let own = words(document.study);
        let tables = [fixed(document), locks(document), cpu(document), counters(document)];
        let mut paragraphs = Vec::new();
        let few = document.analysis.treatments.iter().filter_map(|own| own.activity.waits.as_ref());
        if few.clone().any(|waits| !waits.enough) {
            paragraphs.push("Treatments with too few samples to tell what they waited for are not drawn.".to_owned());
        }
        let locked = document.analysis.treatments.iter().filter_map(|own| own.activity.locks.as_ref());
        if has_spins(document) {
            paragraphs.push(
                "Cycles a spin have two figures. The upper bound takes all of the time on the cores in use for \
                 spinning: seconds times cores times measured clock, over spins. The other one is made from the time \
                 that sessions measured themselves to spin."
                    .to_owned(),
            );
            let clocks: BTreeSet<&str> = locked.map(|locks| locks.clock.as_str()).collect();
            paragraphs.push(format!("Clock: {}.", clocks.into_iter().collect::<Vec<_>>().join("; ")));
        }
        Section {
            id: "activity",
            title: match own.row {
                "query" => "What streams waited for, and what a query cost",
                "run" => "What a run read and wrote",
                _ => "What sessions waited for, and what a row cost",
            },
            paragraphs,
            figures: waits(document, charts).into_iter().collect(),
            tables: tables.into_iter().flatten().collect(),
            ..Section::default()
        }
    })
}

fn waits(document: &Document, charts: &Charts) -> Option<Figure> {
    let table = wait_table(document)?;
    charts.waits.as_ref()?;
    Some(Figure {
        chart: "waits",
        index: 0,
        wide: true,
        title: super::page::titled(
            document,
            &format!("What {} waited for", words(document.study).sessions),
            "",
        ),
        description: format!(
            "Shares of samples: what each {} was doing at evenly spaced moments of the slices.",
            words(document.study).session
        ),
        table,
    })
}

fn wait_table(document: &Document) -> Option<TableView> {
    let sampled = measured(document, |own| own.activity.waits.as_ref());
    let names: Vec<&str> = sampled.first()?.1.shares.iter().map(|wait| wait.name.as_str()).collect();
    let headers: Vec<String> = ["treatment", "samples"]
        .into_iter()
        .map(str::to_owned)
        .chain(names.iter().map(|name| cut(name)))
        .collect();
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    let rows = sampled.iter().map(|(name, waits)| {
        let cell = |wait: &threadwise_analysis::activity::WaitShare| match waits.enough {
            true => figure(&wait.share, share),
            false => "too few".to_owned(),
        };
        let cells = waits.shares.iter().map(cell);
        [(*name).to_owned(), grouped(waits.samples)].into_iter().chain(cells).collect()
    });
    Some(view("Shares of samples", &headers, 1, rows.collect()))
}

fn fixed(document: &Document) -> Option<TableView> {
    let own = measured(document, |own| own.metrics.get("elapsed_ns").filter(|_| shows_fixed(document)));
    let rows = own.iter().map(|(name, elapsed)| {
        let summary = document.analysis.treatments.iter().find(|summary| summary.name == **name);
        let tail = summary.and_then(|summary| summary.metrics.get("idle_tail_share"));
        let tail = cells(tail, share);
        [vec![(*name).to_owned()], cells(Some(elapsed), nanoseconds), tail].concat()
    });
    let headers = ["treatment", "elapsed", "interval", "idle tail", "interval"];
    let title = fixed_title(document).replacen(',', ":", 1);
    some_rows(&capital(&title), &headers, 1, rows.collect())
}

fn locks(document: &Document) -> Option<TableView> {
    let spun = has_spins(document);
    let own = measured(document, |own| own.activity.locks.as_ref().filter(|_| spun));
    let row = |(name, locks): &(&str, &Locks)| {
        let figures = [
            cells(locks.spins_per_row.as_ref(), plain),
            cells(locks.spinning_share.as_ref(), share),
            cells(locks.cycles_per_spin.as_ref(), cycles_words),
            cells(locks.cycles_per_spin_bound.as_ref(), cycles_words),
        ];
        let mhz = locks.clock_mhz.map_or_else(|| "-".to_owned(), |mhz| significant(mhz, 4));
        [vec![(*name).to_owned(), mhz], figures.concat()].concat()
    };
    let headers = [
        "treatment",
        "MHz",
        "spins/row",
        "interval",
        "time spinning",
        "interval",
        "cycles/spin",
        "interval",
        "cycles/spin, at most",
        "interval",
    ];
    some_rows("Spins", &headers, 1, own.iter().map(row).collect())
}

fn cpu(document: &Document) -> Option<TableView> {
    let own = measured(document, |own| own.activity.cpu.as_ref());
    let rows = own.iter().map(|(name, cpu)| {
        let figures = [
            cells(cpu.engine_ns_per_row.as_ref(), nanoseconds),
            cells(cpu.client_ns_per_row.as_ref(), nanoseconds),
            cells(cpu.client_share.as_ref(), share),
        ];
        [vec![(*name).to_owned()], figures.concat()].concat()
    });
    let headers = ["treatment", "engine", "interval", "client", "interval", "client's share", "interval"];
    some_rows(cpu_title(document), &headers, 1, rows.collect())
}

fn counters(document: &Document) -> Option<TableView> {
    let counted = counted(document);
    let rows = document.analysis.treatments.iter().flat_map(|own| {
        let counters = own.activity.counters.iter().filter(|counter| counted.contains(counter.name.as_str()));
        counters.map(|counter| {
            let unit = |value: &Option<Interval>| match value {
                Some(value) => cells(Some(value), by_unit(value)),
                None => cells(None, plain),
            };
            let names = vec![own.name.clone(), cut(&counter.name)];
            [names, unit(&counter.per_row), unit(&counter.per_s)].concat()
        })
    });
    let per = format!("per {}", words(document.study).row);
    let headers = ["treatment", "counter", &per, "interval", "per second", "interval"];
    let caption = match words(document.study).sessions {
        "processes" => "Counters of the processes".to_owned(),
        whose => format!("Engine counters, {whose} and server together"),
    };
    some_rows(&caption, &headers, 2, rows.collect())
}

/// Value and interval as two cells.
fn cells(value: Option<&Interval>, words: impl Fn(f64) -> String) -> Vec<String> {
    match value {
        Some(value) => vec![words(value.mean), bounds(value, words)],
        None => vec!["-".to_owned(), "-".to_owned()],
    }
}

/// Treatments that have something, by name.
fn measured<'a, T>(
    document: &Document<'a>,
    of: impl Fn(&'a TreatmentSummary) -> Option<&'a T>,
) -> Vec<(&'a str, &'a T)> {
    let own = document.analysis.treatments.iter();
    own.filter_map(|own| Some((own.name.as_str(), of(own)?))).collect()
}

fn some_rows(caption: &str, headers: &[&str], texts: usize, rows: Vec<Vec<String>>) -> Option<TableView> {
    (!rows.is_empty()).then(|| view(caption, headers, texts, rows))
}
