//! "Did it change?" as a document: the answer first, then treatments, comparisons, what differs, the studies.

use super::{Change, ChangeVerdict, Changed};
use crate::FindingKind;
use crate::compare::{aspects, mind, studies_section};
use crate::estimate::THROUGHPUT;
use crate::words::{finding, first, more};
use crate::{Direction, Interval};
use threadwise_document::numbers::{self, counted};
use threadwise_document::{
    Block, Cell, Column, Document, Finding, Prose, Says, Section, Shown, Table, prose,
};

/// Most treatments that the answer names.
const MAX_NAMED: usize = 4;

/// The report of two sides.
pub fn document(change: &Change<'_>, program_version: &str) -> Document {
    let (before, after) = (change.studies_before as usize, change.studies_after as usize);
    let columns = [
        ("before".to_owned(), (0..before).collect()),
        ("after".to_owned(), (before..before + after).collect()),
    ];
    let ratios = table("comparison", &change.comparisons, change, Says::Higher);
    let headings = ["", "side", "result file", "begun", "engine", "blocks"];
    let method = Block::text(method(change));
    let sections = [
        Some(Section::new("change", "After over before", treatments(change))),
        (!change.comparisons.is_empty())
            .then(|| Section::new("comparisons", "Ratios of the studies", vec![Block::Table(ratios)])),
        Some(aspects::section(&change.aspects, &columns)),
        Some(studies_section(&change.studies, &headings)),
        Some(Section::new("method", "How it is judged", vec![method])),
    ];
    Document {
        title: format!("Did it change? {}, after over before", change.quantity.name),
        simulated: change.studies.iter().any(|study| study.simulated),
        verdict: answer(change).into_iter().chain(mind(&change.cautions)).collect(),
        sections: sections.into_iter().flatten().collect(),
        footer: format!("threadwise {program_version}"),
        ..Document::default()
    }
}

/// The answer, and what to do if there is none.
pub fn answer(change: &Change<'_>) -> Vec<Finding> {
    if !change.can_tell() {
        return cannot_tell(change);
    }
    let all = counted(change.treatments.len(), "treatment");
    let margin = numbers::set_percent(change.margin);
    let those = |verdict: ChangeVerdict| -> Vec<&Changed<'_>> {
        let found = change.treatments.iter().filter(|changed| changed.verdict == verdict);
        found.filter(|changed| !changed.is_regression).collect()
    };
    let (worse, same, open) =
        (change.regressions(), those(ChangeVerdict::Same), those(ChangeVerdict::Undecided));
    // Results that are shown, regressions first.
    let mut heads = vec![(format!("It got worse: {} of {all} by {margin} or more", worse.len()), worse)];
    for (verdict, words) in [
        (ChangeVerdict::Worse, "worse by less"),
        (ChangeVerdict::Better, "better"),
        (ChangeVerdict::Higher, "higher"),
        (ChangeVerdict::Lower, "lower"),
    ] {
        let found = those(verdict);
        let is_first = heads.iter().all(|(_, before)| before.is_empty());
        let start = if is_first { "It changed: " } else { "" };
        heads.push((format!("{start}{} of {all} {words}", found.len()), found));
    }
    let mut lines = Vec::new();
    if heads.iter().all(|(_, found)| found.is_empty()) {
        lines.push(match open.is_empty() {
            true => {
                line(prose!("It did not change: all {} are within the margin of {}.", all, margin), &same)
            }
            false => line(prose!("No change is shown: {} of {} are undecided.", open.len(), all), &open),
        });
    }
    let undecided = "Undecided, more studies per side decide it".to_owned();
    let reach = reach_words(change, &open).map(|words| prose!("{}.", numbers::capital(&words)));
    let reach = reach.map(|text| line(text, &open));
    if same.len() < change.treatments.len() {
        heads.push((format!("Within the margin of {}", numbers::set_percent(change.margin)), same));
    }
    heads.push((undecided, open));
    let heads = heads.into_iter().filter(|(_, found)| !found.is_empty());
    lines.extend(heads.map(|(head, found)| line(prose!("{}: {}.", head, named(&found)), &found)));
    lines.into_iter().chain(reach).collect()
}

/// The smallest change that the studies could have shown of some treatments, and how many more would show the margin:
/// for the treatment with the least power.
pub fn reach_words(change: &Change<'_>, open: &[&Changed<'_>]) -> Option<String> {
    let reaches = open.iter().filter_map(|changed| Some((*changed, changed.reach?)));
    let (widest, reach) = reaches.max_by(|one, other| f64::total_cmp(&one.1.smallest, &other.1.smallest))?;
    let smallest = match widest.ratio.direction {
        Direction::HigherIsBetter => numbers::ratio(1.0 / reach.smallest),
        Direction::LowerIsBetter | Direction::Neither => numbers::ratio(reach.smallest),
    };
    let fewest = change.studies_before.min(change.studies_after);
    let margin = numbers::set_percent(change.margin);
    let more = reach.studies.map(|studies| studies.saturating_sub(fewest).max(1));
    let more = more.map(|more| {
        let what = match (more, change.is_paired) {
            (1, false) => "study per side shows",
            (1, true) => "pair shows",
            (_, false) => "studies per side show",
            (_, true) => "pairs show",
        };
        format!("about {more} more {what} one of {margin}")
    });
    let more = more.unwrap_or_else(|| {
        format!(
            "one of {margin} would take more than 1,000: run longer ones (--blocks), or all of them with a larger --margin"
        )
    });
    Some(format!(
        "the smallest change of {} that these studies could have shown is {smallest}x; {more}",
        widest.name
    ))
}

/// Obstacles to an answer, and how to remove them.
fn cannot_tell(change: &Change<'_>) -> Vec<Finding> {
    let obstacles = change.obstacles.iter().enumerate().map(|(at, obstacle)| match at {
        0 => prose!("These studies cannot tell whether it changed: {}.", obstacle),
        _ => prose!("Besides, {}.", obstacle),
    });
    let next = prose!(
        "Measure at least three times before and three times after, in turns: `threadwise compare --before A1 A2 A3 --after B1 \
         B2 B3`."
    );
    obstacles.chain([next]).map(|text| line(text, &[])).collect()
}

fn line(text: Prose, rests_on: &[&Changed<'_>]) -> Finding {
    finding(FindingKind::Change, text, &rests_on.iter().map(|changed| changed.name).collect::<Vec<_>>())
}

/// Names with the interval that decides.
fn named(changes: &[&Changed<'_>]) -> Prose {
    let all = changes.iter().map(|changed| prose!("{} {}", changed.name, &changed.ratio.decisive()));
    Prose::list(first(all, MAX_NAMED, more))
}

/// Treatments, and those that are not compared.
fn treatments(change: &Change<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::Table(table("treatment", &change.treatments, change, Says::Better))];
    if !change.left_out.is_empty() {
        let lines = change.left_out.iter();
        let lines = lines.map(|one| Prose::from(format!("{} is not compared: {}", one.name, one.reason)));
        blocks.push(Block::List(lines.collect(), Shown::Everywhere));
    }
    blocks
}

/// One row per treatment or comparison, with the interval that decides.
fn table(what: &str, changes: &[Changed<'_>], change: &Change<'_>, says: Says) -> Table {
    let ratio = |changed: &&Changed<'_>| match change.can_tell() {
        true => Cell::Ratio(changed.ratio.decisive(), says),
        false => Cell::BareRatio(changed.ratio.clone()),
    };
    let side = |interval: &Interval| match interval.has_ends() {
        true => Cell::Interval(interval.clone()),
        false => Cell::Mean(interval.clone()),
    };
    let is_rate = change.quantity.metric == THROUGHPUT && what == "treatment";
    let unit = if is_rate { format!(", {}", change.quantity.name) } else { String::new() };
    let heading = |side: &str| Column::figure(format!("{side}{unit}")).shorten_at(1).drop_at(3);
    Table::of(
        "",
        changes,
        &[
            (Column::text(what), &|changed| Cell::text(changed.name)),
            (heading("before"), &|changed| side(&changed.before)),
            (heading("after"), &|changed| side(&changed.after)),
            (Column::text("after / before").shorten_at(2), &ratio),
        ],
    )
}

/// What intervals are made of, and the definition of a regression.
fn method(change: &Change<'_>) -> Prose {
    let (before, after) = (change.studies_before, change.studies_after);
    let (count, test) = match change.is_paired {
        true => (counted(before as usize, "pair"), "Student's t over the differences of pairs"),
        false if (before, after) == (1, 1) => {
            return prose!(
                "With one study per side the interval is made from the blocks of both, unpaired: each is one boot at \
                 one time. It says how well these two studies know their rates, not how far another hour would be off."
            );
        }
        false => (format!("{before} before and {after} after"), "Welch's t over studies"),
    };
    prose!(
        "The study is the unit ({}): {}, of the means over blocks of the logarithm, adjusted for all treatments \
         together (Holm), comparisons likewise. Margin {}. A regression is shown to be worse, and is worse by the \
         margin or more.",
        count,
        test,
        numbers::set_percent(change.margin)
    )
}
