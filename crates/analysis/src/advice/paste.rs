//! Lines that put advice into effect, in the words of the engine that was measured and of the system.
//!
//! Sources: PostgreSQL documentation 20.7 (`max_parallel_workers_per_gather` does not count the leader) and 20.4; DuckDB
//! "Configuration" (`threads`); DataFusion "Configuration Settings"; ClickHouse "Core settings" (`max_threads`);
//! PgBouncer "Config" (`default_pool_size`); HikariCP README (`maximumPoolSize`); taskset(1); systemd.exec(5)
//! (`CPUAffinity=`); numactl(8); the kernel's Documentation/ABI/testing/sysfs-devices-system-cpu (`smt/control`);
//! AWS "CPU options" and Google Cloud "Set the number of threads per core".

use super::{sessions, words};
use crate::Facts;
use crate::choices::{Axis, Candidate, Choice};
use threadwise_document::Paste;
use threadwise_machine::{CpuSet, Memory};

/// One line: for which axis and engine (empty: any), where it goes, and its text with `{n}` for the number and `{less}`
/// for one less.
struct Line {
    axis: Axis,
    engine: &'static str,
    place: &'static str,
    text: &'static str,
}

const fn line(axis: Axis, engine: &'static str, place: &'static str, text: &'static str) -> Line {
    Line { axis, engine, place, text }
}

/// All of them.
const LINES: [Line; 12] = [
    line(Axis::Dop, "postgres", "psql", "ALTER SYSTEM SET max_parallel_workers_per_gather = {less};"),
    line(Axis::Dop, "postgres", "psql", "SELECT pg_reload_conf();"),
    line(Axis::Dop, "duckdb", "SQL", "SET threads = {n};"),
    line(Axis::Dop, "datafusion", "SQL", "SET datafusion.execution.target_partitions = {n};"),
    line(Axis::Dop, "clickhouse", "SQL", "SET max_threads = {n};"),
    line(Axis::Sessions, "postgres", "pgbouncer.ini", "default_pool_size = {n}"),
    line(Axis::Sessions, "postgres", "HikariCP", "maximumPoolSize={n}"),
    line(Axis::Sessions, "mariadb", "HikariCP", "maximumPoolSize={n}"),
    line(Axis::Sessions, "firebird", "HikariCP", "maximumPoolSize={n}"),
    line(Axis::Sessions, "sqlite", "pool of your program", "connections = {n}"),
    line(Axis::Memory, "", "shell", "numactl --interleave=all COMMAND"),
    line(Axis::Jobs, "", "shell", "threadwise reload --jobs {n} FILE..."),
];

/// The lines of a decided choice; none where nothing has to be changed.
pub fn lines(facts: &Facts<'_>, choice: &Choice) -> Vec<Paste> {
    let Some(chosen) = choice.chosen_candidate() else { return Vec::new() };
    if facts.is_simulated() {
        return Vec::new();
    }
    // A bound for latency comes before throughput.
    let number = match (choice.axis, sessions::most_within(facts, choice)) {
        (Axis::Sessions, Some(None)) => return Vec::new(),
        (Axis::Sessions, Some(Some((most, _)))) => most.number.min(chosen.number),
        _ => chosen.number,
    };
    match choice.axis {
        Axis::Placement => mask(facts, choice, chosen),
        Axis::Smt if choice.candidates.first() == Some(chosen) => one_thread(facts),
        Axis::Memory if !is_interleaved(facts, chosen) => Vec::new(),
        Axis::Jobs if !is_reload(facts, chosen) => Vec::new(),
        axis => {
            let all = LINES.iter().filter(|line| line.axis == axis);
            let all = all.filter(|line| line.engine.is_empty() || line.engine == facts.study.engine);
            let text = |line: &Line| {
                let less = number.saturating_sub(1).to_string();
                line.text.replace("{n}", &number.to_string()).replace("{less}", &less)
            };
            all.map(|line| Paste { place: line.place.to_owned(), text: text(line) }).collect()
        }
    }
}

/// Memory on the node of the thread that touches it first is what every process has already.
fn is_interleaved(facts: &Facts<'_>, chosen: &Candidate) -> bool {
    let found = facts.study.treatment(&chosen.treatment);
    found.is_some_and(|(_, treatment)| treatment.memory == Memory::Interleave)
}

/// Whether the recipe is one of those that the program itself applies to a user's files.
fn is_reload(facts: &Facts<'_>, chosen: &Candidate) -> bool {
    let recipe = facts.study.treatment(&chosen.treatment).and_then(|(_, one)| one.options.get("recipe"));
    recipe.is_some_and(|recipe| ["sqlite", "firebird"].contains(&recipe.to_string().as_str()))
}

/// The mask of a running server; none where it is to be left as it is, or its logical CPUs differed between blocks.
fn mask(facts: &Facts<'_>, choice: &Choice, chosen: &Candidate) -> Vec<Paste> {
    if !words::binds_a_server(facts) || choice.candidates.first() == Some(chosen) {
        return Vec::new();
    }
    let mut masks = facts
        .runs
        .iter()
        .filter(|run| run.treatment == chosen.treatment)
        .map(|run| run.cpus.iter().copied().collect::<CpuSet>());
    let Some(first) = masks.next().filter(|first| masks.all(|mask| mask == *first)) else {
        return Vec::new();
    };
    let paste = |place: &str, text: String| Paste { place: place.to_owned(), text };
    vec![
        paste("systemd unit", format!("CPUAffinity={first}")),
        paste("shell, until it is started again", format!("taskset -acp {first} PID")),
    ]
}

/// One thread of every core: by a mask, by switching SMT off, and by the type of an instance.
fn one_thread(facts: &Facts<'_>) -> Vec<Paste> {
    let firsts: CpuSet = facts.topology.cores.iter().filter_map(|core| core.cpus.iter().next()).collect();
    let paste = |place: &str, text: String| Paste { place: place.to_owned(), text };
    let mut all = vec![
        paste("shell, a running server", format!("taskset -acp {firsts} PID")),
        paste("systemd unit", format!("CPUAffinity={firsts}")),
    ];
    match &facts.topology.identity.hypervisor {
        Some(_) => all.push(paste("instance", "threads_per_core=1".to_owned())),
        None => {
            all.push(paste(
                "root, whole machine",
                "echo off > /sys/devices/system/cpu/smt/control".to_owned(),
            ));
        }
    }
    all
}
