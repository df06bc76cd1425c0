//! What changed with each ratio: both sides of every comparison, and whether a figure moves with the ratio from block to
//! block.

use crate::changed_with::words::{interval, name};
use crate::changed_with::{ChangedWith, Compared, Explained, Form, Link, Quantity};
use crate::workload::Nouns;
use crate::{Facts, Interval};
use threadwise_document::numbers::counted;
use threadwise_document::{Block, Cell, Column, Fold, Prose, Section, Shown, Table, prose};

/// More comparisons than this open one by one.
const MAX_OPEN: usize = 3;

/// The section; `None` where nothing is known of both sides of any comparison.
pub fn section(facts: &Facts<'_>, nouns: &Nouns) -> Option<Section> {
    let changed = facts.analysis.changed_with.as_ref()?;
    let mut blocks = vec![Block::Text(about(), Shown::Page), Block::Text(tested(changed), Shown::Page)];
    let tables = changed.comparisons.iter().map(|one| (one, table(one, nouns)));
    if changed.comparisons.len() > MAX_OPEN {
        let fold = |(one, table): (&Compared, Table)| {
            Block::Fold(Fold {
                above: "What changed, comparison by comparison",
                title: format!("{} ({})", one.comparison, said(one.answer)),
                tables: vec![table],
                ..Fold::default()
            })
        };
        blocks.extend(tables.map(fold));
    } else {
        let with_caption = |(one, table): (&Compared, Table)| {
            let caption = format!("{} ({})", one.comparison, said(one.answer));
            Block::Table(Table { caption: caption.into(), ..table })
        };
        blocks.extend(tables.map(with_caption));
    }
    let line = prose!(
        "what changed beside {}: in the HTML report, and with --json. {}",
        counted(changed.comparisons.len(), "ratio"),
        tested(changed)
    );
    blocks.push(Block::Text(line, Shown::Terminal));
    Some(Section::new("changed-with", "What changed with each ratio", blocks))
}

fn about() -> Prose {
    "Figures of both sides are means over the blocks that both have; changes are paired by block, and their intervals hold \
     for all figures of a table together. That a figure differs between the sides is no reason for the ratio: whatever \
     a placement changes differs. A figure that moves with the ratio from block to block is evidence of another kind, \
     though none of cause."
        .into()
}

/// What was tested, and how many blocks it takes.
fn tested(changed: &ChangedWith) -> Prose {
    if let Some(why) = changed.not_tested {
        return prose!("Whether any moves with the ratio is not tested: {}.", why);
    }
    if changed.tested == 0 {
        return "Whether any moves with the ratio is not tested: no figure that is free of the rate varies in 12 blocks or more."
            .into();
    }
    let most = changed.comparisons.iter().map(|one| one.blocks).max().unwrap_or(0);
    let needed = changed.blocks_needed;
    let enough = if most >= needed { "there are" } else { "here are" };
    prose!(
        "Whether any moves with the ratio: {} tested together; to say that none does takes {} blocks, and {} {}.",
        counted(changed.tested as usize, "link"),
        needed,
        enough,
        most
    )
}

/// What is said of a comparison, in a few words.
fn said(answer: Explained) -> &'static str {
    match answer {
        Explained::Moves => "something moves with it",
        Explained::Unexplained => "unexplained",
        Explained::TooFewBlocks => "too few blocks to say what moves with it",
        Explained::NoDifference => "no difference shown",
        Explained::NotTested => "not tested",
    }
}

fn table(one: &Compared, nouns: &Nouns) -> Table {
    let below = one.baseline.split(" and ").next().unwrap_or(&one.baseline);
    let has_links = one.quantities.iter().any(|quantity| quantity.link.is_some());
    let mut columns = vec![Column::text("figure"), Column::figure(below), Column::figure(&one.treatment)];
    columns.extend([Column::figure("change"), Column::figure("blocks")]);
    if has_links {
        columns.extend([Column::figure("rank correlation with the ratio"), Column::text("moves with it")]);
    }
    let rows = one.quantities.iter().map(|quantity| {
        let mut cells = vec![
            Cell::text(label(quantity, nouns)),
            Cell::Interval(quantity.baseline.clone()),
            Cell::Interval(quantity.treatment.clone()),
            change(quantity),
            Cell::Count(quantity.change.blocks.into()),
        ];
        if has_links {
            cells.extend(moves(quantity));
        }
        cells
    });
    Table::new("", columns, rows).shown(Shown::Page)
}

/// A figure's name with its unit, and the kind's word for a row.
fn label(quantity: &Quantity, nouns: &Nouns) -> String {
    let name = name(&quantity.metric);
    let name = match nouns.row {
        "row" => name,
        row if name.ends_with(" per row") => format!("{} per {row}", name.trim_end_matches(" per row")),
        _ if name == "rows per joule" => format!("{} per joule", nouns.noun),
        _ => name,
    };
    match quantity.baseline.unit.as_str() {
        unit @ ("MHz" | "W") => format!("{name}, {unit}"),
        _ => name,
    }
}

fn change(quantity: &Quantity) -> Cell {
    let adjusted: Interval = quantity.change.adjusted();
    match adjusted.unit.as_str() {
        "points" => Cell::Share(adjusted),
        _ => Cell::Interval(adjusted),
    }
}

fn moves(quantity: &Quantity) -> [Cell; 2] {
    match &quantity.link {
        Some(link) => [Cell::Interval(interval(link)), Cell::text(link_words(link))],
        None => [Cell::none(), Cell::text(quantity.not_tested.unwrap_or("not tested"))],
    }
}

fn link_words(link: &Link) -> String {
    let form = match link.form {
        Form::AsItIs => "",
        Form::PerSecond => " (per second)",
        Form::PerRow => " (per row)",
    };
    format!("{}{form}", if link.shown { "yes" } else { "not shown" })
}
