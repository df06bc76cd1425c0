//! The engine's statistics of a session for one statement.
//!
//! isql asks the engine for its attachment's numbers before and after each statement (SET STATS), which in a
//! program with the engine inside affects no other session; they are those of MON$IO_STATS. Reading that table
//! would ask the programs of all sessions for theirs, and on a busy machine such a request was seen to wait for
//! ever in Firebird 3.0's lock manager. A commit after the statement is not included.
//!
//! Source: Firebird 3.0's `src/isql/isql.epp` (`print_performance`), doc/README.monitoring_tables.

use std::ops::Add;

/// Beginning of the statistics of a statement.
pub(crate) const BEGIN: &str = "Current memory =";

/// Pages accessed for one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Pages {
    /// Found in the cache or read.
    pub fetches: u64,
    /// Read from the file.
    pub reads: u64,
    /// Written to the file.
    pub writes: u64,
}

impl Add for Pages {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            fetches: self.fetches + other.fetches,
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
        }
    }
}

/// Reads the lines `Fetches = 1286`.
pub(crate) fn parse(said: &str) -> Option<Pages> {
    let number = |name: &str| {
        let rest = said.lines().find_map(|line| line.trim().strip_prefix(name));
        rest?.trim().strip_prefix('=')?.trim().parse().ok()
    };
    Some(Pages { fetches: number("Fetches")?, reads: number("Reads")?, writes: number("Writes")? })
}

/// What one line of statistics adds, and whether it is the last of a statement's; `None` for another line.
pub(crate) fn of_line(line: &[u8]) -> Option<(Pages, bool)> {
    let number = |name: &str| -> Option<u64> {
        let rest = line.strip_prefix(name.as_bytes())?.trim_ascii().strip_prefix(b"=")?;
        std::str::from_utf8(rest).ok()?.trim().parse().ok()
    };
    let none = Pages::default();
    let reads = number("Reads").map(|reads| (Pages { reads, ..none }, false));
    reads
        .or_else(|| number("Writes").map(|writes| (Pages { writes, ..none }, false)))
        .or_else(|| number("Fetches").map(|fetches| (Pages { fetches, ..none }, true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_read_and_a_missing_one_is_none() {
        let said = "Current memory = 19271280\nDelta memory = 388208\nElapsed time= 0.004 sec\nCpu = 0.010 sec\n\
                    Buffers = 2048\nReads = 58\nWrites = 1\nFetches = 1286\n";
        let pages = Pages { fetches: 1286, reads: 58, writes: 1 };
        assert_eq!(parse(said), Some(pages));
        assert_eq!(parse(&said.replace("Fetches = 1286", "Fetches = many")), None);
        assert_eq!(parse(&said.replace("Writes", "Wrote")), None);
        assert_eq!(pages + pages, Pages { fetches: 2572, reads: 116, writes: 2 });
    }
    #[test]
    fn lines_of_statistics_are_told_from_rows() {
        let pages = |line: &str| of_line(line.as_bytes());
        assert_eq!(pages("Reads = 58\n"), Some((Pages { reads: 58, ..Pages::default() }, false)));
        assert_eq!(pages("Writes = 1\n"), Some((Pages { writes: 1, ..Pages::default() }, false)));
        assert_eq!(pages("Fetches = 1286\n"), Some((Pages { fetches: 1286, ..Pages::default() }, true)));
        for line in
            ["", "Reads                           5\n", "Fetches = many\n", "Buffers = 2048\n", "Cpu = 0.0"]
        {
            assert_eq!(pages(line), None, "{line}");
        }
        assert_eq!(of_line(b"Reads = \xff\n"), None);
    }
}
