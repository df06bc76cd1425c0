//! The fuzzing targets: how each makes inputs, and what the program must satisfy with any of them.

mod cpu_lists;
mod fleets;
mod journal;
mod machines;
mod messages;
mod placements;
mod plans;
mod reload;
mod results;
mod smt_journal;
mod studies;
mod sweeps;
mod target;
mod tool_output;
mod transactions;
mod trees;

pub use target::Target;
use target::{hold, space};

/// A target by its name.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it reads.
    pub about: &'static str,
    /// Prepares it.
    pub make: fn() -> Result<Box<dyn Target>, String>,
}

/// All targets.
pub const TARGETS: [Kind; 17] = [
    Kind { name: "result-file", about: "a result file, up to every form of report", make: results::make },
    Kind {
        name: "study-definition",
        about: "TOML, resolved and planned on several machines",
        make: studies::make,
    },
    Kind { name: "sysfs", about: "topology, drawings and placements of a sysfs tree", make: trees::sysfs },
    Kind { name: "proc", about: "doctor and samplers on a tree of /proc and /sys", make: trees::proc },
    Kind { name: "worker-message", about: "lines of the worker protocol", make: messages::make },
    Kind { name: "mask-journal", about: "the journal of changed masks", make: journal::make },
    Kind {
        name: "smt-journal",
        about: "the journal of switched SMT, logical CPUs and clocks",
        make: smt_journal::make,
    },
    Kind { name: "reload-state", about: "state and marker of a killed reload", make: reload::state },
    Kind {
        name: "database-header",
        about: "first pages of databases, and lists of files",
        make: reload::header,
    },
    Kind { name: "cpu-list", about: "CPU lists and masks", make: cpu_lists::make },
    Kind { name: "placement", about: "placements, service and memory policies", make: placements::make },
    Kind { name: "sweep", about: "a sweep as CSV, fitted by a scaling law", make: sweeps::make },
    Kind {
        name: "transaction",
        about: "a file of SQL statements, as each engine quotes",
        make: transactions::make,
    },
    Kind { name: "tool-output", about: "output of known tools", make: tool_output::make },
    Kind { name: "fleet", about: "fleet.toml and plan.json, up to an engine's files", make: fleets::plan },
    Kind { name: "fleet-cell", about: "records, journals and queues of a fleet", make: fleets::returned },
    Kind { name: "plan", about: "PostgreSQL's EXPLAIN", make: plans::make },
];
