//! The comparison as a document: what changed, what did not, why it may be something else, every statement.

use super::compared::{Compared, Comparison, Confounded};
use super::plan::utc;
use crate::words::{finding, first, more};
use crate::{FindingKind, Ratio};
use threadwise_document::numbers::{self, counted};
use threadwise_document::screen::{Trust, TrustLevel};
use threadwise_document::{Block, Cell, Column, Document, Finding, Prose, Says, Section, Table, prose};

/// Most statements that a sentence names.
const MAX_NAMED: usize = 2;
/// Letters of a statement's text in a sentence, and in a table.
const LETTERS: usize = 28;
const LETTERS_OF_TABLE: usize = 48;

/// The report.
pub fn document(found: &Comparison<'_>, source: &str, program_version: &str) -> Document {
    let sections = [
        Section::new("statements", "Statements", vec![Block::Table(table(found))]),
        Section::new("states", "Both sides", both_sides(found)),
        Section::new("method", "How it is judged", vec![Block::text(method(found))]),
    ];
    Document {
        title: format!("Time a call of statements, {} over {}", side(found, 1), side(found, 0)),
        about: vec![format!(
            "{source}, {} to {}, {}",
            utc(found.start_unix_ms),
            utc(found.end_unix_ms),
            changes(found)
        )],
        verdict: answer(found).into_iter().chain(cautions(found)).collect(),
        sections: sections.into(),
        footer: format!("threadwise {program_version}"),
        ..Document::default()
    }
}

/// How far to trust it.
pub fn trust(found: &Comparison<'_>) -> Trust {
    let reasons: Vec<Prose> = cautions(found).into_iter().map(|finding| finding.line).collect();
    match (found.statements.is_empty(), reasons.is_empty()) {
        (true, _) => Trust { level: TrustLevel::None, reasons: vec!["No statement can be compared.".into()] },
        (_, true) => Trust {
            level: TrustLevel::Good,
            reasons: vec![prose!("The states took turns: {}.", counted(found.changes as usize, "change"))],
        },
        (_, false) => Trust { level: TrustLevel::Fair, reasons },
    }
}

/// `SMT on`, `after`.
fn side(found: &Comparison<'_>, side: usize) -> String {
    let value = if side == 0 { &found.first } else { &found.second };
    format!("{} {value}", found.by).trim_start().to_owned()
}

/// `with SMT on`, `since then`.
fn in_second(found: &Comparison<'_>) -> String {
    if found.by.is_empty() { "since then".to_owned() } else { format!("with {}", side(found, 1)) }
}

fn changes(found: &Comparison<'_>) -> String {
    match found.by {
        "" => "before and after a moment".to_owned(),
        _ => {
            counted(found.changes as usize, "change of state").replace("change of states", "changes of state")
        }
    }
}

fn answer(found: &Comparison<'_>) -> Vec<Finding> {
    let all = &counted(found.statements.len(), "statement");
    let margin = numbers::set_percent(found.margin);
    if found.statements.is_empty() {
        let what = "No statement was called often enough in both states to be compared.";
        return vec![finding(FindingKind::Nothing, what, &[])];
    }
    let (slower, faster) = (found.those(Ratio::is_higher), found.those(Ratio::is_lower));
    let (same, open) = (found.those(Ratio::is_same), found.undecided());
    let second = &in_second(found);
    let mut lines = Vec::new();
    if slower.is_empty() && faster.is_empty() {
        lines.push(line(prose!("No change is shown in any of {}.", all), &[]));
    }
    for (word, those) in [("slower", &slower), ("faster", &faster)] {
        if !those.is_empty() {
            let verb = if those.len() == 1 { "is" } else { "are" };
            lines.push(line(
                prose!("{} of {} {} {} {}: {}.", those.len(), all, verb, word, second, named(those)),
                those,
            ));
        }
    }
    if !same.is_empty() {
        lines.push(line(prose!("{} of {} did not change by more than {}.", same.len(), all, margin), &same));
    }
    if !open.is_empty() {
        let what = match found.unit {
            "change of state" => "changes of state",
            "day" => "days",
            _ => "hours",
        };
        lines.push(line(prose!("{} of {} are undecided: more {} decide it.", open.len(), all, what), &open));
    }
    lines
}

fn line(text: Prose, rests_on: &[&Compared<'_>]) -> Finding {
    finding(FindingKind::Change, text, &rests_on.iter().map(|one| one.statement).collect::<Vec<_>>())
}

/// Statements with the interval that decides.
fn named(those: &[&Compared<'_>]) -> Prose {
    let one =
        |one: &&Compared<'_>| prose!("#{} {} ({})", one.number, &one.ratio.decisive(), words(one, LETTERS));
    Prose::list(first(those.iter().map(one), MAX_NAMED, more))
}

/// The start of its text in one line, or its key.
fn words(one: &Compared<'_>, letters: usize) -> String {
    let text = one.text.unwrap_or(one.statement).split_whitespace().collect::<Vec<_>>().join(" ");
    match text.chars().count() > letters {
        true => format!("{}…", text.chars().take(letters).collect::<String>().trim_end()),
        false => text,
    }
}

/// Why a difference may be something else than the states.
fn cautions(found: &Comparison<'_>) -> Vec<Finding> {
    let of_confounded = |why: &Confounded| match why {
        Confounded::OneChange => prose!(
            "One change of state only: confounded with all else that changed that day. Take turns (several changes) to tell \
             them apart."
        ),
        Confounded::FewChanges => prose!(
            "{} of state only: confounded with what else changed at these times. Nine episodes or more tell them apart.",
            counted(found.changes as usize, "change")
        ),
        Confounded::OtherHours => prose!(
            "The states were at other hours of the day: confounded with what runs at these hours. Change the state at other \
             hours in turn."
        ),
        Confounded::NotSet => prose!(
            "Neighbours come by themselves: what comes at the same times, such as a load of your server, is in the ratio."
        ),
    };
    let by_unit = (found.unit != "day" && found.unit != "change of state").then(|| {
        prose!("The unit is {}, for lack of days: how days differ is not in the intervals.", found.unit)
    });
    let load = ratio_of_loads(found).filter(|ratio| !(0.8..=1.25).contains(ratio)).map(|ratio| {
        prose!(
            "The load differed: {} of the calls a second. Intervals of like load are compared where there are any.",
            Prose::figure(format!("{}x", numbers::ratio(ratio)))
        )
    });
    let all = found.confounded.iter().map(of_confounded).chain(by_unit).chain(load);
    all.map(|text| finding(FindingKind::Caution, text, &[])).collect()
}

fn ratio_of_loads(found: &Comparison<'_>) -> Option<f64> {
    let [first, second] = found.calls_per_s;
    (first > 0.0).then(|| second / first)
}

/// A row a statement, those that changed first.
fn table(found: &Comparison<'_>) -> Table {
    let is_shown = |one: &&Compared<'_>| one.is_slower() || one.is_faster();
    let (changed, others): (Vec<_>, Vec<_>) = found.statements.iter().partition(is_shown);
    let mean = |one: &Compared<'_>, side: usize| Cell::value(one.time_ns_per_call[side], "ns");
    let calls = |one: &Compared<'_>| Cell::count(one.calls[0].saturating_add(one.calls[1]));
    Table::of(
        "",
        changed.into_iter().chain(others),
        &[
            (Column::text("statement"), &|one| {
                Cell::text(format!("#{} {}", one.number, words(one, LETTERS_OF_TABLE)))
            }),
            (Column::figure("calls").drop_at(2), &|one| calls(one)),
            (Column::figure("time share").drop_at(1), &|one| Cell::value(one.time_share, "share")),
            (Column::figure(format!("a call, {}", side(found, 0))).drop_at(3), &|one| mean(one, 0)),
            (Column::figure(format!("a call, {}", side(found, 1))).drop_at(3), &|one| mean(one, 1)),
            (Column::text("ratio").shorten_at(2), &|one| Cell::Ratio(one.ratio.decisive(), Says::Better)),
        ],
    )
}

fn both_sides(found: &Comparison<'_>) -> Vec<Block> {
    let rows = [0, 1].map(|at| {
        vec![
            Cell::text(side(found, at)),
            Cell::count(found.intervals[at]),
            Cell::value(found.calls_per_s[at], "1/s"),
            Cell::value(found.used_share[at], "share"),
            Cell::value(found.stolen_share[at], "share"),
            Cell::value(found.neighbour_share[at], "share"),
        ]
    });
    let columns = vec![
        Column::text("state"),
        Column::figure("intervals"),
        Column::figure("calls/s"),
        Column::figure("capacity used"),
        Column::figure("stolen").drop_at(2),
        Column::figure("neighbour there").drop_at(1),
    ];
    let mut blocks = vec![Block::Table(Table::new("", columns, rows))];
    let gaps = found.gaps.iter().map(|(word, count)| Prose::from(format!("{count} without figures: {word}")));
    let lost = (found.lost > 0).then(|| {
        Prose::from(format!("{} times a statement's counters were dropped or began again", found.lost))
    });
    let left_out = [
        (found.left_out.one_state, "called in one of the states only"),
        (found.left_out.too_few_units, "with too few calls at like load and hour in both states"),
        (found.left_out.beyond, "with less time than those that are compared (--top)"),
    ];
    let left_out = left_out.into_iter().filter(|(count, _)| *count > 0).map(|(count, why)| {
        Prose::from(format!("{} not compared: {why}", counted(count as usize, "statement")))
    });
    let lines: Vec<Prose> = gaps.chain(lost).chain(left_out).collect();
    if !lines.is_empty() {
        blocks.push(Block::List(lines, threadwise_document::Shown::Everywhere));
    }
    blocks
}

fn method(found: &Comparison<'_>) -> Prose {
    let matched = match (found.matched_load, found.matched_hours) {
        (true, true) => "of like load (within a factor of 1.5) and of one hour of the day",
        (true, false) => "of like load (within a factor of 1.5)",
        (false, true) => "of one hour of the day (loads differ by less than a factor of 1.5)",
        (false, false) => "of any load (loads differ by less than a factor of 1.5)",
    };
    let units = match found.unit {
        "change of state" => format!(
            "{}, each an episode against the mean of its two neighbours in the other state: Student's t over triples",
            counted(found.units as usize, "triple")
        ),
        unit => format!("{} units ({unit}) of both sides: Student's t with one variance", found.units),
    };
    prose!(
        "Ratios are of time a call, over intervals {}; {}. All statements are judged together (Holm). Margin {}.",
        matched,
        units,
        numbers::set_percent(found.margin)
    )
}
