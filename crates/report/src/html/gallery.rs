//! Cards of many machines as one page: a table whose figures have their intervals drawn beside them, filters, and the
//! command that repeats each.
//!
//! The page is whole without its script, which filters and sorts rows. Any user makes cards: every text is escaped,
//! and the policy allows this script alone.

use super::{GALLERY, GALLERY_TEMPLATE, filled, trusted};
use crate::ReportError;
use minijinja::Value;
use threadwise_analysis::card::{Card, FIGURES, Figure, FigureKind, KNEE};
use threadwise_document::numbers::{self, counted};

const STYLE: &str =
    concat!(include_str!("../../assets/colours.css"), include_str!("../../assets/gallery.css"));
const SCRIPT: &str = include_str!("../../assets/gallery.js");
/// SHA-256 of the script, as in `assets/hashes.txt`.
const SCRIPT_HASH: &str = include_str!("../../assets/gallery.hash.txt");

/// Width of a drawn interval; its height is 10.
const WIDTH: f64 = 120.0;

/// The page of cards, in their order.
///
/// # Errors
/// [`ReportError::Template`], a fault of the program.
pub fn gallery(cards: &[Card]) -> Result<String, ReportError> {
    let all = || cards.iter().flat_map(|card| &card.figures);
    let columns: Vec<Scale<'_>> = FIGURES
        .iter()
        .filter(|kind| all().any(|figure| figure.what == kind.what))
        .map(|kind| Scale::of(kind, all()))
        .collect();
    let rows: Vec<Value> = cards.iter().flat_map(|card| rows(card, &columns)).collect();
    let choices = |name: fn(&Card) -> &str| {
        let mut names: Vec<&str> = cards.iter().map(name).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(Value::from).collect::<Value>()
    };
    let column = |scale: &Scale<'_>| {
        Value::from_pairs(
            [("heading", scale.kind.heading), ("about", scale.kind.about)]
                .map(|(name, text)| (name, Value::from(text))),
        )
    };
    filled(
        GALLERY_TEMPLATE,
        Value::from_pairs([
            ("count", Value::from(counted(cards.len(), "card"))),
            ("columns", Value::from(columns.iter().map(column).collect::<Vec<Value>>())),
            ("engines", choices(|card| &card.engine)),
            ("workloads", choices(|card| &card.workload)),
            ("rows", Value::from(rows)),
            ("generator", Value::from(GALLERY)),
            ("style", trusted(STYLE)),
            ("script", trusted(SCRIPT)),
            ("hash", trusted(SCRIPT_HASH.trim())),
        ]),
    )
}

/// Rows of a card: one for each size class of its data.
fn rows(card: &Card, columns: &[Scale<'_>]) -> Vec<Value> {
    let mut classes: Vec<&str> = Vec::new();
    for figure in &card.figures {
        if !classes.contains(&figure.data.as_str()) {
            classes.push(&figure.data);
        }
    }
    let row = |data: &str| {
        let cell = |scale: &Scale<'_>| {
            let found =
                card.figures.iter().find(|figure| figure.what == scale.kind.what && figure.data == data);
            found.map_or(Value::UNDEFINED, |figure| scale.cell(figure))
        };
        let engine = format!("{} {}", card.engine, card.engine_version);
        Value::from_pairs([
            ("machine", Value::from(machine(card))),
            ("about", Value::from(about(card))),
            ("engine", Value::from(card.engine.as_str())),
            ("engine_version", Value::from(engine.trim())),
            ("workload", Value::from(card.workload.as_str())),
            ("data", Value::from(data)),
            ("cells", Value::from(columns.iter().map(cell).collect::<Vec<Value>>())),
            ("a_a", Value::from(card.a_a.map_or_else(String::new, |[low, high]| interval(low, high)))),
            ("trust", Value::from(card.trust.to_string())),
            ("rank", Value::from(card.trust as u8)),
            ("date", Value::from(card.date.as_str())),
            ("again", Value::from(card.redo.clone())),
        ])
    };
    classes.into_iter().map(row).collect()
}

fn machine(card: &Card) -> String {
    let names = [card.instance.as_deref(), card.cpu.as_deref()];
    names.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `virtual (KVM), 2 logical CPUs, siblings hidden`.
fn about(card: &Card) -> String {
    let kind =
        card.hypervisor.as_ref().map_or_else(|| "bare metal".to_owned(), |name| format!("virtual ({name})"));
    let cores = match card.threads_per_core {
        1 if card.hypervisor.is_some() => format!("{}, siblings hidden", counted(card.cores, "logical CPU")),
        1 => counted(card.cores, "core"),
        threads => format!("{} of {threads} threads", counted(card.cores, "core")),
    };
    let nodes = (card.numa_nodes > 1).then(|| counted(card.numa_nodes, "NUMA node"));
    let packages = (card.packages > 1).then(|| counted(card.packages, "package"));
    [Some(kind), Some(cores), packages, nodes].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn interval(low: f64, high: f64) -> String {
    format!("[{}, {}]", numbers::ratio(low), numbers::ratio(high))
}

/// A column with the range that its intervals are drawn in.
struct Scale<'a> {
    kind: &'a FigureKind,
    low: f64,
    high: f64,
}

impl<'a> Scale<'a> {
    fn of<'f>(kind: &'a FigureKind, all: impl Iterator<Item = &'f Figure>) -> Self {
        let ends =
            all.filter(|figure| figure.what == kind.what).filter_map(|figure| figure.interval).flatten();
        let scale = Self { kind, low: 1.0, high: 1.0 };
        let whole = ends.fold(scale, |scale, end| Self {
            low: scale.low.min(end),
            high: scale.high.max(end),
            ..scale
        });
        let margin = (whole.high - whole.low) * 0.05;
        Self { low: whole.low - margin, high: whole.high + margin, ..whole }
    }

    fn x(&self, value: f64) -> f64 {
        let share = (value - self.low) / (self.high - self.low).max(1e-9);
        (share * WIDTH * 10.0).round() / 10.0
    }

    fn cell(&self, figure: &Figure) -> Value {
        let text = match self.kind.what {
            KNEE => counted(figure.value as usize, "session"),
            "neighbour-share" => numbers::percent(figure.value),
            _ => format!("{}x", numbers::ratio(figure.value)),
        };
        let ends = figure.interval.map(|[low, high]| match self.kind.what {
            "neighbour-share" => format!("[{}, {}]", numbers::percent(low), numbers::percent(high)),
            _ => interval(low, high),
        });
        let drawn =
            figure.interval.map(|[low, high]| [self.x(1.0), self.x(low), self.x(figure.value), self.x(high)]);
        Value::from_pairs([
            ("text", Value::from(text)),
            ("ends", Value::from(ends)),
            ("sort", Value::from(figure.value)),
            ("drawn", drawn.map_or(Value::UNDEFINED, |all| Value::from(all.to_vec()))),
        ])
    }
}
