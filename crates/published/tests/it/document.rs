//! evidence/published-studies.md against `published/*.toml`: a row for every arm, figure and statement, with its command. What was
//! run is written there by hand, and is kept when the rest is written again:
//! `THREADWISE_WRITE_DOCS=1 cargo test -p threadwise-published --test it document`.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use threadwise_published::{Kind, Published, all};

const NOT_RUN: &str = "*not run*";

/// How a state begins that a row with a command may have.
const STATES: [&str; 5] = [NOT_RUN, "*planned*", "*ran*", "*ran emulated*", "*needs*"];

/// The document as far as its first row.
const HEAD: &str = "\
# The published studies, line by line

Five articles measured what hyper-threads, cores, sockets and parallelism do to a database. Their figures come with the program (`threadwise published`, data in `published/*.toml`). Here is every arm, figure and statement of them, and the command that redoes it.

States: *not run* (a command exists), *planned* (`--plan` alone), *ran* (on a machine), *ran emulated* (on an emulated machine, for function alone), *needs* and what hardware was not there, *no command yet* and why.

Sections, commands and what is in a row are made from the data, states are written by hand (CONTRIBUTING.md).

";

const COLUMNS: &str = "| section | what | command | state |\n|---|---|---|---|\n";

/// Section, what and command of a row; why there is no command.
type Line = (u32, String, Result<String, String>);

fn lines(published: &Published) -> Vec<Line> {
    let made = |what: String, redo: Result<&str, &str>| {
        let redo = redo.map(str::to_owned).map_err(str::to_owned);
        (published.section, what.replace('|', "\\|"), redo)
    };
    let arms = published.arms.iter().map(|arm| made(format!("arm: {}", arm.name), published.redo_arm(arm)));
    let figures = published.figures.iter().map(|figure| {
        let origin = if figure.is_printed() { "printed" } else { "recomputed" };
        let slip = if published.slip(&figure.id).is_some() { ", a slip" } else { "" };
        let note = figure.note.as_ref().map_or(String::new(), |note| format!("; {note}"));
        let what = format!("{}: {} ({origin}{slip}{note})", published.name_of(figure), figure.text());
        made(what, published.redo_figure(figure))
    });
    let said = published.statements.iter().map(|said| {
        let kind = match said.kind {
            Kind::Claim => "claim",
            Kind::Question => "question",
            Kind::Picture => "picture",
        };
        made(format!("{kind}: {}", said.text), published.redo_statement(said))
    });
    arms.chain(figures).chain(said).collect()
}

/// States by section and what, as the document has them.
fn states(text: &str) -> BTreeMap<(String, String), String> {
    let cells = |line: &str| -> Vec<String> {
        let line = line.trim().trim_matches('|').replace("\\|", "\u{1}");
        line.split('|').map(|cell| cell.trim().replace('\u{1}', "\\|")).collect()
    };
    let rows = text.lines().filter(|line| line.starts_with("| ")).map(cells);
    rows.filter(|cells| cells.len() == 4 && cells[0].parse::<u32>().is_ok())
        .map(|cells| ((cells[0].clone(), cells[1].clone()), cells[3].clone()))
        .collect()
}

fn document(kept: &BTreeMap<(String, String), String>) -> String {
    let mut studies = all().unwrap();
    studies.sort_by_key(|published| published.section);
    let mut text = HEAD.to_owned();
    for published in &studies {
        text.push_str(&format!(
            "## {}. {}: `{}`\n\n{COLUMNS}",
            published.section, published.about, published.name
        ));
        for (section, what, redo) in lines(published) {
            let state = match &redo {
                Err(why) => format!("*no command yet*: {why}"),
                Ok(_) => kept
                    .get(&(section.to_string(), what.clone()))
                    .filter(|state| !state.starts_with("*no command yet*"))
                    .cloned()
                    .unwrap_or_else(|| NOT_RUN.to_owned()),
            };
            let command = redo.map_or_else(|_| "-".to_owned(), |command| format!("`{command}`"));
            text.push_str(&format!("| {section} | {what} | {command} | {state} |\n"));
        }
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

#[test]
fn the_document_has_every_arm_figure_and_statement_with_its_command() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evidence/published-studies.md");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let made = document(&states(&text));
    if std::env::var_os("THREADWISE_WRITE_DOCS").is_some() {
        std::fs::write(&path, &made).unwrap();
        return;
    }
    for (ours, theirs) in made.lines().zip(text.lines()) {
        assert_eq!(
            theirs, ours,
            "evidence/published-studies.md is not what its data say: write it as this test's header says"
        );
    }
    assert_eq!(text.lines().count(), made.lines().count());
}

#[test]
fn states_are_those_that_the_document_explains() {
    let rows: Vec<Line> = all().unwrap().iter().flat_map(lines).collect();
    let kept = states(&document(&states(include_str!("../../../../evidence/published-studies.md"))));
    assert_eq!(kept.len(), rows.len(), "two rows are alike");
    for (section, what, redo) in rows {
        let state = &kept[&(section.to_string(), what.clone())];
        let is_known = STATES.iter().any(|known| state.starts_with(known));
        assert!(redo.is_err() || is_known, "{what}: {state}");
    }
}

#[test]
fn states_outlive_a_new_document() {
    let first = document(&BTreeMap::new());
    let row = first.lines().find(|line| line.contains(NOT_RUN) && line.starts_with("| ")).unwrap();
    let ran = first.replacen(row, &row.replace(NOT_RUN, "*ran*, some-file"), 1);
    assert_eq!(document(&states(&ran)), ran);
}
