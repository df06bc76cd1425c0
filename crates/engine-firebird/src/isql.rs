//! A session of Firebird's: the program isql with the engine inside, spoken to through pipes.
//!
//! It inherits the logical CPUs and the memory policy of the thread that starts it. Statements go in as
//! text, and the answers come back as lines `NAME  value` (SET LIST ON), each statement's at once: isql
//! flushes after every statement. A question of isql's own, which the engine never sees, marks the end of
//! an answer. When we end, however, its standard input ends, and so does it, at the end of its statement.
//!
//! Source: `isql-fb(1)`, Firebird 3.0's `src/isql/isql.epp`.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, PipeReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::time::Duration;
use threadwise_engine::EngineError;
use threadwise_process::stopping;

use crate::error::{failed, words};
use crate::home::Home;
use crate::workload::counters::{self, Pages};

/// Asks isql for its dialect, which needs neither a transaction nor a page.
const MARK: &str = "show sql dialect;\n";

/// How its answer begins.
const MARK_ANSWER: &str = "Client SQL dialect";

/// How an error begins.
const ERROR: &str = "Statement failed, SQLSTATE";

/// How long it may take to close its database.
const END_LIMIT: Duration = Duration::from_secs(20);

/// One row of an answer, by column.
pub(crate) type Row = BTreeMap<String, String>;

/// A session.
#[derive(Debug)]
pub(crate) struct Isql {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<PipeReader>,
}

impl Isql {
    /// Starts it; on `database`, or without one, which the first statement then has to make.
    ///
    /// # Errors
    /// It cannot be started, or says what keeps it from the database.
    pub(crate) fn start(home: &Home, program: &Path, database: Option<&str>) -> Result<Self, EngineError> {
        let action = "start a session";
        let (reader, writer) = io::pipe().map_err(|cause| failed(action, cause))?;
        let both = writer.try_clone().map_err(|cause| failed(action, cause))?;
        let mut child = home
            .command(program)
            .args(["-q", "-user", "SYSDBA"])
            .args(database)
            .stdin(Stdio::piped())
            .stdout(writer)
            .stderr(both)
            // Ctrl-C in a terminal is for us.
            .process_group(0)
            .spawn()
            .map_err(|cause| failed(action, format!("{}: {cause}", program.display())))?;
        let input = child.stdin.take();
        let mut session = Self { child, input, output: BufReader::new(reader) };
        session.run(action, "set list on")?;
        Ok(session)
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Does a statement that gives no rows, and commits.
    ///
    /// # Errors
    /// The engine's words.
    pub(crate) fn run(&mut self, action: &str, sql: &str) -> Result<(), EngineError> {
        self.say(action, &format!("{sql};\ncommit;\n")).map(drop)
    }

    /// Makes something whose text has semicolons of its own.
    ///
    /// # Errors
    /// The engine's words.
    pub(crate) fn define(&mut self, action: &str, sql: &str) -> Result<(), EngineError> {
        self.say(action, &format!("set term ^;\n{sql}^\nset term ;^\ncommit;\n")).map(drop)
    }

    /// The rows of a statement, which is committed.
    ///
    /// # Errors
    /// The engine's words.
    pub(crate) fn rows(&mut self, action: &str, sql: &str) -> Result<Vec<Row>, EngineError> {
        self.say(action, &format!("{sql};\ncommit;\n")).map(|said| rows(&said))
    }

    /// The whole numbers of the only row of a statement, by column.
    ///
    /// # Errors
    /// The engine's words; or another number of rows.
    pub(crate) fn numbers<const N: usize>(
        &mut self,
        action: &str,
        sql: &str,
        columns: [&str; N],
    ) -> Result<[i64; N], EngineError> {
        only_row(action, &self.rows(action, sql)?, columns)
    }

    /// Like [`Self::numbers`], with the pages that the session accessed for the statement.
    ///
    /// # Errors
    /// The engine's words; or another number of rows; or no statistics.
    pub(crate) fn counted<const N: usize>(
        &mut self,
        action: &str,
        sql: &str,
        columns: [&str; N],
    ) -> Result<([i64; N], Pages), EngineError> {
        let said = self.say(action, &format!("set stats on;\n{sql};\nset stats off;\ncommit;\n"))?;
        let (answer, statistics) = said.split_at(said.find(counters::BEGIN).unwrap_or(said.len()));
        let pages =
            counters::parse(statistics).ok_or_else(|| failed(action, "isql reported no statistics of it"))?;
        Ok((only_row(action, &rows(answer), columns)?, pages))
    }

    /// The plan of a statement, which is not done.
    ///
    /// # Errors
    /// The engine's words.
    pub(crate) fn plan(&mut self, sql: &str) -> Result<String, EngineError> {
        let said =
            self.say("plan a step", &format!("set planonly on;\n{sql};\nset planonly off;\ncommit;\n"))?;
        Ok(said.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Says something to isql, and gives what it says back.
    fn say(&mut self, action: &str, text: &str) -> Result<String, EngineError> {
        let written = match self.input.as_mut() {
            Some(input) => input.write_all(text.as_bytes()).and_then(|()| input.write_all(MARK.as_bytes())),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        // What it said before it ended tells more than that it cannot be written to.
        let mut said = String::new();
        loop {
            let begin = said.len();
            let length = self.output.read_line(&mut said).map_err(|cause| failed(action, cause))?;
            if length == 0 {
                let status = stopping::wait(&mut self.child, END_LIMIT).ok().flatten();
                let status =
                    status.map_or("closed its output".to_owned(), |status| format!("ended with {status}"));
                return Err(failed(action, format!("isql {status}: {}", words(&said))));
            }
            if said[begin..].trim_start().starts_with(MARK_ANSWER) {
                said.truncate(begin);
                break;
            }
        }
        written.map_err(|cause| failed(action, cause))?;
        match said.contains(ERROR) {
            true => Err(failed(action, words(&said))),
            false => Ok(said),
        }
    }
}

impl Drop for Isql {
    /// Lets it close its database, and kills it where it does not.
    fn drop(&mut self) {
        drop(self.input.take());
        if !matches!(stopping::wait(&mut self.child, END_LIMIT), Ok(Some(_))) {
            // The janitor remains where this fails.
            let _ = stopping::kill_group(&mut self.child);
        }
    }
}

/// The whole numbers of the only row, by column.
fn only_row<const N: usize>(action: &str, rows: &[Row], columns: [&str; N]) -> Result<[i64; N], EngineError> {
    let [row] = rows else {
        return Err(failed(action, format!("it gave {} rows instead of 1", rows.len())));
    };
    let mut numbers = [0; N];
    for (number, column) in numbers.iter_mut().zip(columns) {
        *number = number_of(row, column).ok_or_else(|| failed(action, format!("it gave no {column}")))?;
    }
    Ok(numbers)
}

/// The whole number in a column of a row.
pub(crate) fn number_of(row: &Row, column: &str) -> Option<i64> {
    row.get(column)?.parse().ok()
}

/// The rows of what isql said: lines `NAME  value`; a name that was there already begins the next row.
fn rows(said: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in said.lines() {
        let Some((name, value)) = line.trim_end().split_once(' ') else { continue };
        if rows.last().is_none_or(|row| row.contains_key(name)) {
            rows.push(Row::new());
        }
        if let Some(row) = rows.last_mut() {
            row.insert(name.to_owned(), value.trim().to_owned());
        }
    }
    rows
}

/// A statement with its places filled in.
pub(crate) fn fill(sql: &str, places: &[(&str, &str)]) -> String {
    places.iter().fold(sql.to_owned(), |sql, (name, value)| sql.replace(&format!("{{{name}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_rows() {
        let said = "\nSTEPS                           30\nCALLS                           -4\n\n\n\
                    STEPS                           5\nCALLS                           <null>\n\n";
        let rows = rows(said);
        assert_eq!(
            (rows.len(), number_of(&rows[0], "STEPS"), number_of(&rows[0], "CALLS")),
            (2, Some(30), Some(-4))
        );
        assert_eq!((number_of(&rows[1], "STEPS"), number_of(&rows[1], "CALLS")), (Some(5), None));
        assert!(super::rows("\n\n").is_empty());
    }
}
