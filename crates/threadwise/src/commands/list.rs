//! `threadwise list`: what can be run, and what this machine supports.

use crate::cli::{ListArgs, SchemaOf};
use crate::commands::topology::{self, live};
use crate::engines;
use crate::error::AppError;
use crate::output;
use threadwise_engine::EngineError;
use threadwise_machine::placement::NAMES;
use threadwise_machine::{Placement, Topology};
use threadwise_report::json::{self, ListEntry};
use threadwise_study::{Options, Workload};

/// Questions with a command of their own.
const QUESTIONS: [(&str, &str); 4] = [
    ("pool", "how many connections a pool should have"),
    ("maxdop", "which degree of parallelism queries should have"),
    ("bind", "what binding a running server to fewer logical CPUs costs"),
    ("ab", "which of two versions of a program, or of two settings, is faster"),
];

/// Kind of an entry that `run` takes.
const PRESET: &str = "preset";

/// Width of the column of names.
const NAME_WIDTH: usize = 18;

/// Presets by the question that each answers.
const PRESETS: [(&str, &[&str]); 8] = [
    (
        "What do second threads and further cores add?",
        &["placement", "cached-reads", "concurrent-inserts", "kernels", "smt-off", "smt-boots"],
    ),
    ("How many sessions or connections?", &["session-sweep", "pool", "transaction", "vcpus"]),
    ("How long do requests take at the load that you have?", &["load"]),
    (
        "Which degree of parallelism?",
        &["maxdop", "parallel-queries", "parallel-workers", "tpch-streams", "mixed-load"],
    ),
    ("What do locks and the log writer cost?", &["log-buffer", "log-buffer-memory", "locks"]),
    ("How many jobs for a list of files or databases?", &["work-list", "reload-schedule"]),
    ("What does binding a running server cost?", &["bind"]),
    ("What do cores and second threads add to your command?", &["command"]),
];

/// Prints questions, presets, engines, workloads and placements.
pub fn list(args: &ListArgs) -> Result<(), AppError> {
    match args.schema {
        Some(SchemaOf::Study) => {
            return output::print(&format!("{:#}\n", threadwise_study::load::schema()));
        }
        Some(SchemaOf::Report) => return output::print(&json::schema::report()),
        None => {}
    }
    let entries = entries(&live()?)?;
    if args.json {
        return output::print(&format!("{}\n", json::listing(&entries)));
    }
    output::print(&text(&entries))
}

/// The list as text: presets by question, everything else in order.
fn text(entries: &[ListEntry]) -> String {
    let mut text = String::new();
    let mut kind = "";
    for entry in entries {
        let is_first = entry.kind != kind;
        if is_first {
            kind = &entry.kind;
            text.push_str(&format!("{}{kind}s\n", if text.is_empty() { "" } else { "\n" }));
        }
        match (kind, is_first) {
            (PRESET, true) => text.push_str(&by_question(entries)),
            (PRESET, false) => {}
            _ => text.push_str(&format!("  {:<NAME_WIDTH$} {}\n", entry.name, entry.about)),
        }
    }
    text
}

/// Presets under their questions; one of a published study is marked.
fn by_question(entries: &[ListEntry]) -> String {
    let published = threadwise_published::names();
    let mut text = String::new();
    for (question, names) in PRESETS {
        text.push_str(&format!("  {question}\n"));
        let entry = |name: &&str| entries.iter().find(|entry| entry.kind == PRESET && entry.name == *name);
        for entry in names.iter().filter_map(entry) {
            let mark = if published.contains(&entry.name.as_str()) { " (published)" } else { "" };
            text.push_str(&format!("    {:<NAME_WIDTH$} {}{mark}\n", entry.name, entry.about));
        }
    }
    text
}

fn entries(topology: &Topology) -> Result<Vec<ListEntry>, AppError> {
    let entry =
        |kind: &str, name: &str, about: String| ListEntry { kind: kind.into(), name: name.into(), about };
    let mut entries = Vec::new();
    for (name, about) in QUESTIONS {
        entries.push(entry("question", name, format!("{about} (threadwise {name} --help)")));
    }
    for (name, title) in threadwise_study::presets::names() {
        entries.push(entry(PRESET, name, (*title).to_owned()));
    }
    for engine in engines::all() {
        let about = match engine.version(&Options::new()) {
            Ok(version) => format!("{} ({version})", engine.about()),
            // It is a server of the user's alone, and its address is an option.
            Err(EngineError::Option { .. }) => engine.about().to_owned(),
            Err(error) => format!("{} (not here: {error})", engine.about()),
        };
        entries.push(entry("engine", engine.name(), about));
    }
    for engine in engines::embedded() {
        let about = format!("{} (threadwise engine list shows whether it is installed)", engine.about);
        entries.push(entry("engine", engine.name, about));
    }
    for workload in Workload::ALL {
        let with = engines::all().iter().filter(|engine| engine.workloads().contains(&workload));
        let with = with.map(|engine| engine.name());
        let others = engines::embedded().filter(|engine| engine.workloads.contains(&workload));
        let about = workload.known().about;
        let with: Vec<&str> = with.chain(others.map(|engine| engine.name)).collect();
        entries.push(entry("workload", workload.name(), format!("{about} (engines: {})", with.join(", "))));
    }
    for recipe in threadwise_worklist::recipe::all().unwrap_or_default() {
        entries.push(entry("recipe", &recipe.name, recipe.about));
    }
    for parser in threadwise_study::command::parsers::all().unwrap_or_default() {
        entries.push(entry("parser", &parser.name, parser.about));
    }
    for name in NAMES.into_iter().chain(["all-but:1"]) {
        entries.push(entry("placement", name, example(name, topology)?));
    }
    Ok(entries)
}

fn example(name: &str, topology: &Topology) -> Result<String, AppError> {
    let placement = name.parse::<Placement>().map_err(AppError::input)?;
    Ok(match topology::placement_cpus(&placement, topology)?.cpus {
        Ok(cpus) => format!("here, for example: logical CPUs {cpus}"),
        Err(lacks) => format!("not here: {lacks}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The presets as they are listed in JSON.
    fn presets() -> Vec<ListEntry> {
        let all = threadwise_study::presets::names().into_iter();
        all.map(|(name, title)| ListEntry { kind: PRESET.into(), name: name.into(), about: title.into() })
            .collect()
    }

    #[test]
    fn every_preset_answers_one_question() {
        let mut known: Vec<String> = presets().into_iter().map(|entry| entry.name).collect();
        let mut grouped: Vec<&str> = PRESETS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        known.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, known);
        let longest = known.iter().map(String::len).max();
        assert!(longest.is_some_and(|longest| longest <= NAME_WIDTH), "{longest:?}");
    }

    #[test]
    fn presets_of_published_studies_are_marked() {
        let shown = text(&presets());
        assert!(shown.starts_with("presets\n  What do second threads and further cores add?\n"), "{shown}");
        let marked: Vec<&str> = shown
            .lines()
            .filter(|line| line.ends_with(" (published)"))
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        let five = ["cached-reads", "concurrent-inserts", "parallel-queries", "log-buffer", "work-list"];
        assert_eq!(marked, five);
        assert_eq!(shown.lines().count(), 1 + PRESETS.len() + presets().len());
    }
}
