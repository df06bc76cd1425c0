//! Published measurements: as documents of their own, and compared with the ratios of a study that repeats them. Pure.
//!
//! The answer about a pair is whether the published number is in the measured interval, not why it is not: machine,
//! engine, size and year all differ at once.

mod beside;
#[cfg(test)]
mod tests;

pub use beside::{Beside, Differs, NotRedone, Row, beside_any, beside_same, section};

use crate::Facts;
use beside::{cannot, cannot_redo, counts_of};
use threadwise_document::chart::{ValueChart, ValueRow};
use threadwise_document::screen::{BAR, Screen, Trust, TrustLevel, cut};
use threadwise_document::{
    Block, Cell, Chart, Column, Document, Prose, Row as TableRow, Section, Shown, Table, prose,
};
use threadwise_published::{Arm, Figure, Kind, Published};

/// The list of published studies, each with the command that repeats it.
pub fn list_document(all: &[Published]) -> Document {
    let table = Table::of(
        "",
        all,
        &[
            (Column::text("name"), &|one| Cell::text(&one.name)),
            (Column::text("what was measured"), &|one| Cell::text(&one.short)),
            (Column::text("repeat it with"), &|one| Cell::text(&one.command)),
        ],
    );
    let more = Block::text("All figures of one study: `threadwise published NAME`.");
    let (title, blocks) = ("Published measurements", vec![Block::Table(table), more]);
    let sections = vec![Section::new("published", title, blocks)];
    Document { title: title.to_owned(), sections, ..Document::default() }
}

/// One published study. `all` is the command that prints it.
pub fn document(published: &Published, program_version: &str, all: &str) -> Document {
    let source = &published.source;
    let author = source.author.as_ref().map(|author| format!("by {author}"));
    let about = [
        source.title.as_ref().unwrap_or(&source.subject).clone(),
        author.unwrap_or_else(|| "author not stated".to_owned()),
        source.year.map_or("year not stated".to_owned(), |year| year.to_string()),
    ];
    let about = about.into_iter().chain(source.url.clone()).collect();
    let sections = [
        Some(setting(published)),
        Some(arms(published)),
        Some(figures(published)),
        Some(ratios(published)),
        slips(published),
        said(published),
        not_redone(published),
    ];
    Document {
        title: format!("Published: {}", published.about),
        about,
        sections: sections.into_iter().flatten().collect(),
        footer: format!("threadwise {program_version}"),
        picture: published.charts.first().map(|chart| Box::new(drawn(published, chart))),
        screen: screen(published, all),
        ..Document::default()
    }
}

/// Its answer, with its first chart.
fn screen(published: &Published, all: &str) -> Screen {
    let Published { short, engine, machine, .. } = published;
    Screen {
        subject: cut(&format!("Published, {short}: {} on {}", engine.name, machine.model)),
        answer: Prose::from(published.answer()).sentences(),
        trust: trust(),
        table: published.charts.first().map(|chart| bars(published, chart)),
        set: Vec::new(),
        why: Vec::new(),
        next: prose!("`{}`: the same here", &published.command),
        files: prose!("everything: {}", Prose::command(all)),
    }
    .fitted()
}

/// How far to trust it.
pub fn trust() -> Trust {
    let reasons = vec!["Published once, by one run, without intervals.".into()];
    Trust { level: TrustLevel::Fair, reasons }
}

/// A chart for a screen: each figure with its bar.
fn bars(published: &Published, chart: &threadwise_published::Chart) -> Table {
    let dots = dots(published, chart);
    let most = dots.iter().map(|dot| dot.mean).fold(0.0, f64::max);
    Table::of(
        "",
        dots,
        &[
            (Column::text(&chart.title), &|dot| Cell::text(&dot.label)),
            (Column::figure(""), &|dot| Cell::text(&dot.figures)),
            (Column::text("").drop_at(1), &|dot| Cell::Bar { share: dot.mean / most, columns: BAR }),
        ],
    )
}

/// The comparison of a published study with a result file, alone.
pub fn beside_document(facts: &Facts<'_>, published: &Published, program_version: &str) -> Document {
    let found = beside_any(facts, published);
    Document {
        title: format!("Published {} and measured {}", published.name, facts.source),
        simulated: facts.is_simulated(),
        sections: vec![section(facts, &found)],
        footer: format!("threadwise {program_version}"),
        ..Document::default()
    }
}

fn setting(published: &Published) -> Section {
    let source = &published.source;
    let year = source.year.map(|year| year.to_string());
    let rows = [
        ("source", source.title.clone().unwrap_or_else(|| format!("{} (title not stated)", source.subject))),
        ("author", source.author.clone().unwrap_or_else(|| "not stated".to_owned())),
        ("year", year.unwrap_or_else(|| "not stated".to_owned())),
        ("machine", format!("{}: {}", published.machine.model, counts_of(&published.machine))),
        ("engine", published.engine.name.clone()),
        ("size", published.size.about.clone()),
        ("repeat it with", published.command.clone()),
    ];
    let rows = rows.into_iter().map(|(name, value)| vec![Cell::text(name), Cell::Text(value)]);
    let table = Table::new("Where and on what", ["", ""].map(Column::text).into(), rows).plain();
    let how = published.setup.iter().map(Prose::from).collect();
    Section::new("setting", "Setting", vec![Block::Table(table), Block::List(how, Shown::Everywhere)])
}

fn arms(published: &Published) -> Section {
    let table = Table::of(
        "What was run",
        &published.arms,
        &[
            (Column::text("arm as published"), &|arm| Cell::text(&arm.name)),
            (Column::text("placement here"), &|arm| Cell::text(&arm.placement)),
            (Column::text("sessions, DOP or jobs"), &|arm| Cell::Text(amount(arm))),
            (Column::text("SMT"), &|arm| Cell::text(&arm.smt)),
            (Column::text("repeat it with").drop_at(1), &|arm| match published.redo_arm(arm) {
                Ok(command) => Cell::text(command),
                Err(why) => Cell::Text(format!("no command yet: {why}")),
            }),
        ],
    );
    Section::new("published-arms", "Arms", vec![Block::Table(table)])
}

fn amount(arm: &Arm) -> String {
    let parts = [
        arm.sessions.map(|count| format!("{count} sessions")),
        arm.dop.map(|count| format!("DOP {count}")),
        arm.jobs.map(|count| format!("{count} jobs")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn figures(published: &Published) -> Section {
    let columns = vec![
        Column::text("figure"),
        Column::figure("value"),
        Column::text("printed, or how it follows").shorten_at(1),
    ];
    let mut table = Table::new("Printed figures, and what follows from them", columns, []);
    for arm in published.arms.iter().map(Some).chain([None]) {
        let of_arm = |figure: &&Figure| figure.arm.as_deref() == arm.map(|arm| arm.id.as_str());
        let rows: Vec<TableRow> =
            published.figures.iter().filter(of_arm).map(|figure| row(published, figure)).collect();
        if !rows.is_empty() {
            table.rows.push(TableRow::Group(arm.map_or("all arms together", |arm| &arm.name).to_owned()));
            table.rows.extend(rows);
        }
    }
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(published.charts.iter().map(|chart| Block::Figure(Box::new(drawn(published, chart)))));
    Section::new("figures", "Figures", blocks)
}

fn row(published: &Published, figure: &Figure) -> TableRow {
    let slip = if published.slip(&figure.id).is_some() { ", a slip" } else { "" };
    let (origin, follows) = match figure.is_printed() {
        true => (format!("printed{slip}"), "follows as "),
        false => ("recomputed".to_owned(), ""),
    };
    let formula = figure.formula.as_ref();
    let formula = formula.map(|formula| format!("{follows}{}", published.formula_words(formula)));
    let about: Vec<String> = formula.into_iter().chain(figure.note.clone()).collect();
    let query = figure.query.map_or(String::new(), |query| format!("Q{query}: "));
    TableRow::Cells(vec![
        Cell::Text(format!("{query}{}", figure.what)),
        Cell::Text(figure.text()),
        Cell::Named { name: origin, about: about.join("; ") },
    ])
}

/// The figures of a chart, those without a number left out.
fn dots(published: &Published, chart: &threadwise_published::Chart) -> Vec<ValueRow> {
    let dot = |(at, id): (usize, &String)| {
        let figure = published.figure(id)?;
        let arm = figure.arm.as_deref().and_then(|arm| published.arm(arm));
        let usual = || arm.map_or(&figure.what, |arm| &arm.name);
        Some(ValueRow {
            label: chart.labels.get(at).unwrap_or_else(usual).clone(),
            against: String::new(),
            mean: figure.number()?,
            low: None,
            high: None,
            figures: figure.text(),
        })
    };
    chart.figures.iter().enumerate().filter_map(dot).collect()
}

fn drawn(published: &Published, chart: &threadwise_published::Chart) -> threadwise_document::Figure {
    let dots = dots(published, chart);
    let rows: Vec<Vec<Cell>> =
        dots.iter().map(|dot| vec![Cell::text(&dot.label), Cell::text(&dot.figures)]).collect();
    let columns = vec![Column::text(""), Column::figure(&chart.what)];
    threadwise_document::Figure {
        wide: false,
        title: chart.title.clone(),
        description: "Published numbers, without intervals: each is from one run, or the mean of two."
            .to_owned(),
        table: Table::new("", columns, rows).shown(Shown::Page),
        chart: Chart::Values(ValueChart { what: chart.what.clone(), rows: dots }),
    }
}

fn ratios(published: &Published) -> Section {
    let known = published.comparisons.iter();
    let known = known.filter_map(|one| Some((&one.name, published.figure(&one.figure)?)));
    let table = Table::of(
        "Ratios that a study is compared with",
        known,
        &[
            (Column::text("comparison"), &|(name, _)| Cell::text(*name)),
            (Column::text("what was compared").shorten_at(1), &|(_, figure)| Cell::text(&figure.what)),
            (Column::figure("ratio of rates"), &|(_, figure)| Cell::Text(figure.text())),
        ],
    );
    Section::new("published-ratios", "Ratios", vec![Block::Table(table)])
}

fn slips(published: &Published) -> Option<Section> {
    let line = |slip: &threadwise_published::Slip| {
        let printed = published.figure(&slip.figure).map_or_else(String::new, Figure::text);
        prose!("{}: {}", Prose::figure(printed), &slip.text)
    };
    let head = "Slips: printed figures that do not follow from the others.";
    lines("slips", "Slips", head, published.slips.iter().map(line).collect())
}

fn said(published: &Published) -> Option<Section> {
    let line = |said: &threadwise_published::Statement| {
        let kind = match said.kind {
            Kind::Claim => "stated, not measured",
            Kind::Question => "asked, open",
            Kind::Picture => "in a picture only",
        };
        match published.redo_statement(said) {
            Ok(command) => prose!("{}: {} `{}`", kind, &said.text, command),
            Err(why) => prose!("{}: {} No command yet: {}.", kind, &said.text, why),
        }
    };
    let head = "Stated, asked or drawn without a figure:";
    lines("said", "Without a figure", head, published.statements.iter().map(line).collect())
}

/// A section of lines below a heading; `None` without a line.
fn lines(id: &'static str, title: &str, head: &str, lines: Vec<Prose>) -> Option<Section> {
    let is_any = !lines.is_empty();
    let blocks = vec![Block::text(head), Block::List(lines, Shown::Everywhere)];
    is_any.then(|| Section::new(id, title, blocks))
}

fn not_redone(published: &Published) -> Option<Section> {
    let blocks = cannot(&cannot_redo(published));
    (!blocks.is_empty()).then(|| Section::new("not-redone", "What no command can repeat yet", blocks))
}
