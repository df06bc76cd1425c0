//! Content of a report, typed: the analysis makes a [`Document`], a renderer shows it. Pure data; only text from
//! numbers ([`numbers`]) is computed here.
//!
//! A renderer knows sections, prose, tables, charts and cells, but not workloads or engines; the analysis knows nothing
//! of terminals and pages except how much room they have ([`Shown`], [`table::Narrow`]).

pub mod advice;
pub mod chart;
pub mod estimate;
pub mod finding;
pub mod numbers;
pub mod prose;
pub mod screen;
pub mod strip;
pub mod table;

pub use advice::{Advice, Paste};
pub use chart::{Chart, Figure};
pub use estimate::{Answer, Direction, Interval, Mark, Ratio, Says};
pub use finding::{Finding, FindingKind};
pub use prose::{Class, Prose, Span};
pub use screen::Screen;
pub use strip::Strip;
pub use table::{Cell, Column, ColumnOf, Narrow, Row, Shown, Table};

use threadwise_machine::{CpuSet, Topology};

/// A report.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Document {
    /// The answer on one screen.
    pub screen: Screen,
    /// Heading.
    pub title: String,
    /// Engine, workload, data, date, file: shown below the heading.
    pub about: Vec<String>,
    /// Whether the results come from a model: every renderer shows it.
    pub simulated: bool,
    /// Advice, the most important first.
    pub advice: Vec<Advice>,
    /// The picture at the top of a page.
    pub picture: Option<Box<Figure>>,
    /// The verdict, one finding per line, in reading order.
    pub verdict: Vec<Finding>,
    /// Figures in the summary of the verdict.
    pub facts: Vec<Fact>,
    /// The rest, in order.
    pub sections: Vec<Section>,
    /// Last line.
    pub footer: String,
    /// Data shared by all charts.
    pub charts: chart::Shared,
}

/// A figure with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// Name.
    pub name: String,
    /// Figure with its unit.
    pub value: String,
    /// Its meaning.
    pub note: String,
}

/// A section with a heading.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section {
    /// Anchor on the page.
    pub id: &'static str,
    /// Heading on the page; a terminal shows the captions of tables.
    pub title: String,
    /// Its blocks, in order.
    pub blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(Prose, Shown),
    /// Lines that belong together.
    List(Vec<Prose>, Shown),
    /// Meaning of signs, headings and gaps: short parts, side by side if there is room.
    Legend(Vec<Prose>, Shown),
    /// A table.
    Table(Table),
    /// A chart with its figures as a table; only the page can draw it.
    Figure(Box<Figure>),
    /// A part that opens on demand; on the page only.
    Fold(Fold),
    /// Two texts side by side, line by line; on the page only.
    Sides(Sides),
    /// A preformatted text: heading and lines; on the page only.
    Verbatim(String, String),
    /// The machine as boxes in boxes.
    Machine(Box<Topology>),
    /// Declared and measured cores side by side.
    Cores(Cores),
}

/// Declared cores and measured cores.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cores {
    /// Declared cores, each with whether the measured one differs.
    pub declared: Vec<(CpuSet, bool)>,
    /// Measured cores, likewise.
    pub measured: Vec<(CpuSet, bool)>,
    /// Undecided logical CPUs.
    pub undecided: CpuSet,
}

/// A part that opens on demand.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fold {
    /// Heading of consecutive folds, above the first.
    pub above: &'static str,
    /// Its summary, in one line.
    pub title: String,
    /// Tables inside.
    pub tables: Vec<Table>,
    /// Texts side by side inside.
    pub sides: Vec<Sides>,
}

/// Two texts side by side.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sides {
    /// Heading of the left one.
    pub left: String,
    /// Heading of the right one.
    pub right: String,
    /// Lines, aligned.
    pub rows: Vec<[SideLine; 2]>,
}

/// A line of one side; empty if the other side has one more.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SideLine {
    /// How it differs from the other side's.
    pub class: Difference,
    /// Text, with a sign before it.
    pub text: String,
}

/// How a line differs from its counterpart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Difference {
    /// It does not.
    #[default]
    Same,
    /// Only on the left side.
    Gone,
    /// Only on the right side.
    New,
    /// It only moves rows.
    Moves,
}

impl Document {
    /// A section by its anchor.
    pub fn section(&self, id: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.id == id)
    }
}

impl Block {
    /// A paragraph on every medium.
    pub fn text(text: impl Into<Prose>) -> Self {
        Self::Text(text.into(), Shown::Everywhere)
    }

    /// A paragraph on the page only.
    pub fn on_page(text: impl Into<Prose>) -> Self {
        Self::Text(text.into(), Shown::Page)
    }
}

impl Section {
    /// A section from its blocks.
    pub fn new(id: &'static str, title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self { id, title: title.into(), blocks }
    }
}

impl Shown {
    /// Whether it is shown on a terminal.
    pub fn on_terminal(self) -> bool {
        self != Self::Page
    }

    /// Whether it is shown on the page.
    pub fn on_page(self) -> bool {
        self != Self::Terminal
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
