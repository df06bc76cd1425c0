//! Texts of messages about queries.
//!
//! Source: "SET STATISTICS TIME (Transact-SQL)": for each statement its times of parsing and compiling, and of execution,
//! in whole milliseconds. The texts are those of the language us_english.

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
