//! The fuzzing targets: how each makes inputs, and what the program must satisfy with any of them.

mod cards;
mod cpu_lists;
mod fleets;
mod journal;
mod machines;
mod messages;
mod observed;
mod placements;
mod plans;
mod reload;
mod results;
mod smt_journal;
mod studies;
mod sweeps;
mod tool_output;
mod transactions;
mod tree;
mod trees;

use crate::target::{Kind, Target};

const fn kind(name: &'static str, about: &'static str, make: fn() -> Target) -> Kind {
    Kind { name, about, make }
}

/// All targets.
pub const TARGETS: [Kind; 19] = [
    kind("result-file", "a result file, up to every form of report", results::make),
    kind("observed-file", "a file of observed statements, up to every form of comparison", observed::make),
    kind("study-definition", "TOML, resolved and planned on several machines", studies::make),
    kind("sysfs", "topology, drawings and placements of a sysfs tree", trees::sysfs),
    kind("proc", "doctor and samplers on a tree of /proc and /sys", trees::proc),
    kind("worker-message", "lines of the worker protocol", messages::make),
    kind("mask-journal", "the journal of changed masks", journal::make),
    kind("smt-journal", "the journal of switched SMT, logical CPUs and clocks", smt_journal::make),
    kind("reload-state", "state and marker of a killed reload", reload::state),
    kind("database-header", "first pages of databases, and lists of files", reload::header),
    kind("cpu-list", "CPU lists and masks", cpu_lists::make),
    kind("placement", "placements, service and memory policies", placements::make),
    kind("sweep", "a sweep as CSV, fitted by a scaling law", sweeps::make),
    kind("transaction", "a file of SQL statements, as each engine quotes", transactions::make),
    kind("tool-output", "output of known tools", tool_output::make),
    kind("fleet", "fleet.toml and plan.json, up to an engine's files", fleets::plan),
    kind("fleet-cell", "records, journals and queues of a fleet", fleets::returned),
    kind("card", "a card of a study, up to the page of a gallery", cards::make),
    kind("plan", "PostgreSQL's EXPLAIN", plans::make),
];
