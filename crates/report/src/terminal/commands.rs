//! A study of commands: the table of treatments, then each quantity with its ratios.

use super::lines::{Aligned, columns, flow, wrap};
use super::{GREEN, NONE, Style, YELLOW, activity, comparisons, named};
use crate::commands::{
    Row, better, cpu_heading, floor_words, heading, mark_words, ratio_words, rows, runs, summary, value,
    with_interval,
};
use crate::text::{counted, plain, set_share, share, significant};
use crate::worklist::{is_reported, tells_headline};
use crate::{Document, Mark};
use threadwise_analysis::Interval;
use threadwise_analysis::commands::{BUSY_CPUS, CPU, Commands, ELAPSED, MEMORY, Quantity};

/// Most quantities that a terminal shows one by one.
const MAX_QUANTITIES: usize = 12;

/// Everything below the verdict.
pub fn table(document: &Document, commands: &Commands, style: Style) -> String {
    let Some(headline) = commands.headline() else { return String::new() };
    let mut text = painted(&treatments(document, commands, headline, style), style);
    text.push_str(&comparisons(document, style));
    // What no run reported is a line of the verdict.
    let is_shown = |own: &&Quantity| !is_reported(document.analysis, own) && has_values(document, own);
    let rest: Vec<&Quantity> = commands.quantities.iter().skip(1).filter(is_shown).collect();
    for quantity in rest.iter().take(MAX_QUANTITIES) {
        text.push_str(&painted(&one(document, quantity, style), style));
    }
    if rest.len() > MAX_QUANTITIES {
        let names: Vec<String> = rest[MAX_QUANTITIES..].iter().map(|own| heading(own)).collect();
        let listed = format!("also measured (in the HTML report, and with --json): {}", names.join("; "));
        wrap(&plain(&listed, style.unicode), style.width.max(40))
            .iter()
            .for_each(|line| text.push_str(&format!("{line}\n")));
    }
    text.push_str(&activity::activity(document, style));
    text + &style.paint(super::DIM, &legend(document, style).join("\n"))
}

/// Whether any treatment has a value.
fn has_values(document: &Document, quantity: &Quantity) -> bool {
    let groups = document.groups();
    groups.iter().any(|(group, _)| rows(document, group, quantity).iter().any(|row| row.value.is_some()))
}

/// Colours after the layout, so that escapes do not count as columns; by what a difference means, since
/// less may be better.
fn painted(text: &str, style: Style) -> String {
    let words = [("better", GREEN), ("worse", YELLOW)];
    words.iter().fold(text.to_owned(), |text, (word, code)| {
        text.replace(&format!("] {word}"), &format!("] {}", style.paint(code, word)))
    })
}

/// A column of the table of treatments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    /// Treatment, with its placement where the name does not say it.
    Named,
    /// Treatment.
    Name,
    Processes,
    Headline,
    Ratio,
    Elapsed,
    Cpu,
    Busy,
    Memory,
    Runs,
}

use Column::{Busy, Cpu, Elapsed, Headline, Memory, Name, Named, Processes, Ratio, Runs};

/// Which columns stand in the table, the widest choice first.
const SHAPES: [&[Column]; 4] = [
    &[Named, Processes, Headline, Ratio, Elapsed, Cpu, Busy, Memory, Runs],
    &[Name, Processes, Headline, Ratio, Elapsed, Cpu, Busy, Memory, Runs],
    &[Name, Processes, Headline, Ratio, Elapsed, Cpu, Busy],
    &[Name, Processes, Headline, Ratio],
];

/// What cells are made from.
struct Grid<'a> {
    document: &'a Document<'a>,
    commands: &'a Commands,
    headline: &'a Quantity,
    style: Style,
}

impl Grid<'_> {
    fn is_used(&self, column: Column) -> bool {
        match column {
            Processes => self.commands.is_per_session,
            Headline => !self.has_jobs(),
            Cpu => self.commands.cpu().is_some(),
            Elapsed => self.headline.metric != ELAPSED && !self.has_jobs(),
            _ => true,
        }
    }

    /// Whether the table of a work list's jobs stands above.
    fn has_jobs(&self) -> bool {
        tells_headline(self.document.analysis)
    }

    fn header(&self, column: Column) -> String {
        match column {
            Named | Name => "treatment".to_owned(),
            Processes => "processes".to_owned(),
            Headline => heading(self.headline),
            Ratio if self.has_jobs() => format!("s/item over {}", self.document.common_baseline()),
            Ratio => format!("ratio to {}", self.document.common_baseline()),
            Elapsed => "elapsed".to_owned(),
            Cpu => self.commands.cpu().map_or_else(String::new, cpu_heading),
            Busy => "busy CPUs".to_owned(),
            Memory => "memory".to_owned(),
            Runs => "runs".to_owned(),
        }
    }

    fn cell(&self, column: Column, row: &Row<'_>) -> String {
        let none = || NONE.to_owned();
        match column {
            Name => row.label.to_owned(),
            Named => named(row.label, &row.treatment.placement),
            Processes => row.treatment.sessions.to_string(),
            Headline => row.value.map_or_else(none, |own| with_half(self.headline, own)),
            Ratio => ratio_cell(row, self.style),
            Elapsed => self.other(row, ELAPSED),
            Cpu => self.commands.cpu().map_or_else(none, |own| self.other(row, &own.metric)),
            Busy => {
                let own = self.value(row, BUSY_CPUS);
                own.map_or_else(none, |busy| significant(busy.mean, 3))
            }
            Memory => self.other(row, MEMORY),
            Runs => runs(self.document, row),
        }
    }

    fn value(&self, row: &Row<'_>, metric: &str) -> Option<&Interval> {
        match row.is_baseline() {
            true => self.commands.baseline(&row.treatment.group, metric),
            false => summary(self.document, &row.treatment.name)?.metrics.get(metric),
        }
    }

    fn other(&self, row: &Row<'_>, metric: &str) -> String {
        let own = self.value(row, metric).zip(self.commands.quantity(metric));
        own.map_or_else(|| NONE.to_owned(), |(own, quantity)| value(quantity, own.mean))
    }
}

/// `10.2 s ±1.0%`, without the share where the mean is 0 or less.
fn with_half(quantity: &Quantity, own: &Interval) -> String {
    let side = (own.high - own.mean).max(own.mean - own.low);
    let half = match own.mean > 0.0 && side.is_finite() {
        true => format!(" ±{}", share(side / own.mean)),
        false => String::new(),
    };
    format!("{}{half}", value(quantity, own.mean))
}

fn ratio_cell(row: &Row<'_>, style: Style) -> String {
    match (row.estimate, row.gap) {
        (Some(estimate), _) => {
            let mark = Mark::of(estimate);
            let words = if estimate.effect { format!(" {}", mark_words(estimate)) } else { String::new() };
            format!("{} {}{words}", style.sign(mark), ratio_words(estimate))
        }
        (None, Some(reason)) => format!("no ratio: {reason}"),
        (None, None) if row.is_baseline() => "baseline, twice".to_owned(),
        (None, None) => NONE.to_owned(),
    }
}

fn treatments(document: &Document, commands: &Commands, headline: &Quantity, style: Style) -> String {
    let grid = Grid { document, commands, headline, style };
    for shape in SHAPES {
        let shown: Vec<Column> = shape.iter().copied().filter(|column| grid.is_used(*column)).collect();
        let header = |column: &Column| plain(&grid.header(*column), style.unicode);
        let mut cells = vec![shown.iter().map(header).collect::<Vec<String>>()];
        // Lines that a group's name stands before.
        let mut heads: Vec<(usize, String)> = Vec::new();
        for (group, _) in document.groups() {
            let words = document.group_words(group);
            heads.extend((!words.is_empty()).then(|| (cells.len(), plain(&words, style.unicode))));
            let indent = if words.is_empty() { "" } else { "  " };
            for row in rows(document, group, headline) {
                let own = shown.iter().map(|column| plain(&grid.cell(*column, &row), style.unicode));
                let mut own: Vec<String> = own.collect();
                own[0].insert_str(0, indent);
                cells.push(own);
            }
        }
        let left = [0, shown.iter().position(|column| *column == Ratio).unwrap_or(0)];
        let aligned = Aligned::new(cells, &left, style.width);
        let lines: Vec<String> =
            aligned.rows.iter().map(|row| row.join(aligned.gap).trim_end().to_owned()).collect();
        if lines.iter().all(|line| columns(line) <= style.width) {
            return super::queries::ruled(&lines, &heads, style);
        }
    }
    list(&grid)
}

/// Each treatment with its figures below its name.
fn list(grid: &Grid<'_>) -> String {
    let style = grid.style;
    let mut text = String::new();
    let mut line = |line: &str| text.push_str(&format!("{line}\n"));
    for (group, _) in grid.document.groups() {
        let words = plain(&grid.document.group_words(group), style.unicode);
        if !words.is_empty() {
            wrap(&words, style.width).iter().for_each(|own| line(own));
        }
        for row in rows(grid.document, group, grid.headline) {
            wrap(&plain(&grid.cell(Named, &row), style.unicode), style.width)
                .iter()
                .for_each(|own| line(own));
            let shown = SHAPES[0].iter().skip(1).filter(|column| grid.is_used(**column));
            let parts: Vec<String> = shown
                .map(|column| match column {
                    Ratio if grid.has_jobs() && row.estimate.is_some() => {
                        format!("s/item {}", grid.cell(*column, &row))
                    }
                    Ratio => grid.cell(*column, &row),
                    _ => format!("{} {}", grid.header(*column), grid.cell(*column, &row)),
                })
                .map(|part| plain(&part, style.unicode))
                .collect();
            let room = style.width.saturating_sub(4).max(20);
            flow(&parts, room).iter().for_each(|own| line(&format!("    {own}")));
        }
    }
    text
}

/// One quantity: heading with unit, direction and noise floor, then a line a treatment.
fn one(document: &Document, quantity: &Quantity, style: Style) -> String {
    let mut text = String::new();
    for (group, _) in document.groups() {
        let about = [better(quantity).to_owned(), floor_words(document, group, &quantity.metric)];
        let about: Vec<String> = about.into_iter().filter(|part| !part.is_empty()).collect();
        let place = document.group_words(group);
        let place = if place.is_empty() { String::new() } else { format!(" {place}") };
        let head = format!("{}{place} ({})", heading(quantity), about.join(", "));
        wrap(&plain(&head, style.unicode), style.width)
            .iter()
            .for_each(|line| text.push_str(&format!("{line}\n")));
        let compared = rows(document, group, quantity);
        let cells: Vec<Vec<String>> = compared
            .iter()
            .map(|row| {
                let own = row.value.map_or_else(|| NONE.to_owned(), |own| with_interval(quantity, own));
                [row.label.to_owned(), own, ratio_cell(row, style)]
                    .map(|cell| plain(&cell, style.unicode))
                    .into()
            })
            .collect();
        let aligned = Aligned::new(cells.clone(), &[0, 1, 2], style.width.saturating_sub(2));
        let lines: Vec<String> =
            aligned.rows.iter().map(|row| row.join(aligned.gap).trim_end().to_owned()).collect();
        match lines.iter().all(|line| columns(line) + 2 <= style.width) {
            true => lines.iter().for_each(|line| text.push_str(&format!("  {line}\n"))),
            false => cells.iter().for_each(|row| {
                wrap(&row[0], style.width.saturating_sub(2))
                    .iter()
                    .for_each(|line| text.push_str(&format!("  {line}\n")));
                flow(&row[1..], style.width.saturating_sub(4).max(20))
                    .iter()
                    .for_each(|line| text.push_str(&format!("    {line}\n")));
            }),
        }
    }
    text
}

/// What the columns of CPU time are.
fn cpu_legend(document: &Document, what: &str) -> String {
    let commands = document.analysis.commands.as_ref();
    let cpu = commands.and_then(Commands::cpu).map(|cpu| match cpu.metric.as_str() {
        CPU => format!("CPU/run: CPU time of one run of the {what}; "),
        _ => format!("{}: busy CPUs over the rate in the output; ", cpu_heading(cpu)),
    });
    let server = match commands.is_some_and(|own| own.has_server) {
        true => "; the bound server's CPU time is included",
        false => "",
    };
    format!("{}busy CPUs: CPU time over elapsed time{server}.", cpu.unwrap_or_default())
}

fn legend(document: &Document, style: Style) -> Vec<String> {
    let level = set_share(document.level());
    let blocks = counted(document.analysis.blocks as usize, "block");
    let what = if document.analysis.worklist.is_some() { "list" } else { "command" };
    let mut parts = vec![
        format!("±, [low, high]: {level} interval over {blocks}, a run of each treatment in each."),
        cpu_legend(document, what),
    ];
    let marks = [Mark::Higher, Mark::Lower, Mark::NoEffect, Mark::Inconclusive];
    parts.extend(marks.map(|mark| format!("{} {}", style.sign(mark), mark.words())));
    parts.push("better and worse: by what each quantity's heading says.".to_owned());
    let parts: Vec<String> = parts.iter().map(|part| plain(part, style.unicode)).collect();
    flow(&parts, style.width)
}
