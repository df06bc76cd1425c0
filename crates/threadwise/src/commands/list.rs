//! `threadwise list`: what can be run, and what this machine can do.

use crate::cli::ListArgs;
use crate::commands::topology::{self, live};
use crate::engines;
use crate::error::AppError;
use crate::output;
use threadwise_machine::placement::NAMES;
use threadwise_machine::{Placement, Topology};
use threadwise_report::json::{self, ListEntry};
use threadwise_study::Options;

/// Workloads and what they do.
const WORKLOADS: [(&str, &str); 8] = [
    ("logical-io", "cached reads of consecutive keys from a random start"),
    ("insert", "a few rows a transaction into one table, keys ascending or random"),
    ("index", "lookups or inserts in one index in memory under a spinlock, a queue lock, or no lock"),
    ("tpch", "the 22 queries of TPC-H, one after another or as streams, by degree of parallelism"),
    ("log-buffer", "records into one log buffer under a spinlock, a queue lock, or no lock"),
    ("transaction", "statements of yours from a file, one transaction after another on your own data"),
    ("command", "a command of yours, one whole run after another"),
    ("worklist", "a list of files or databases, N jobs, a recipe of commands for each item"),
];

/// Questions that have a command of their own, and what they answer.
const QUESTIONS: [(&str, &str); 4] = [
    ("pool", "how many connections a pool should have"),
    ("maxdop", "which degree of parallelism queries should have"),
    ("bind", "what binding a running server to fewer logical CPUs costs"),
    ("ab", "which of two versions of a program, or of two settings, does more"),
];

/// Prints questions, presets, engines, workloads and placements.
pub fn list(args: &ListArgs) -> Result<(), AppError> {
    if args.schema {
        return output::print(threadwise_study::presets::SCHEMA);
    }
    let entries = entries(&live()?)?;
    if args.json {
        return output::print(&format!("{}\n", json::listing(&entries)));
    }
    let mut text = String::new();
    let mut kind = "";
    for entry in &entries {
        if entry.kind != kind {
            kind = &entry.kind;
            text.push_str(&format!("{}{kind}s\n", if text.is_empty() { "" } else { "\n" }));
        }
        text.push_str(&format!("  {:<16} {}\n", entry.name, entry.about));
    }
    output::print(&text)
}

fn entries(topology: &Topology) -> Result<Vec<ListEntry>, AppError> {
    let entry =
        |kind: &str, name: &str, about: String| ListEntry { kind: kind.into(), name: name.into(), about };
    let mut entries = Vec::new();
    for (name, about) in QUESTIONS {
        entries.push(entry("question", name, format!("{about} (threadwise {name} --help)")));
    }
    for (name, title) in threadwise_study::presets::names() {
        entries.push(entry("preset", name, (*title).to_owned()));
    }
    for engine in engines::all() {
        let version = engine.version(&Options::new()).unwrap_or_else(|error| format!("not here: {error}"));
        let about = format!("{} ({version})", engine.about());
        entries.push(entry("engine", engine.name(), about));
    }
    for engine in engines::embedded() {
        let about = format!("{} (threadwise engine list says whether it is here)", engine.about);
        entries.push(entry("engine", engine.name, about));
    }
    for (name, about) in WORKLOADS {
        let with = engines::all().iter().filter(|engine| engine.workloads().contains(&name));
        let with = with.map(|engine| engine.name());
        let others = engines::embedded().filter(|engine| engine.workloads.contains(&name));
        let with: Vec<&str> = with.chain(others.map(|engine| engine.name)).collect();
        entries.push(entry("workload", name, format!("{about} (engines: {})", with.join(", "))));
    }
    for recipe in threadwise_worklist::recipe::all().unwrap_or_default() {
        entries.push(entry("recipe", &recipe.name, recipe.about));
    }
    for parser in threadwise_study::command::parsers::all().unwrap_or_default() {
        entries.push(entry("parser", &parser.name, parser.about));
    }
    for name in NAMES.into_iter().chain(["all-but:1"]) {
        entries.push(entry("placement", name, here(name, topology)?));
    }
    Ok(entries)
}

fn here(name: &str, topology: &Topology) -> Result<String, AppError> {
    let placement = name.parse::<Placement>().map_err(AppError::input)?;
    Ok(match topology::here(&placement, topology)?.cpus {
        Ok(cpus) => format!("here, for example: logical CPUs {cpus}"),
        Err(lacks) => format!("not here: {lacks}"),
    })
}
