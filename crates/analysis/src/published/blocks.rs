//! The section "Theirs beside yours".

use super::beside::{Beside, Differs, NotRedone, Row};
use crate::Facts;
use threadwise_document::numbers::set_percent;
use threadwise_document::{Block, Cell, Column, Prose, Section, Shown, Table, prose};

/// Names of one reason that a line lists.
const MOST_NAMES: usize = 12;

/// What is said where a program computes what the processor does.
const EMULATED: &str = "EMULATED: a program computes what the processor does; no ratio that was measured here says anything of a machine.";

/// The section of a study that redoes a published one.
pub fn section(facts: &Facts<'_>, beside: &Beside) -> Section {
    let emulated = facts.topology.identity.is_emulated();
    let mut blocks = vec![Block::Table(ratios(facts, &beside.rows))];
    blocks.extend(emulated.then(|| Block::Text(EMULATED.into(), Shown::Everywhere)));
    blocks.push(Block::Text(foot(facts, beside), Shown::Everywhere));
    blocks.push(differences(beside));
    blocks.extend(unmatched(beside));
    blocks.extend(cannot(&beside.cannot_redo));
    Section::new("theirs", "Theirs beside yours", blocks)
}

fn ratios(facts: &Facts<'_>, rows: &[Row]) -> Table {
    let columns = vec![
        Column::text("comparison"),
        Column::text("what was published").drop_at(1),
        Column::figure("published"),
        Column::text("measured here").shorten_at(2),
        Column::text("in interval"),
    ];
    let cells = rows.iter().map(|row| {
        vec![
            Cell::text(&row.comparison),
            Cell::text(&row.what),
            Cell::text(&row.published_text),
            match (&row.measured, &row.reason) {
                (Some(ratio), _) => Cell::BareRatio(ratio.clone()),
                (None, why) => Cell::Gap(why.clone().unwrap_or_default()),
            },
            match row.in_interval {
                Some(true) => Cell::text("yes"),
                Some(false) => Cell::text("no"),
                None => Cell::none(),
            },
        ]
    });
    Table::new(facts.titled("Theirs beside yours: ratios of rates", ""), columns, cells)
}

fn foot(facts: &Facts<'_>, beside: &Beside) -> Prose {
    let level = facts.level();
    prose!(
        "Published ratios have no interval. A measured interval, of a level of {}, leaves out an equal ratio by chance in {} of \
         studies. Whether a published number lies in it says nothing of why: all of what follows differs at once. All \
         figures: `threadwise published {}`.",
        set_percent(level),
        set_percent(1.0 - level),
        &beside.name
    )
}

fn differences(beside: &Beside) -> Block {
    let line = |one: &Differs| prose!("{}: published {}; here {}.", one.what, &one.published, &one.here);
    Block::List(beside.differs.iter().map(line).collect(), Shown::Everywhere)
}

fn unmatched(beside: &Beside) -> Vec<Block> {
    let line = |head: &str, names: &[String]| {
        (!names.is_empty()).then(|| Block::Text(prose!("{}: {}.", head, limited(names)), Shown::Everywhere))
    };
    let theirs = line("Published, and not compared in this study", &beside.only_published);
    let ours = line("Compared in this study, and not published as a figure", &beside.only_here);
    theirs.into_iter().chain(ours).collect()
}

fn limited(names: &[String]) -> String {
    let more = names.len().saturating_sub(MOST_NAMES);
    let mut shown: Vec<String> = names.iter().take(MOST_NAMES).cloned().collect();
    shown.extend((more > 0).then(|| format!("{more} more")));
    shown.join("; ")
}

/// What no command can redo, a line a reason.
pub fn cannot(all: &[NotRedone]) -> Vec<Block> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for one in all {
        match reasons.iter_mut().find(|(why, _)| *why == one.why) {
            Some((_, names)) => names.push(one.what.clone()),
            None => reasons.push((&one.why, vec![one.what.clone()])),
        }
    }
    if reasons.is_empty() {
        return Vec::new();
    }
    let lines = reasons.iter().map(|(why, names)| {
        let names: Vec<&str> = names.iter().map(|name| name.trim_end_matches('.')).collect();
        prose!("{} ({}).", names.join("; "), *why)
    });
    vec![
        Block::Text("No command can redo yet:".into(), Shown::Everywhere),
        Block::List(lines.collect(), Shown::Everywhere),
    ]
}
