//! Texts of queries and of messages about them.
//!
//! T-SQL has no search path, so the queries, which name tables alone, get the schema before each table name in a FROM or
//! JOIN.
//!
//! Source: "SET STATISTICS TIME (Transact-SQL)": for each statement its times of parsing and compiling, and of execution,
//! in whole milliseconds. The texts are those of the language us_english.

use threadwise_engine::workloads::tpch::tables::TABLES;

/// Words after which a list of tables has ended.
const ENDS: [&str; 8] = ["where", "group", "order", "having", "on", "select", "union", "option"];

/// The text with `[schema].` before each table of the data.
pub(super) fn qualified(sql: &str, schema: &str) -> String {
    let mut out = String::with_capacity(sql.len() + 200);
    // For each open parenthesis: whether a list of tables is being read, and whether its next word is a table.
    let mut levels = vec![(false, false)];
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
            _ if is_of_word(first) => rest.find(|c| !is_of_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        rest = after;
        let lower = word.to_ascii_lowercase();
        match (first, levels.last_mut()) {
            ('(', _) => levels.push((false, false)),
            (')', _) => drop(levels.pop()),
            (',', Some(level)) => level.1 = level.0,
            (_, Some(level)) if lower == "from" || lower == "join" => *level = (true, true),
            (_, Some(level)) if ENDS.contains(&lower.as_str()) => *level = (false, false),
            (_, Some(level)) if level.1 && is_of_word(first) => {
                level.1 = false;
                if TABLES.iter().any(|table| table.name == lower) {
                    out.push_str(&format!("[{schema}]."));
                }
            }
            _ => {}
        }
        out.push_str(word);
    }
    out
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Times of a batch, milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Times {
    /// Elapsed time of parsing and compiling; `None` if not reported.
    pub compile_ms: Option<u64>,
    /// CPU time of the execution on all threads; `None` if not reported.
    pub cpu_ms: Option<u64>,
}

impl Times {
    /// Adds up the times of a batch's messages.
    pub(super) fn read(messages: &[String]) -> Self {
        let mut times = Self::default();
        for message in messages {
            let Some((cpu_ms, elapsed_ms)) = numbers(message) else { continue };
            if message.contains("parse and compile time") {
                times.compile_ms = Some(times.compile_ms.unwrap_or(0) + elapsed_ms);
            } else if message.contains("Execution Times") {
                times.cpu_ms = Some(times.cpu_ms.unwrap_or(0) + cpu_ms);
            }
        }
        times
    }
}

/// CPU and elapsed time in `CPU time = 15 ms,  elapsed time = 16 ms.`
fn numbers(message: &str) -> Option<(u64, u64)> {
    let number = |name: &str| -> Option<u64> {
        let (_, after) = message.split_once(name)?;
        let after = after.trim_start().strip_prefix('=')?.trim_start();
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        after[..end].parse().ok()
    };
    Some((number("CPU time")?, number("elapsed time")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_tpch::{Dialect, Parameters, sql};

    #[test]
    fn tables_get_their_schema_and_nothing_else_does() {
        let text = "SELECT nation, 'from part' FROM (SELECT n_name AS nation FROM nation n1, orders) AS x, part LEFT \
                    OUTER JOIN customer ON c_custkey = 1 WHERE nation IN (SELECT 1 FROM lineitem)";
        assert_eq!(
            qualified(text, "s"),
            "SELECT nation, 'from part' FROM (SELECT n_name AS nation FROM [s].nation n1, [s].orders) AS x, [s].part \
             LEFT OUTER JOIN [s].customer ON c_custkey = 1 WHERE nation IN (SELECT 1 FROM [s].lineitem)"
        );
    }

    #[test]
    fn every_query_has_as_many_as_it_has_tables_and_year_from_is_none() {
        // Tables in FROM and JOIN of the texts, counted by hand.
        let wanted = [1, 9, 3, 2, 6, 1, 6, 8, 6, 4, 6, 2, 2, 2, 2, 3, 3, 4, 2, 5, 6, 3];
        for (query, wanted) in (1..=22).zip(wanted) {
            let parameters = Parameters::validation(query, 1.0).unwrap();
            let text = sql(Dialect::SqlServer, query, &parameters).unwrap();
            let found = qualified(&text, "s").matches("[s].").count();
            assert_eq!(found, wanted, "query {query}: {}", qualified(&text, "s"));
        }
    }

    #[test]
    fn times_of_all_statements_are_added_up() {
        let messages = [
            "SQL Server parse and compile time: \n   CPU time = 3 ms, elapsed time = 4 ms.",
            "(4 rows affected)",
            "\n SQL Server Execution Times:\n   CPU time = 1531 ms,  elapsed time = 812 ms.",
            "SQL Server Execution Times:\n   CPU time = 1 ms,  elapsed time = 1 ms.",
        ]
        .map(str::to_owned);
        assert_eq!(Times::read(&messages), Times { compile_ms: Some(4), cpu_ms: Some(1532) });
        assert_eq!(Times::read(&["CPU time = x ms, elapsed time = 1 ms.".to_owned()]), Times::default());
    }
}
