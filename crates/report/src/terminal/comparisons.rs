//! Comparisons that stand in no column of a table.

use super::lines::{columns, wrap};
use super::{GREEN, Style, YELLOW};
use crate::text::{plain, ratio_interval};
use crate::{Document, Mark};
use threadwise_analysis::Estimate;

/// The comparisons that are in no column of the table, a line each; empty where there is none.
pub fn comparisons(document: &Document, style: Style) -> String {
    let all: Vec<(String, &Estimate)> =
        document.other_ratios().map(|estimate| (plain(&estimate.name, style.unicode), estimate)).collect();
    let Some(widest) = all.iter().map(|(name, _)| columns(name)).max() else { return String::new() };
    let mut text = "comparisons\n".to_owned();
    for (name, estimate) in all {
        let mark = Mark::of(estimate);
        let words = document.mark_words(estimate);
        let sign = match words {
            "higher" | "better" => style.paint(GREEN, style.sign(mark)),
            "lower" | "worse" => style.paint(YELLOW, style.sign(mark)),
            _ => style.sign(mark).to_owned(),
        };
        let ratio = ratio_interval(estimate.ratio.value, estimate.ratio.low, estimate.ratio.high);
        let figures = format!("{ratio}  {sign} {words}");
        let figures_width = columns(&ratio) + 4 + columns(words);
        match 4 + widest + figures_width <= style.width {
            true => text.push_str(&format!("  {name:widest$}  {figures}\n")),
            false => {
                let name = wrap(&name, style.width.saturating_sub(2));
                name.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
                text.push_str(&format!("    {figures}\n"));
            }
        }
    }
    text
}
