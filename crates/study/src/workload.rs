//! Workloads: what a study's sessions do, and what follows from it for planning, measuring and reporting.
//!
//! A workload is text in study definitions, result files and the worker protocol, and this type everywhere else. Engines
//! from elsewhere may have workloads of their own: those are [`Workload::Other`].

use serde::{Deserialize, Serialize};
use std::fmt;

use crate::{Options, engine};

/// What the sessions of a study do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum Workload {
    /// Cached reads of consecutive keys.
    LogicalIo,
    /// Transactions that insert rows into one table.
    Insert,
    /// Lookups or inserts in one index in memory.
    Index,
    /// Loops that need one resource each.
    Kernels,
    /// The queries of TPC-H.
    Tpch,
    /// Parallel scans of one table.
    ParallelScan,
    /// Records into one log buffer.
    LogBuffer,
    /// The user's statements.
    Transaction,
    /// Computing inside a server.
    Burn,
    /// The user's command.
    Command,
    /// A list of files or databases.
    WorkList,
    /// A workload of an engine from elsewhere, by name.
    Other(String),
}

/// How the work of a workload is spread over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Slices of a fixed time, in turn, unless an option fixes the amount of work.
    Slices,
    /// Queries, each to its end.
    Queries,
    /// One whole command or list, alone on the machine.
    WholeRuns,
}

/// Words of a workload for its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nouns {
    /// Unit of throughput, as a column heading.
    pub rate: &'static str,
    /// Unit of throughput in full, at the start of a sentence.
    pub rate_in_full: &'static str,
    /// Unit of CPU cost, as a column heading.
    pub cpu: &'static str,
    /// One unit of work.
    pub row: &'static str,
    /// One that works.
    pub session: &'static str,
    /// Several.
    pub sessions: &'static str,
    /// Its rows in words, plural: `reads`.
    pub noun: &'static str,
    /// Singular: `inserted row`, as in "CPU per inserted row".
    pub noun_one: &'static str,
    /// Possible causes of more than linear scaling.
    pub causes: &'static str,
}

/// What is known of a workload.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// Its name in study definitions, result files and the worker protocol; empty for workloads from elsewhere.
    pub name: &'static str,
    /// What it does, one line.
    pub about: &'static str,
    /// What a unit of its work is, where that needs saying in a report.
    pub unit: Option<&'static str>,
    /// Its words.
    pub nouns: Nouns,
    /// How its work is spread over time.
    pub spread: Spread,
    /// Whether a session's query runs in parallel, so that treatments have a degree of parallelism.
    pub has_dop: bool,
    /// Whether answers, or what was written, are checked. Those of the user's own statements are not, and commands are
    /// checked by what the user names.
    pub checks_answers: bool,
}

/// Words where a unit of work is a row.
pub const ROWS: Nouns = Nouns {
    rate: "rows/s",
    rate_in_full: "Rows per second",
    cpu: "CPU/row",
    row: "row",
    session: "session",
    sessions: "sessions",
    noun: "rows",
    noun_one: "row",
    causes: "clocks and caches",
};

const QUERIES: Nouns = Nouns {
    rate: "queries/s",
    rate_in_full: "Queries per second",
    cpu: "CPU/query",
    row: "query",
    session: "stream",
    sessions: "streams",
    noun: "queries",
    noun_one: "query",
    ..ROWS
};

/// Throughput of queries that take turns is a geometric mean over them.
pub(crate) const QUERIES_IN_TURN: Nouns =
    Nouns { rate: "queries/s (geo. mean)", rate_in_full: "Queries per second (geometric mean)", ..QUERIES };

const TRANSACTIONS: Nouns = Nouns {
    rate: "transactions/s",
    rate_in_full: "Transactions per second",
    cpu: "CPU/transaction",
    row: "transaction",
    noun: "transactions",
    noun_one: "transaction",
    ..ROWS
};

const RUNS: Nouns = Nouns {
    rate: "runs/s",
    rate_in_full: "Runs per second",
    cpu: "CPU/run",
    row: "run",
    session: "process",
    sessions: "processes",
    noun: "runs",
    noun_one: "run",
    ..ROWS
};

/// What is assumed of a workload from elsewhere.
const OTHER: Known = Known {
    name: "",
    about: "",
    unit: None,
    nouns: ROWS,
    spread: Spread::Slices,
    has_dop: false,
    checks_answers: true,
};

const LOGICAL_IO: Known = Known {
    name: "logical-io",
    about: "cached reads of consecutive keys from a random start",
    unit: Some("reads are rows read from the engine's cache"),
    nouns: Nouns { noun: "reads", noun_one: "read", ..ROWS },
    ..OTHER
};

const INSERT: Known = Known {
    name: "insert",
    about: "a few rows a transaction into one table, keys ascending or random",
    unit: Some("inserts are rows of committed transactions"),
    // Commits of several sessions may wait for one flush of the log together.
    nouns: Nouns {
        noun: "inserts",
        noun_one: "inserted row",
        causes: "shared flushes, clocks and caches",
        ..ROWS
    },
    ..OTHER
};

const INDEX: Known = Known {
    name: "index",
    about: "lookups or inserts in one index in memory with a spinlock, a queue lock, or no lock",
    unit: Some("one lookup or insert is a row, without a transaction or a log"),
    nouns: Nouns { noun: "operations", noun_one: "operation", ..ROWS },
    ..OTHER
};

const KERNELS: Known = Known {
    name: "kernels",
    about: "loops that need one resource each: issue width, caches, memory, a B-tree, a lock",
    ..OTHER
};

const TPCH: Known = Known {
    name: "tpch",
    about: "the 22 queries of TPC-H, one after another or as streams, by degree of parallelism",
    nouns: QUERIES,
    spread: Spread::Queries,
    has_dop: true,
    ..OTHER
};

const PARALLEL_SCAN: Known = Known {
    name: "parallel-scan",
    about: "one parallel scan of a table in memory after another, by degree of parallelism",
    unit: Some("one parallel, CPU-bound scan of a table in memory; every answer is checked"),
    has_dop: true,
    ..OTHER
};

const LOG_BUFFER: Known = Known {
    name: "log-buffer",
    about: "records into one log buffer with a spinlock, a queue lock, or no lock",
    ..OTHER
};

const TRANSACTION: Known = Known {
    name: "transaction",
    about: "your statements from a file, one transaction after another on your own data",
    unit: Some("transactions are the user's"),
    nouns: TRANSACTIONS,
    checks_answers: false,
    ..OTHER
};

const UNITS: Nouns = Nouns {
    rate: "units/s",
    rate_in_full: "Units of computing per second",
    cpu: "CPU/unit",
    row: "unit",
    noun: "units",
    noun_one: "unit",
    ..ROWS
};

const BURN: Known = Known {
    name: "burn",
    about: "computing inside the server, one statement after another; no table, no procedure",
    unit: Some("a unit is one statement that computes with 10,000 numbers and reads no table"),
    nouns: UNITS,
    ..OTHER
};

const COMMAND: Known = Known {
    name: "command",
    about: "your command, one whole run after another",
    nouns: RUNS,
    spread: Spread::WholeRuns,
    checks_answers: false,
    ..OTHER
};

const WORK_LIST: Known = Known {
    name: "worklist",
    about: "a list of files or databases, N jobs, a recipe of commands for each item",
    nouns: RUNS,
    spread: Spread::WholeRuns,
    checks_answers: false,
    ..OTHER
};

impl Workload {
    /// All that have a name here, in the order in which `threadwise list` shows them.
    pub const ALL: [Self; 11] = [
        Self::LogicalIo,
        Self::Insert,
        Self::Index,
        Self::Kernels,
        Self::Tpch,
        Self::ParallelScan,
        Self::LogBuffer,
        Self::Transaction,
        Self::Burn,
        Self::Command,
        Self::WorkList,
    ];

    /// What is known of it.
    pub fn known(&self) -> &'static Known {
        match self {
            Self::LogicalIo => &LOGICAL_IO,
            Self::Insert => &INSERT,
            Self::Index => &INDEX,
            Self::Kernels => &KERNELS,
            Self::Tpch => &TPCH,
            Self::ParallelScan => &PARALLEL_SCAN,
            Self::LogBuffer => &LOG_BUFFER,
            Self::Transaction => &TRANSACTION,
            Self::Burn => &BURN,
            Self::Command => &COMMAND,
            Self::WorkList => &WORK_LIST,
            Self::Other(_) => &OTHER,
        }
    }

    /// Its name in study definitions, result files and the worker protocol.
    pub fn name(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => known.known().name,
        }
    }

    /// Names of several, as a message lists them.
    pub fn list(workloads: &[Self]) -> String {
        workloads.iter().map(Self::name).collect::<Vec<_>>().join(", ")
    }

    /// Whether its sessions execute statements that need no data of threadwise's: nothing is made in a server.
    pub fn makes_nothing(&self) -> bool {
        matches!(self, Self::Transaction | Self::Burn)
    }

    /// Whether each run is one whole command or work list, alone on the machine.
    pub fn runs_whole(&self) -> bool {
        self.known().spread == Spread::WholeRuns
    }

    /// Whether sessions work in slices of a fixed time, so that it has rates.
    pub fn is_sliced(&self) -> bool {
        self.known().spread == Spread::Slices
    }

    /// Whether a session's query runs in parallel, so that treatments have a degree of parallelism.
    pub fn has_dop(&self) -> bool {
        self.known().has_dop
    }

    /// How many logical CPUs this many sessions keep busy. A query or a command may use its whole placement.
    pub fn busy_cpus(&self, sessions: u32, cpus: usize) -> usize {
        match self.has_dop() || self.runs_whole() {
            true => cpus,
            false => cpus.min(sessions as usize),
        }
    }

    /// Whether the treatments of a block run one after the other, once each: whole commands, and servers that are bound
    /// as a whole before sessions are opened. Queries are bound one by one.
    pub fn takes_turns(&self, engine_options: &Options) -> bool {
        match self.known().spread {
            Spread::WholeRuns => true,
            Spread::Slices => engine::binds_server(engine_options),
            Spread::Queries => false,
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl From<&str> for Workload {
    fn from(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|workload| workload.name() == name);
        known.unwrap_or_else(|| Self::Other(name.to_owned()))
    }
}

impl From<String> for Workload {
    fn from(name: String) -> Self {
        name.as_str().into()
    }
}

impl Serialize for Workload {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_others_stay_as_they_are() {
        for workload in Workload::ALL {
            assert_eq!(Workload::from(workload.to_string()), workload);
            assert!(!workload.known().about.is_empty() && workload != Workload::Other(workload.to_string()));
        }
        let other = Workload::from("vertica-scan");
        assert_eq!((other.name(), other.is_sliced(), other.has_dop()), ("vertica-scan", true, false));
        assert_eq!(other.known().nouns, ROWS);
    }

    #[test]
    fn work_is_spread_as_each_workload_asks() {
        let spread = |workload: Workload| (workload.is_sliced(), workload.runs_whole(), workload.has_dop());
        assert_eq!(spread(Workload::LogicalIo), (true, false, false));
        assert_eq!(spread(Workload::ParallelScan), (true, false, true));
        assert_eq!(spread(Workload::Tpch), (false, false, true));
        assert_eq!(spread(Workload::WorkList), (false, true, false));
        assert_eq!([1, 9].map(|sessions| Workload::Insert.busy_cpus(sessions, 4)), [1, 4]);
        assert_eq!([Workload::Tpch, Workload::Command].map(|workload| workload.busy_cpus(1, 4)), [4, 4]);
        assert!(
            Workload::Command.takes_turns(&Options::new()) && !Workload::Insert.takes_turns(&Options::new())
        );
    }
}
