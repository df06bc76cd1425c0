//! Ratios of one metric inside one group, as dots around 1 and as a table.

use crate::{Estimate, Facts};
use threadwise_document::chart::{RatioChart, RatioRow};
use threadwise_document::numbers::set_percent;
use threadwise_document::{Cell, Chart, Column, Figure, Says, Shown, Table};

/// Texts of a figure of ratios.
pub struct Words {
    /// Its heading.
    pub title: String,
    /// What is drawn, in a sentence or two.
    pub description: String,
    /// Title of its axis; that of all charts of the report if `None`.
    pub axis: Option<String>,
    /// Heading of its table.
    pub caption: String,
    /// Word for a ratio above 1.
    pub says: Says,
}

/// Meaning of the signs of the figure, for its description.
pub fn signs(facts: &Facts<'_>) -> String {
    let margin = set_percent(facts.study.design.margin);
    format!(
        "The band around 1 is the margin, ±{margin}: anything within it counts as the same. A dot is filled if the \
         interval excludes 1 and reaches beyond the band."
    )
}

/// The figure; none if nothing is compared.
pub fn figure(facts: &Facts<'_>, group: &str, metric: &str, words: Words) -> Option<Figure> {
    let is_shown =
        |estimate: &&Estimate| estimate.metric == metric && facts.group_of(&estimate.treatment) == group;
    let estimates: Vec<&Estimate> = facts.analysis.estimates.iter().filter(is_shown).collect();
    let margin = 1.0 + facts.study.design.margin;
    (!estimates.is_empty()).then(|| Figure {
        wide: false,
        title: facts.titled(&words.title, group),
        description: words.description,
        table: table(facts, &estimates, words.caption, words.says),
        chart: Chart::Ratios(RatioChart {
            group: group.to_owned(),
            what: words.axis,
            margin_low: margin.recip(),
            margin_high: margin,
            rows: estimates.iter().map(|estimate| row(facts, estimate, words.says)).collect(),
        }),
    })
}

fn row(facts: &Facts<'_>, estimate: &Estimate, says: Says) -> RatioRow {
    let [label, against] = facts.compared(estimate);
    RatioRow::new(label, against, &estimate.ratio, says)
}

fn table(facts: &Facts<'_>, estimates: &[&Estimate], caption: String, says: Says) -> Table {
    let columns = ["comparison", "compared", "ratio"].map(Column::text);
    let rows = estimates.iter().map(|estimate| {
        let [label, against] = facts.compared(estimate);
        vec![Cell::text(label), Cell::text(against), Cell::Ratio(estimate.ratio.clone(), says)]
    });
    Table::new(caption, columns.into(), rows).shown(Shown::Page)
}
