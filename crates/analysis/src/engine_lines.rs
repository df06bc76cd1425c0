//! Lines of text by engine, as data (`engine_lines.tsv`): settings to paste, and engines without a licence fee.
//!
//! Columns: subject (an axis of choices, or `licence`), engine (for jobs the recipe), where the line goes, and its text
//! with `{n}` for the number and `{less}` for one less.
//!
//! Sources: PostgreSQL documentation 20.7 (`max_parallel_workers_per_gather` does not count the leader); DuckDB
//! "Configuration" (`threads`); DataFusion "Configuration Settings"; ClickHouse "Core settings" (`max_threads`);
//! Microsoft, "Server configuration: max degree of parallelism" and "cost threshold for parallelism" (`sp_configure`);
//! MariaDB and MySQL, "InnoDB system variables" (`innodb_numa_interleave`);
//! PgBouncer "Config" (`default_pool_size`); HikariCP README (`maximumPoolSize`).

/// The file.
const LINES: &str = include_str!("engine_lines.tsv");

/// Where each line of an engine goes, and its text.
pub fn lines(about: &str, engine: &str) -> Vec<(&'static str, &'static str)> {
    let line = |line: &'static str| {
        let mut cells = line.split('\t');
        let is_meant = cells.next() == Some(about) && cells.next() == Some(engine);
        is_meant.then_some((cells.next()?, cells.next()?))
    };
    LINES.lines().filter_map(line).collect()
}

/// Why an engine has no licence fee; `None` for any other.
pub fn no_licence(engine: &str) -> Option<&'static str> {
    lines("licence", engine).first().map(|(_, why)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_its_cells() {
        assert!(LINES.lines().all(|line| line.split('\t').count() == 4));
        assert_eq!(lines("dop", "duckdb"), [("SQL", "SET threads = {n};")]);
        assert_eq!(lines("dop", "postgres").len(), 2);
        let sqlserver: Vec<&str> = lines("dop", "sqlserver").into_iter().map(|(_, text)| text).collect();
        assert!(sqlserver.contains(&"EXEC sp_configure 'max degree of parallelism', {n}; RECONFIGURE;"));
        assert!(sqlserver.iter().any(|text| text.contains("'cost threshold for parallelism'")));
        assert!(lines("dop", "nothing").is_empty());
        assert!(no_licence("sqlite").is_some() && no_licence("postgres").is_none());
    }
}
