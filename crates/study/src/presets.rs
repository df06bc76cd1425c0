//! Built-in studies, as data in `studies/*.toml`.

/// Name, title and text of each preset; the first is the default.
const PRESETS: [(&str, &str, &str); 21] = [
    (
        "placement",
        "Cached reads of two sessions: one logical CPU, one core, two cores, two packages",
        include_str!("../../../studies/placement.toml"),
    ),
    (
        "session-sweep",
        "Cached reads against sessions: 1, 2, 4, ... up to the allowed logical CPUs and past them",
        include_str!("../../../studies/session-sweep.toml"),
    ),
    (
        "cached-reads",
        "Cached reads of two sessions, up to 80 MiB each: one logical CPU, one core, two cores, two packages",
        include_str!("../../../studies/cached-reads.toml"),
    ),
    (
        "concurrent-inserts",
        "Concurrent inserts: one thread of every core, both threads, half of the cores",
        include_str!("../../../studies/concurrent-inserts.toml"),
    ),
    (
        "smt-boots",
        "Cached reads with SMT on and off: every arm on boots of its own",
        include_str!("../../../studies/smt-boots.toml"),
    ),
    (
        "locks",
        "Lookups and inserts in a B-tree with a spinlock, a queue lock and without one: cores and siblings",
        include_str!("../../../studies/locks.toml"),
    ),
    (
        "kernels",
        "Loops that need one resource each: alone, on the threads of one core, on two cores",
        include_str!("../../../studies/kernels.toml"),
    ),
    (
        "smt-off",
        "Both threads of every core, one with its sibling idle, one with SMT off",
        include_str!("../../../studies/smt-off.toml"),
    ),
    (
        "log-buffer",
        "The log writer near the sessions, far from them, and on the same logical CPUs",
        include_str!("../../../studies/log-buffer.toml"),
    ),
    (
        "log-buffer-memory",
        "The log writer near the sessions and far from them: a lock-free table in memory, one transaction a session",
        include_str!("../../../studies/log-buffer-memory.toml"),
    ),
    (
        "parallel-queries",
        "TPC-H: 22 queries, degree of parallelism, one thread of every core and both",
        include_str!("../../../studies/parallel-queries.toml"),
    ),
    (
        "parallel-workers",
        "Parallel scan: rows by worker, with its sibling busy or idle, and what a straggler costs",
        include_str!("../../../studies/parallel-workers.toml"),
    ),
    (
        "tpch-streams",
        "TPC-H throughput: degree of parallelism by number of streams",
        include_str!("../../../studies/tpch-streams.toml"),
    ),
    (
        "mixed-load",
        "TPC-H beside short queries: degree of parallelism",
        include_str!("../../../studies/mixed-load.toml"),
    ),
    (
        "pool",
        "Connections for a pool: 1, 2, 4, ... sessions, past the logical CPUs",
        include_str!("../../../studies/pool.toml"),
    ),
    (
        "transaction",
        "Transactions from a file: 1, 2, 4, ... sessions, past the logical CPUs",
        include_str!("../../../studies/transaction.toml"),
    ),
    (
        "maxdop",
        "TPC-H on all logical CPUs: which degree of parallelism to set",
        include_str!("../../../studies/maxdop.toml"),
    ),
    (
        "bind",
        "A running server on all logical CPUs, on one thread of every core, and on parts of the machine",
        include_str!("../../../studies/bind.toml"),
    ),
    (
        "command",
        "Your own command: one core, its second thread, one thread of every core, both threads",
        include_str!("../../../studies/command.toml"),
    ),
    (
        "work-list",
        "Backup and restore of a list: 1, 2, 4, ... jobs, one thread of every core and both",
        include_str!("../../../studies/work-list.toml"),
    ),
    (
        "reload-schedule",
        "Backup and restore of a list: one queue and fixed parts, the largest first and as given",
        include_str!("../../../studies/reload-schedule.toml"),
    ),
];

/// Name of the default study of `threadwise run`.
pub const DEFAULT: &str = PRESETS[0].0;

/// Name and title of each preset, the default first.
pub fn names() -> Vec<(&'static str, &'static str)> {
    PRESETS.iter().map(|(name, title, _)| (*name, *title)).collect()
}

/// The TOML text of a preset.
pub fn get(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(known, ..)| *known == name).map(|(.., text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::StudyFile;

    #[test]
    fn every_preset_reads_and_carries_its_own_name_and_title() {
        for (name, title) in names() {
            let file = StudyFile::preset(name).unwrap();
            assert_eq!((file.name(), file.title()), (name, title));
        }
        assert_eq!(DEFAULT, "placement");
        assert_eq!(get("nothing"), None);
    }
}
