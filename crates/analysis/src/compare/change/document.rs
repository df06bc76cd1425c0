//! "Did it change?" as a document: the answer first, then treatments, comparisons, what differs, the studies.

use super::obstacles::count_words;
use super::sides::Sides;
use super::{Change, Changed, Said};
use crate::compare::differs;
use crate::words::finding;
use crate::{Direction, Facts};
use threadwise_document::numbers::{self, counted};
use threadwise_document::{
    Block, Cell, Column, Document, Finding, Prose, Says, Section, Shown, Table, prose,
};

/// Most treatments that the answer names.
const MAX_NAMED: usize = 4;

/// The report of two sides, each study with its file as [`Facts::source`].
pub fn document(sides: Sides<'_, '_>, change: &Change<'_>, program_version: &str) -> Document {
    let all = sides.all();
    let mut verdict = answer(change);
    verdict.extend(change.cautions.iter().map(|line| finding("caution", prose!("Mind: {}.", line), &[])));
    let labels = |side: &str, from: usize, count: usize| (side.to_owned(), (from..from + count).collect());
    let columns =
        [labels("before", 0, sides.before.len()), labels("after", sides.before.len(), sides.after.len())];
    let mut sections = vec![Section::new("change", "After over before", treatments(change))];
    if !change.comparisons.is_empty() {
        let table = table("comparison", &change.comparisons, change, Says::Higher);
        sections.push(Section::new("comparisons", "Ratios of the studies", vec![Block::Table(table)]));
    }
    sections.push(differs::section(&change.aspects, &columns));
    sections.push(Section::new("studies", "Studies", vec![Block::Table(studies(sides))]));
    sections.push(Section::new(
        "method",
        "How it is judged",
        vec![Block::Text(method(change), Shown::Everywhere)],
    ));
    Document {
        title: format!("Did it change? {}, after over before", change.quantity.name),
        simulated: all.iter().any(Facts::is_simulated),
        verdict,
        sections,
        footer: format!("threadwise {program_version}"),
        ..Document::default()
    }
}

/// The answer, and what to do where there is none.
pub fn answer(change: &Change<'_>) -> Vec<Finding> {
    if !change.can_tell() {
        return cannot_tell(change);
    }
    let total = change.treatments.len();
    let treatments = || counted(total, "treatment");
    let margin = numbers::set_percent(change.margin);
    let (same, open) = (those(change, Said::Same), those(change, Said::Undecided));
    let mut lines = shown(change);
    if lines.is_empty() {
        lines.push(match same.len() == total {
            true => {
                let text = prose!(
                    "It did not change: all {} are within the margin of {}.",
                    treatments(),
                    margin.clone()
                );
                line(text, &same)
            }
            false => {
                line(prose!("No change is shown: {} of {} are undecided.", open.len(), treatments()), &open)
            }
        });
    }
    if same.len() < total && !same.is_empty() {
        lines.push(line(prose!("Within the margin of {}: {}.", margin, named(&same)), &same));
    }
    if !open.is_empty() {
        lines.push(line(prose!("Undecided, more studies a side decide it: {}.", named(&open)), &open));
        lines.extend(
            reach_words(change, &open).map(|words| line(prose!("{}.", numbers::capital(&words)), &open)),
        );
    }
    lines
}

/// The smallest change that the studies could have shown of some treatments, and how many more would show the margin:
/// of the one of which they could have shown least.
pub fn reach_words(change: &Change<'_>, open: &[&Changed<'_>]) -> Option<String> {
    let reaches = open.iter().filter_map(|changed| Some((*changed, changed.reach?)));
    let (widest, reach) = reaches.max_by(|one, other| f64::total_cmp(&one.1.smallest, &other.1.smallest))?;
    let smallest = match widest.ratio.direction {
        Direction::HigherIsBetter => numbers::ratio(1.0 / reach.smallest),
        Direction::LowerIsBetter | Direction::Neither => numbers::ratio(reach.smallest),
    };
    let fewest = change.studies[0].min(change.studies[1]);
    let margin = numbers::set_percent(change.margin);
    let more = match (reach.studies.map(|studies| studies.saturating_sub(fewest).max(1)), change.is_paired) {
        (Some(1), false) => format!("about 1 more study a side shows one of {margin}"),
        (Some(1), true) => format!("about 1 more pair shows one of {margin}"),
        (Some(more), false) => format!("about {more} more studies a side show one of {margin}"),
        (Some(more), true) => format!("about {more} more pairs show one of {margin}"),
        (None, _) => format!(
            "one of {margin} would take more than 1,000: run longer ones (--blocks), or all of them with a larger --margin"
        ),
    };
    Some(format!(
        "the smallest change of {} that these studies could have shown is {smallest}x; {more}",
        widest.name
    ))
}

/// What keeps the studies from telling, and what would.
fn cannot_tell(change: &Change<'_>) -> Vec<Finding> {
    let mut lines: Vec<Finding> = Vec::new();
    for obstacle in &change.obstacles {
        lines.push(match lines.is_empty() {
            true => line(prose!("These studies cannot tell whether it changed: {}.", obstacle), &[]),
            false => line(prose!("Besides, {}.", obstacle), &[]),
        });
    }
    let text = prose!(
        "Measure at least three times before and three times after, in turns: `threadwise compare --before A1 A2 A3 --after B1 \
         B2 B3`."
    );
    lines.push(line(text, &[]));
    lines
}

/// The changes that are shown, regressions first.
fn shown(change: &Change<'_>) -> Vec<Finding> {
    let treatments = counted(change.treatments.len(), "treatment");
    let regressions = change.regressions();
    let mut lines = Vec::new();
    if !regressions.is_empty() {
        let margin = numbers::set_percent(change.margin);
        let (count, names) = (regressions.len(), named(&regressions));
        let text =
            prose!("It got worse: {} of {} by {} or more: {}.", count, treatments.clone(), margin, names);
        lines.push(line(text, &regressions));
    }
    for (wanted, words) in [
        (Said::Worse, "worse by less"),
        (Said::Better, "better"),
        (Said::Higher, "higher"),
        (Said::Lower, "lower"),
    ] {
        let mut found = those(change, wanted);
        found.retain(|changed| !changed.is_regression());
        if !found.is_empty() {
            let start = if lines.is_empty() { "It changed: " } else { "" };
            let text =
                prose!("{}{} of {} {}: {}.", start, found.len(), treatments.clone(), words, named(&found));
            lines.push(line(text, &found));
        }
    }
    lines
}

/// Treatments of which this is said.
fn those<'c>(change: &'c Change<'_>, said: Said) -> Vec<&'c Changed<'c>> {
    change.treatments.iter().filter(|changed| changed.said() == said).collect()
}

fn line(text: Prose, rests_on: &[&Changed<'_>]) -> Finding {
    finding("change", text, &rests_on.iter().map(|changed| changed.name).collect::<Vec<_>>())
}

/// Names with the interval that decides.
fn named(changes: &[&Changed<'_>]) -> Prose {
    let one = |changed: &&Changed<'_>| prose!("{} {}", changed.name, &changed.ratio.decisive());
    let mut parts: Vec<Prose> = changes.iter().take(MAX_NAMED).map(one).collect();
    let rest = changes.len().saturating_sub(MAX_NAMED);
    if rest > 0 {
        parts.push(format!("{rest} more").into());
    }
    Prose::list(parts)
}

/// Treatments, and those that are not compared.
fn treatments(change: &Change<'_>) -> Vec<Block> {
    let mut blocks = vec![Block::Table(table("treatment", &change.treatments, change, Says::Better))];
    if !change.left_out.is_empty() {
        let lines =
            change.left_out.iter().map(|(name, why)| Prose::from(format!("{name} is not compared: {why}")));
        blocks.push(Block::List(lines.collect(), Shown::Everywhere));
    }
    blocks
}

/// A row a treatment or comparison, with the interval that decides.
fn table(what: &str, changes: &[Changed<'_>], change: &Change<'_>, says: Says) -> Table {
    let row = |changed: &Changed<'_>| {
        let decisive = changed.ratio.decisive();
        let ratio = match change.can_tell() {
            true => Cell::Ratio(decisive, says),
            false => Cell::BareRatio(changed.ratio.clone()),
        };
        let side = |interval: &crate::Interval| match interval.has_ends() {
            true => Cell::Interval(interval.clone()),
            false => Cell::Mean(interval.clone()),
        };
        vec![Cell::text(changed.name), side(&changed.before), side(&changed.after), ratio]
    };
    let heading =
        |side: &str| match change.quantity.metric == crate::estimate::THROUGHPUT && what == "treatment" {
            true => format!("{side}, {}", change.quantity.name),
            false => side.to_owned(),
        };
    let columns = vec![
        Column::text(what),
        Column::figure(heading("before")).shorten_at(1).drop_at(3),
        Column::figure(heading("after")).shorten_at(1).drop_at(3),
        Column::text("after / before").shorten_at(2),
    ];
    Table::new("", columns, changes.iter().map(row))
}

/// The studies by number and side.
fn studies(sides: Sides<'_, '_>) -> Table {
    let before = sides.before.iter().map(|facts| ("before", facts));
    let after = sides.after.iter().map(|facts| ("after", facts));
    let rows = (1u64..).zip(before.chain(after)).map(|(number, (side, facts))| {
        let simulated = if facts.is_simulated() { "SIMULATED, " } else { "" };
        let engine = format!("{simulated}{} {}", facts.study.engine, facts.engine_version);
        vec![
            Cell::Count(number),
            Cell::text(side),
            Cell::text(facts.source),
            Cell::text(facts.created_utc),
            Cell::text(engine.trim()),
            Cell::Count(facts.analysis.blocks.into()),
        ]
    });
    let columns = ["", "side", "result file", "begun", "engine"].map(Column::text);
    Table::new("", columns.into_iter().chain([Column::figure("blocks")]).collect(), rows)
}

/// What intervals are made of and what is called a regression.
fn method(change: &Change<'_>) -> Prose {
    let margin = numbers::set_percent(change.margin);
    let count = count_words(change.studies, change.is_paired);
    let test = match (change.is_paired, change.studies) {
        (true, _) => "Student's t over the differences of pairs",
        (false, [1, 1]) => {
            return prose!(
                "Of one study a side the interval is made from the blocks of both, unpaired: each is one boot at one time. It \
                 says how well these two studies know their rates, not how far another hour would be off."
            );
        }
        (false, _) => "Welch's t over studies",
    };
    prose!(
        "The study is the unit ({}): {}, of the means over blocks of the logarithm, adjusted for all treatments together \
         (Holm), comparisons likewise. Margin {}. A regression is shown to be worse and lies by the margin or more on the \
         worse side.",
        count,
        test,
        margin
    )
}
