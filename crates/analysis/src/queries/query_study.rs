//! A study of queries with its results: shared by its sections and findings, with their names for queries, treatments
//! and ratios.

use super::types::{Baseline, Change, Queries, TreatmentQueries};
use super::words::if_any;
use crate::groups::grouped_by;
use crate::{Facts, Interval};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use threadwise_document::chart::{Line, LineChart, LinePoint};
use threadwise_document::numbers::{self, counted};
use threadwise_document::{Block, Cell, Chart, Column, Figure, Prose, Ratio, Says, Shown, Table, prose};
use threadwise_study::Role;

/// Marks a query whose plan differs from the baseline's.
pub const PLAN_SIGN: &str = "P";

/// Most treatments in a sentence.
const MAX_NAMES: usize = 4;

/// Most queries in a list.
pub const MAX_QUERIES: usize = 6;

/// Most treatments in one finding.
pub const MAX_SHOWN: usize = 3;

/// Fewest treatments in one finding, if there are as many.
const MIN_SHOWN: usize = 2;

/// A study of queries.
#[derive(Debug, Clone, Copy)]
pub struct QueryStudy<'a> {
    /// The study.
    pub facts: Facts<'a>,
    /// Its estimates.
    pub queries: &'a Queries,
}

impl<'a> QueryStudy<'a> {
    /// Treatments by group, groups in study order. The baseline is represented by its two runs of every block together,
    /// which is what ratios are over; its twin follows, as noise.
    pub fn by_group(self) -> Vec<(&'a str, Vec<&'a TreatmentQueries>)> {
        let all = self.queries.treatments.iter().map(|measured| {
            let both = self.baseline(measured).map(|baseline| &baseline.both);
            both.filter(|both| both.treatment == measured.treatment).unwrap_or(measured)
        });
        grouped_by(all, |measured| self.facts.group_of(&measured.treatment))
    }

    /// Treatments without twins: those with figures of their own to show.
    pub fn measured(self) -> Vec<&'a TreatmentQueries> {
        let all = self.by_group().into_iter().flat_map(|(_, members)| members);
        all.filter(|measured| self.role(measured) != Role::BaselineTwin).collect()
    }

    /// A treatment's role.
    pub fn role(self, measured: &TreatmentQueries) -> Role {
        self.facts.study.treatment(&measured.treatment).map_or(Role::Compared, |(_, planned)| planned.role)
    }

    /// A treatment's name inside its group.
    pub fn label(self, treatment: &str) -> String {
        self.facts.label(treatment, self.facts.group_of(treatment)).to_owned()
    }

    /// A few treatments' names inside their groups; of many the first ones.
    pub fn some_names(self, names: &[String]) -> String {
        let names: Vec<String> = names.iter().map(|name| self.label(name)).collect();
        match names.len().checked_sub(MAX_NAMES) {
            Some(more) if more > 1 => format!("{} and {more} more", names[..MAX_NAMES].join(", ")),
            _ => names.join(", "),
        }
    }

    /// What a treatment is compared with.
    pub fn baseline(self, measured: &TreatmentQueries) -> Option<&'a Baseline> {
        let group = self.facts.group_of(&measured.treatment);
        self.queries.baselines.iter().find(|baseline| baseline.group == group)
    }

    /// The name of the baseline, or that each group has its own.
    pub fn baseline_name(self) -> &'a str {
        match self.queries.baselines.as_slice() {
            [one] => &one.both.treatment,
            _ => "the baseline of its group",
        }
    }

    /// Whether any treatment has a property.
    pub fn any(self, has: impl Fn(&TreatmentQueries) -> bool) -> bool {
        self.queries.treatments.iter().any(has)
    }

    /// `, 2 streams` if treatments differ in their number of streams.
    pub fn streams_words(self, streams: u32) -> String {
        let words = format!(", {}", counted(streams as usize, "stream"));
        if self.any(|measured| measured.streams != streams) { words } else { String::new() }
    }

    /// Charts over DOP with their figures, one per group: a line for each placement and number of streams; a baseline's
    /// point includes its second run.
    pub fn over_dop(
        self,
        words: &OverDop<'_>,
        value: impl Fn(&TreatmentQueries) -> Option<Interval>,
    ) -> Vec<Block> {
        let known = self.measured().into_iter().filter_map(|one| Some((one, one.dop?, value(one)?)));
        let line = |(name, points): (String, Vec<(&TreatmentQueries, u32, Interval)>)| {
            let point = |(one, dop, value): (&TreatmentQueries, u32, Interval)| {
                let (low, high) = ends(value.low, value.high);
                (f64::from(dop), rounded(value.mean), low, high, self.label(&one.treatment))
            };
            let mut line = Line { name, points: points.into_iter().map(point).collect() };
            line.points.sort_by(|one, other| one.0.total_cmp(&other.0));
            line
        };
        let charts = grouped_by(known, |(one, ..)| self.facts.group_of(&one.treatment));
        let wide = charts.len() == 1;
        let figure = |(group, all): (&str, Vec<(&TreatmentQueries, u32, Interval)>)| {
            let name = |one: &TreatmentQueries| one.placement.clone() + &self.streams_words(one.streams);
            let lines = grouped_by(all, |(one, ..)| name(one)).into_iter().map(line).collect();
            let chart = LineChart {
                group: group.to_owned(),
                over: DOP,
                unit: words.axis,
                lines,
                ..LineChart::default()
            };
            Block::Figure(Box::new(Figure {
                wide,
                title: self.facts.titled(words.title, group),
                description: words.description.clone(),
                table: words.table(&chart),
                chart: Chart::Lines(chart),
            }))
        };
        charts.into_iter().map(figure).collect()
    }
}

/// Title of the axis of degrees of parallelism.
pub const DOP: &str = "DOP";

/// Words of charts over DOP.
pub struct OverDop<'a> {
    /// Heading.
    pub title: &'a str,
    /// What is drawn.
    pub description: String,
    /// Title of the vertical axis.
    pub axis: &'static str,
    /// Heading of the column of values.
    pub column: &'a str,
    /// What values of the chart are multiplied by in the table, and the unit that they then have.
    pub unit: (f64, &'a str),
}

impl OverDop<'_> {
    fn table(&self, chart: &LineChart) -> Table {
        let points = chart.lines.iter().flat_map(|line| line.points.iter().map(move |point| (line, point)));
        let row = |(line, (dop, mean, low, high, treatment)): (&Line, &LinePoint)| {
            let [low, high] = [low, high].map(|end| end.unwrap_or(f64::NAN));
            let value = Interval { mean: *mean, low, high, unit: String::new() };
            vec![
                (Column::text("placement"), Cell::text(&line.name)),
                (Column::text("treatment"), Cell::text(treatment)),
                (Column::figure(DOP), Cell::Count(*dop as u64)),
                (Column::figure(self.column), Cell::Interval(value.scaled(self.unit.0, self.unit.1))),
            ]
        };
        Table::headed("", points.map(row)).shown(Shown::Page)
    }
}

/// A table of the page with one row per query or similar, each with its name, and columns across.
pub fn by_query<R: Copy, C>(
    caption: impl Into<Prose>,
    columns: &[(String, C)],
    rows: impl IntoIterator<Item = (String, R)>,
    cell: impl Fn(&C, R) -> Cell,
) -> Table {
    let row = |(name, row): (String, R)| {
        let cells = columns.iter().map(|(name, column)| (Column::text(name), cell(column, row)));
        [(Column::text("query"), Cell::text(name))].into_iter().chain(cells).collect()
    };
    Table::headed(caption, rows.into_iter().map(row)).shown(Shown::Page)
}

/// With the four decimals that a chart shows.
pub fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// The same for a value that may be missing.
pub fn end(value: f64) -> Option<f64> {
    (value.is_finite() && value > 0.0).then(|| rounded(value))
}

/// Both ends, or none: half an interval says nothing.
pub fn ends(low: f64, high: f64) -> (Option<f64>, Option<f64>) {
    end(low).zip(end(high)).unzip()
}

/// Placement, DOP and streams of a treatment.
pub fn about(measured: &TreatmentQueries) -> String {
    let dop = measured.dop.map(|dop| format!("DOP {dop}"));
    let streams = (measured.streams != 1).then(|| counted(measured.streams as usize, "stream"));
    [Some(measured.placement.clone()), dop, streams].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Size of the data, and relative to memory and to the last-level caches; `None` if no scale is known.
pub fn data_words(queries: &Queries) -> Option<Prose> {
    let size = |bytes: f64, whole: Option<u64>, name: &str| match whole.filter(|whole| *whole > 0) {
        Some(whole) => {
            let times = Prose::figure(format!("{}x", numbers::significant(bytes / whole as f64, 2)));
            prose!("{} {} ({})", times, name, Prose::figure(numbers::bytes(whole)))
        }
        None => prose!("{} of unknown size", name),
    };
    let words = queries.data.iter().map(|data| {
        let (bytes, scale) = (data.logical_bytes, data.scale.to_string());
        let gigabytes = numbers::set_number(bytes / 1e9);
        let memory = size(bytes, data.memory_bytes, "memory");
        let llc = size(bytes, data.llc_bytes, "the last-level caches");
        prose!("scale factor {}, {} GB of rows as text: {}, {}", scale, gigabytes, memory, llc)
    });
    let words = Prose::join(words, "; ");
    (!words.is_empty()).then_some(words)
}

/// A ratio of speeds; a dash without one.
pub fn speed(ratio: Option<&Ratio>) -> Cell {
    Cell::ratio(ratio, Says::Higher)
}

/// A ratio without a judgement; a dash without one.
pub fn bare(ratio: Option<&Ratio>) -> Cell {
    or_none(ratio.cloned().map(Cell::BareRatio))
}

/// A cell; a dash without one.
pub fn or_none(cell: Option<Cell>) -> Cell {
    cell.unwrap_or_else(Cell::none)
}

/// A cell, marked if the plan differs.
pub fn with_sign(cell: Cell, change: Change) -> Cell {
    match change {
        Change::Different => Cell::Both(Box::new(cell), Box::new(Cell::text(PLAN_SIGN))),
        _ => cell,
    }
}

/// Treatments that a verdict names, and those that are left to the table.
pub struct Choice<'a> {
    /// At most [`MAX_SHOWN`], in study order: all if there are no more, else each placement's highest DOP, and for a
    /// single placement the next one. Never by their speeds: intervals of treatments chosen by speed would be too
    /// short.
    pub named: Vec<&'a TreatmentQueries>,
    /// The others in study order.
    pub rest: Vec<&'a TreatmentQueries>,
}

impl<'a> Choice<'a> {
    /// From the compared treatments that were measured.
    pub fn of(found: QueryStudy<'a>) -> Self {
        let is_compared = |one: &&TreatmentQueries| found.role(one) == Role::Compared && one.blocks > 0;
        let all: Vec<&TreatmentQueries> = found.queries.treatments.iter().filter(is_compared).collect();
        let mut by_size: Vec<usize> = (0..all.len()).collect();
        by_size.sort_by_key(|at| Reverse((all[*at].dop, all[*at].streams)));
        let mut places = BTreeSet::new();
        let mut is_highest = |at: &usize| {
            places.insert((found.facts.group_of(&all[*at].treatment), all[*at].placement.as_str()))
        };
        let (mut chosen, others): (Vec<usize>, Vec<usize>) = by_size.into_iter().partition(&mut is_highest);
        let most = if all.len() <= MAX_SHOWN { MAX_SHOWN } else { chosen.len().clamp(MIN_SHOWN, MAX_SHOWN) };
        chosen.extend(others);
        chosen.truncate(most);
        let (named, rest): (Vec<usize>, Vec<usize>) = (0..all.len()).partition(|at| chosen.contains(at));
        let only = |part: Vec<usize>| part.into_iter().map(|at| all[at]).collect();
        Self { named: only(named), rest: only(rest) }
    }

    /// All of them, the named ones first.
    pub fn all(&self) -> impl Iterator<Item = &'a TreatmentQueries> + '_ {
        self.named.iter().chain(&self.rest).copied()
    }

    /// `; 9 more in the table (7 with a difference shown)`, or empty if none is left.
    pub fn more(&self, ratio_of: impl Fn(&TreatmentQueries) -> Option<&Ratio>) -> String {
        let known: Vec<&Ratio> = self.rest.iter().filter_map(|measured| ratio_of(measured)).collect();
        let shown = known.iter().filter(|ratio| ratio.is_different()).count();
        let shown = if_any(" (", shown, " with a difference shown)");
        if_any("; ", known.len(), &format!(" more in the table{shown}"))
    }
}

/// A ratio with its name, as a finding lists it.
pub struct NamedRatio {
    name: String,
    ratio: Ratio,
    /// Text after it in brackets; may be empty.
    more: Prose,
}

impl NamedRatio {
    /// Name of a treatment, a comparison or a query.
    pub fn of(name: &str, ratio: &Ratio, more: impl Into<Prose>) -> Self {
        Self { name: name.to_owned(), ratio: ratio.clone(), more: more.into() }
    }

    /// `d2 1.80x [1.75, 1.85] (6.11 s)`; the reason is left out if it is given for all.
    fn text(&self, with_why: bool) -> Prose {
        let why = self.ratio.why_not_shown().filter(|_| with_why).unwrap_or_default();
        let mut text = prose!("{} ", &self.name);
        // The lack of an interval is given as a reason.
        text.push(match self.ratio.has_ends() {
            true => Prose::from(&self.ratio),
            false => Prose::figure(format!("{}x", numbers::ratio(self.ratio.value))),
        });
        let parts = [self.more.clone(), why.into()].into_iter().filter(|part| !part.is_empty());
        let brackets = Prose::join(parts, ", ");
        if !brackets.is_empty() {
            text.push(prose!(" ({})", brackets));
        }
        text
    }
}

/// `a 1.80x [1.75, 1.85]; no difference shown: b 1.02x [0.97, 1.07], c 1.01x [0.96, 1.06]`: shown differences first.
/// `None` without a ratio.
pub fn judged(ratios: impl IntoIterator<Item = NamedRatio>) -> Option<Prose> {
    let (shown, not): (Vec<NamedRatio>, Vec<NamedRatio>) =
        ratios.into_iter().partition(|one| one.ratio.is_different());
    let joined =
        |part: &[NamedRatio], with_why: bool| Prose::join(part.iter().map(|one| one.text(with_why)), ", ");
    let mut parts = Vec::new();
    if !shown.is_empty() {
        parts.push(joined(&shown, false));
    }
    if let [first, rest @ ..] = not.as_slice() {
        // A reason common to all is given once.
        let why = first.ratio.why_not_shown();
        let same = why.filter(|_| rest.iter().all(|one| one.ratio.why_not_shown() == why));
        let reason = same.map_or_else(String::new, |why| format!(" ({why})"));
        parts.push(prose!("no difference shown{}: {}", reason, joined(&not, same.is_none())));
    }
    (!parts.is_empty()).then(|| Prose::join(parts, "; "))
}
