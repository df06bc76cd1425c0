//! A document in the form of its page's template: blocks with the macro that draws them, cells and prose as spans with
//! a class. One of the modules of this crate that know serde.

use super::data::{Machine, Side};
use super::{cores, machine};
use crate::ReportError;
use crate::drawing::topology_line;
use crate::gaps::explained;
use serde::Serialize;
use serde_json::{Map, Value, json};
use threadwise_document::numbers;
use threadwise_document::{
    Block, Cell, Chart, Class, Difference, Document, Fact, Figure, Fold, Interval, Prose, Ratio, Row, Shown,
    Sides, Table,
};
use threadwise_machine::text::is_deceptive;

/// A span with its CSS class; empty for words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpanView {
    /// `""`, `figure`, `interval`, `command`.
    pub class: &'static str,
    /// Text.
    pub text: String,
}

/// The page.
#[derive(Debug, Clone, Serialize)]
pub struct Page {
    title: String,
    subtitle: String,
    simulated: bool,
    front: Option<Front>,
    verdict: Vec<Vec<SpanView>>,
    facts: Vec<[String; 3]>,
    sections: Vec<SectionView>,
    machine_line: String,
    footer: String,
}

/// The top of the page: the screen, with its picture.
#[derive(Debug, Clone, Serialize)]
struct Front {
    answer: Vec<SpanView>,
    /// The word of trust, in capitals.
    level: String,
    reasons: Vec<SpanView>,
    picture: Option<FigureView>,
    /// Lines to copy, each after its place.
    paste: Vec<[String; 2]>,
    /// Why nothing should be set yet.
    set: Vec<SpanView>,
    why: Vec<SpanView>,
    next: Vec<SpanView>,
}

#[derive(Debug, Clone, Serialize)]
struct SectionView {
    id: &'static str,
    title: String,
    blocks: Vec<BlockView>,
}

/// A block, tagged with the macro of the template that draws it.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
enum BlockView {
    Text {
        line: Vec<SpanView>,
    },
    List {
        lines: Vec<Vec<SpanView>>,
    },
    Legend {
        lines: Vec<Vec<SpanView>>,
    },
    Table {
        table: TableView,
    },
    /// Consecutive figures are in one grid.
    Figures {
        figures: Vec<FigureView>,
    },
    Folds {
        above: &'static str,
        folds: Vec<FoldView>,
    },
    Sides {
        sides: SidesView,
    },
    Verbatim {
        title: String,
        text: String,
    },
    Machine {
        machine: Machine,
    },
    Cores {
        sides: Vec<Side>,
    },
}

#[derive(Debug, Clone, Serialize)]
struct TableView {
    caption: Vec<SpanView>,
    /// Name, and whether figures are below it.
    columns: Vec<(String, bool)>,
    has_header: bool,
    dense: bool,
    rows: Vec<RowView>,
}

#[derive(Debug, Clone, Serialize)]
struct RowView {
    /// Heading of the rows below; else empty.
    group: String,
    cells: Vec<CellView>,
}

#[derive(Debug, Clone, Serialize)]
struct CellView {
    is_figure: bool,
    /// Why it is empty.
    why: String,
    spans: Vec<SpanView>,
}

#[derive(Debug, Clone, Serialize)]
struct FigureView {
    chart: String,
    index: usize,
    wide: bool,
    title: String,
    description: String,
    table: TableView,
}

#[derive(Debug, Clone, Serialize)]
struct FoldView {
    title: String,
    tables: Vec<TableView>,
    sides: Vec<SidesView>,
}

#[derive(Debug, Clone, Serialize)]
struct SidesView {
    left: String,
    right: String,
    rows: Vec<[(&'static str, String); 2]>,
}

/// Tables with more columns have smaller type.
const DENSE: usize = 9;

/// The page of a document, and the data of its charts.
pub struct Filled {
    /// Input of the template.
    pub page: Page,
    /// Input of the charts' script.
    pub charts: Map<String, Value>,
}

/// Converts a document to the input of the template and of the charts' script.
///
/// # Errors
/// [`ReportError::Template`]: a chart cannot be written as JSON, a fault of the program.
pub fn filled(document: &Document) -> Result<Filled, ReportError> {
    let mut charts = Charts::new(document)?;
    let front = front(document, &mut charts)?;
    let mut sections = Vec::new();
    for section in &document.sections {
        let blocks = blocks(&section.blocks, &mut charts)?;
        if !blocks.is_empty() {
            sections.push(SectionView { id: section.id, title: section.title.clone(), blocks });
        }
    }
    let page = Page {
        title: document.title.clone(),
        subtitle: document.about.join(" · "),
        simulated: document.simulated,
        front,
        verdict: document.verdict.iter().map(|finding| spans(&finding.line)).collect(),
        facts: document
            .facts
            .iter()
            .map(|Fact { name, value, note }| [name, value, note].map(Clone::clone))
            .collect(),
        sections,
        machine_line: machine_line(document),
        footer: document.footer.clone(),
    };
    Ok(Filled { page, charts: charts.0 })
}

/// The top of the page; `None` for a document without a screen.
fn front(document: &Document, charts: &mut Charts) -> Result<Option<Front>, ReportError> {
    let screen = &document.screen;
    if screen.subject.is_empty() {
        return Ok(None);
    }
    let one_behind_the_other = |sentences: &[Prose]| spans(&Prose::join(sentences.iter().cloned(), " "));
    let picture = document.picture.as_ref().map(|picture| figure(picture, charts)).transpose()?;
    // All lines to copy are here, also those that a screen has no room for.
    let paste = document.advice.iter().filter(|advice| advice.is_decided).flat_map(|advice| &advice.paste);
    let is_trusted = screen.trust.level.allows_setting();
    Ok(Some(Front {
        answer: one_behind_the_other(&screen.answer),
        level: screen.trust.level.to_string(),
        reasons: one_behind_the_other(&screen.trust.reasons),
        picture: picture.map(|picture| FigureView { wide: false, ..picture }),
        paste: paste.filter(|_| is_trusted).map(|paste| [paste.place.clone(), paste.text.clone()]).collect(),
        set: if is_trusted { Vec::new() } else { one_behind_the_other(&screen.set) },
        why: one_behind_the_other(&screen.why),
        next: spans(&screen.next),
    }))
}

/// The machine in one line, from its section.
fn machine_line(document: &Document) -> String {
    let mut blocks = document.sections.iter().flat_map(|section| &section.blocks);
    let machine =
        blocks.find_map(|block| if let Block::Machine(topology) = block { Some(topology) } else { None });
    machine.map_or_else(String::new, |topology| topology_line(topology))
}

/// Data of charts by their drawing function, and their shared data.
struct Charts(Map<String, Value>);

impl Charts {
    fn new(document: &Document) -> Result<Self, ReportError> {
        let Value::Object(mut data) = json(&document.charts)? else { return Ok(Self(Map::new())) };
        data.insert("simulated".to_owned(), json!(document.simulated));
        Ok(Self(data))
    }

    /// Keeps a chart's data; returns its drawing function and index.
    fn add(&mut self, chart: &Chart) -> Result<(String, usize), ReportError> {
        let value = json(chart)?;
        let name = value["chart"].as_str().unwrap_or_default().to_owned();
        let data = value.get("data").cloned().unwrap_or(Value::Null);
        let list = self.0.entry(&name).or_insert_with(|| Value::Array(Vec::new()));
        let Value::Array(list) = list else {
            return Err(ReportError::Template(format!("two meanings of {name}")));
        };
        list.push(data);
        Ok((name, list.len() - 1))
    }
}

fn json(value: &impl Serialize) -> Result<Value, ReportError> {
    serde_json::to_value(value).map_err(|error| ReportError::Template(error.to_string()))
}

fn blocks(all: &[Block], charts: &mut Charts) -> Result<Vec<BlockView>, ReportError> {
    let mut views: Vec<BlockView> = Vec::new();
    for block in all {
        let view = match block {
            Block::Text(line, shown) if shown.on_page() => BlockView::Text { line: spans(line) },
            Block::List(lines, shown) if shown.on_page() => {
                BlockView::List { lines: lines.iter().map(spans).collect() }
            }
            Block::Legend(lines, shown) if shown.on_page() => {
                BlockView::Legend { lines: lines.iter().map(spans).collect() }
            }
            Block::Table(shown_table) if shown_table.shown.on_page() => {
                let shown = shown_table.places(Shown::on_page);
                let (explained_table, reasons) = explained(shown_table, &shown);
                let view = BlockView::Table { table: table(&explained_table) };
                if reasons.is_empty() {
                    view
                } else {
                    views.push(view);
                    BlockView::Legend { lines: reasons.into_iter().map(words).collect() }
                }
            }
            Block::Figure(chart) => {
                let view = figure(chart, charts)?;
                if let Some(BlockView::Figures { figures }) = views.last_mut() {
                    figures.push(view);
                    continue;
                }
                BlockView::Figures { figures: vec![view] }
            }
            Block::Fold(found) => {
                let view = fold(found);
                if let Some(BlockView::Folds { folds, .. }) = views.last_mut() {
                    folds.push(view);
                    continue;
                }
                BlockView::Folds { above: found.above, folds: vec![view] }
            }
            Block::Sides(pair) => BlockView::Sides { sides: sides(pair) },
            Block::Verbatim(title, text) => BlockView::Verbatim { title: title.clone(), text: text.clone() },
            Block::Machine(topology) => BlockView::Machine { machine: machine::machine(topology) },
            Block::Cores(seconds) => BlockView::Cores { sides: cores::drawn(seconds) },
            _ => continue,
        };
        views.push(view);
    }
    Ok(views)
}

fn figure(figure: &Figure, charts: &mut Charts) -> Result<FigureView, ReportError> {
    let (chart, index) = charts.add(&figure.chart)?;
    Ok(FigureView {
        chart,
        index,
        wide: figure.wide,
        title: figure.title.clone(),
        description: figure.description.clone(),
        table: table(&figure.table),
    })
}

fn fold(fold: &Fold) -> FoldView {
    FoldView {
        title: fold.title.clone(),
        tables: fold.tables.iter().map(table).collect(),
        sides: fold.sides.iter().map(sides).collect(),
    }
}

fn sides(sides: &Sides) -> SidesView {
    let class = |difference: Difference| match difference {
        Difference::Same => "",
        Difference::Gone => "gone",
        Difference::New => "new",
        Difference::Moves => "moves",
    };
    let rows =
        sides.rows.iter().map(|row| [0, 1].map(|side| (class(row[side].class), row[side].text.clone())));
    SidesView { left: sides.left.clone(), right: sides.right.clone(), rows: rows.collect() }
}

fn table(table: &Table) -> TableView {
    let shown = table.places(Shown::on_page);
    let cell = |cells: &[Cell], at: usize| CellView {
        is_figure: table.columns[at].is_figure,
        why: match cells.get(at) {
            Some(Cell::Gap(why)) => why.clone(),
            _ => String::new(),
        },
        spans: cells.get(at).map_or_else(Vec::new, cell_spans),
    };
    let rows = table.rows.iter().map(|row| match row {
        Row::Group(words) => RowView { group: words.clone(), cells: Vec::new() },
        Row::Cells(cells) => {
            RowView { group: String::new(), cells: shown.iter().map(|at| cell(cells, *at)).collect() }
        }
    });
    TableView {
        caption: spans(&table.caption),
        columns: shown
            .iter()
            .map(|at| (table.columns[*at].name.clone(), table.columns[*at].is_figure))
            .collect(),
        has_header: shown.iter().any(|at| !table.columns[*at].name.is_empty()),
        dense: shown.len() > DENSE,
        rows: rows.collect(),
    }
}

/// A sentence's spans.
pub fn spans(prose: &Prose) -> Vec<SpanView> {
    let class = |class: Class| match class {
        Class::Text => "",
        Class::Figure => "figure",
        Class::Interval => "interval",
        Class::Command => "command",
    };
    prose.spans().iter().map(|span| SpanView { class: class(span.class), text: span.text.clone() }).collect()
}

fn words(text: impl Into<String>) -> Vec<SpanView> {
    vec![SpanView { class: "", text: text.into() }]
}

/// A cell's spans.
fn cell_spans(cell: &Cell) -> Vec<SpanView> {
    match cell {
        Cell::Text(text) => words(text.clone()),
        Cell::Named { name, about } if about.is_empty() || about == name => words(name.clone()),
        Cell::Named { name, about } => words(format!("{name} ({about})")),
        Cell::Count(count) => words(numbers::grouped(*count)),
        Cell::Value { value, unit } => words(numbers::value(*value, unit)),
        Cell::Mean(interval) => words(numbers::value(interval.mean, &interval.unit)),
        Cell::Interval(interval) | Cell::Share(interval) => with_ends(interval),
        Cell::Ratio(ratio, says) => {
            let mut spans = ratio_spans(ratio);
            spans.push(SpanView { class: "mark", text: format!(" {}", ratio.words(*says)) });
            spans
        }
        Cell::BareRatio(ratio) => ratio_spans(ratio),
        Cell::Bounds { low, high, unit } => words(crate::terminal::bounds(*low, *high, unit)),
        Cell::Both(first, second) => [cell_spans(first), words(" "), cell_spans(second)].concat(),
        Cell::Bar { .. } => Vec::new(),
        Cell::Gap(_) => words("-"),
    }
}

fn with_ends(interval: &Interval) -> Vec<SpanView> {
    let (figure, ends) = numbers::interval(interval);
    let mut spans = words(figure);
    spans.extend(ends.map(|ends| SpanView { class: "interval", text: format!(" {ends}") }));
    spans
}

fn ratio_spans(ratio: &Ratio) -> Vec<SpanView> {
    let mut spans = words(format!("{}x", numbers::ratio(ratio.value)));
    if ratio.has_ends() {
        let ends = format!(" [{}, {}]", numbers::ratio(ratio.low), numbers::ratio(ratio.high));
        spans.push(SpanView { class: "interval", text: ends });
    }
    spans
}

/// Chart data as JSON for a `<script>` element: `<`, `>` and `&` only as escapes (WHATWG HTML, "restrictions for
/// contents of script elements"), deceptive characters replaced.
pub fn script_json(charts: &Map<String, Value>) -> String {
    let json = Value::Object(charts.clone()).to_string();
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            c if is_deceptive(c) => text.push_str("\\ufffd"),
            c => text.push(c),
        }
    }
    text
}
