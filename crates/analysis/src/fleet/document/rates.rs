//! Tables of rates and of rates per price.

use super::ratios::between_kinds;
use crate::fleet::judged::{Judged, JudgedRate, KindRate};
use threadwise_document::{Block, Cell, Column, Prose, Section, Shown, Table, prose};

/// What the row of the fastest treatment of each kind is called.
pub(super) const FASTEST: &str = "fastest of each";

/// The section; `None` where no study has a rate.
pub(super) fn section(judged: &Judged) -> Option<Section> {
    if judged.rates.is_empty() && judged.studies_of_other_work == 0 {
        return None;
    }
    let mut blocks = Vec::new();
    blocks.extend(gap(judged).map(|text| Block::Text(text, Shown::Everywhere)));
    if let Some(first) = judged.rates.first() {
        let cell = |cell: &KindRate| of_kind(cell, cell.mean.as_ref());
        blocks.push(Block::Table(table(judged, &format!("Rates, {}", first.unit), cell)));
        let between = judged.rates.iter().map(|rate| (name(rate), rate.between.as_slice()));
        let between = between_kinds("Rates of kinds against each other", "rate", between.collect());
        blocks.extend(between.map(|table| Block::Table(table.shown(Shown::Page))));
        blocks.extend(prices(judged, first));
    }
    Some(Section::new("rates", "Rates by kind of machine", blocks))
}

/// Why studies take no part.
pub(super) fn gap(judged: &Judged) -> Option<Prose> {
    let other = judged.studies_of_other_work as usize;
    let are = if other == 1 { "takes" } else { "take" };
    (other > 0).then(|| {
        prose!(
            "Rates are compared among studies of the same plan, engine version and data: {} {} no part, of other work or of \
             work that is not known.",
            super::words::studies(other),
            are
        )
    })
}

fn name(rate: &JudgedRate) -> &str {
    if rate.is_fastest() { FASTEST } else { &rate.treatment }
}

/// A row a treatment, a column a kind.
fn table(judged: &Judged, caption: &str, cell: impl Fn(&KindRate) -> Cell) -> Table {
    let rows = judged.rates.iter().map(|rate| {
        let cells = rate.cells.iter().map(|one| match rate.is_fastest() && !one.treatment.is_empty() {
            true => Cell::Both(Box::new(cell(one)), Box::new(Cell::Text(format!("({})", one.treatment)))),
            false => cell(one),
        });
        std::iter::once(Cell::text(name(rate))).chain(cells).collect()
    });
    let kinds = judged.kinds.iter().map(|kind| Column::text(&kind.name).shorten_at(1));
    let columns = std::iter::once(Column::text("treatment")).chain(kinds).collect();
    Table::new(caption.to_owned(), columns, rows)
}

fn of_kind(cell: &KindRate, figure: Option<&crate::Interval>) -> Cell {
    match figure {
        Some(interval) if interval.has_ends() => Cell::Interval(interval.clone()),
        Some(interval) => Cell::Mean(interval.clone()),
        None => Cell::Gap(cell.reason.clone().unwrap_or_default()),
    }
}

/// What a unit of the currency buys, with where its prices are from.
fn prices(judged: &Judged, first: &JudgedRate) -> Vec<Block> {
    let priced = judged.kinds.iter().filter_map(|kind| Some((&kind.name, kind.price.as_ref()?)));
    let sources: Vec<String> = priced
        .clone()
        .map(|(kind, price)| {
            let amount = threadwise_document::numbers::set_number(price.amount);
            format!("{kind} {amount} {} an hour ({}, {})", price.currency, price.date, price.source)
        })
        .collect();
    let mut currencies: Vec<&str> = priced.map(|(_, price)| price.currency.as_str()).collect();
    currencies.dedup();
    let counted = first.unit.strip_suffix("/s").unwrap_or(&first.unit);
    let per = match currencies.as_slice() {
        [] => return Vec::new(),
        [one] => (*one).to_owned(),
        _ => "unit of each kind's currency".to_owned(),
    };
    let cell = |cell: &KindRate| match cell.per_price.as_ref() {
        None if cell.mean.is_some() => Cell::Gap("no price".to_owned()),
        per_price => of_kind(cell, per_price),
    };
    let mut blocks =
        vec![Block::Table(table(judged, &format!("Rates per price, {counted} per {per}"), cell))];
    let between = judged.rates.iter().map(|rate| (name(rate), rate.between_per_price.as_slice()));
    let between =
        between_kinds("Rates per price of kinds against each other", "per price", between.collect());
    blocks.extend(between.map(|table| Block::Table(table.shown(Shown::Page))));
    let text = prose!("Prices as they were typed in: {}.", sources.join("; "));
    blocks.push(Block::Text(text, Shown::Everywhere));
    blocks
}
