//! A session of Firebird: the program isql, which contains the engine, driven through pipes.
//!
//! It inherits the logical CPUs and the memory policy of the thread that starts it. Statements go in as
//! text, and answers come back as lines `NAME  value` (SET LIST ON), each statement's at once: isql
//! flushes after every statement. A command of isql's own, which the engine never sees, marks the end of
//! an answer. If this process dies, isql's standard input ends, and isql ends after its current statement.
//!
//! Source: `isql-fb(1)`, Firebird 3.0's `src/isql/isql.epp`.

use std::io::{self, BufRead, BufReader, PipeReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::time::Duration;
use threadwise_engine::EngineError;
use threadwise_engine::workloads::transaction::{AnswerSize, BindValue, ColumnValues};
use threadwise_process::stopping;

use crate::counters::{self, Pages};
use crate::error::{failed, words};
use crate::home::Home;

/// Asks isql for its dialect, which needs neither a transaction nor a page.
const MARK: &str = "show sql dialect";

/// Beginning of the answer to it.
const MARK_ANSWER: &str = "Client SQL dialect";

/// Beginning of an error.
const ERROR: &str = "Statement failed, SQLSTATE";

/// Most bytes of an error that are kept: it may quote the user's text.
const ERROR_BYTES: usize = 4096;

/// How long isql may take to close its database.
const END_LIMIT: Duration = Duration::from_secs(20);

/// One row of an answer: names of columns, and their values.
pub(crate) type Row = Vec<(String, String)>;

/// A session.
#[derive(Debug)]
pub(crate) struct Isql {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<PipeReader>,
    /// Terminator of statements.
    end: &'static str,
    /// The line that answers a mark.
    mark: String,
    /// Pages accessed for statements so far, where they are counted.
    pub pages: Pages,
}

/// Result of statements whose rows are not kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Skipped {
    /// Statements that were done before the first error.
    pub done: usize,
    /// Pages that all of them accessed.
    pub pages: Pages,
    /// The first error of the engine.
    pub error: Option<String>,
}

impl Isql {
    /// Starts isql with these arguments: the database last, or without one, which the first statement then has to make.
    ///
    /// # Errors
    /// It cannot be started, or cannot open the database.
    pub(crate) fn start(home: &Home, program: &Path, args: &[&str]) -> Result<Self, EngineError> {
        let action = "start a session";
        let (reader, writer) = io::pipe().map_err(|cause| failed(action, cause))?;
        let both = writer.try_clone().map_err(|cause| failed(action, cause))?;
        let mut child = home
            .command(program)
            .args(["-q", "-user", "SYSDBA"])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(writer)
            .stderr(both)
            // Ctrl-C in a terminal is for threadwise.
            .process_group(0)
            .spawn()
            .map_err(|cause| failed(action, format!("{}: {cause}", program.display())))?;
        let input = child.stdin.take();
        let output = BufReader::new(reader);
        let mut session =
            Self { child, input, output, end: ";", mark: String::new(), pages: Pages::default() };
        session.run(action, "set list on")?;
        Ok(session)
    }

    /// Its process number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Executes a statement without rows, and commits.
    ///
    /// # Errors
    /// An error of the engine.
    pub(crate) fn run(&mut self, action: &str, sql: &str) -> Result<(), EngineError> {
        self.exchange(action, &format!("{sql};\ncommit;\n")).map(drop)
    }

    /// Executes a DDL statement whose text contains semicolons.
    ///
    /// # Errors
    /// An error of the engine.
    pub(crate) fn define(&mut self, action: &str, sql: &str) -> Result<(), EngineError> {
        self.exchange(action, &format!("set term ^;\n{sql}^\nset term ;^\ncommit;\n")).map(drop)
    }

    /// The rows of a statement, which is committed; the pages that the session accessed for it are counted.
    ///
    /// # Errors
    /// An error of the engine; or no statistics.
    pub(crate) fn counted_rows(&mut self, action: &str, sql: &str) -> Result<Vec<Row>, EngineError> {
        let reply = self.exchange(action, &format!("set stats on;\n{sql};\nset stats off;\ncommit;\n"))?;
        let (answer, statistics) = reply.split_at(reply.find(counters::BEGIN).unwrap_or(reply.len()));
        let pages =
            counters::parse(statistics).ok_or_else(|| failed(action, "isql reported no statistics of it"))?;
        self.pages = self.pages + pages;
        Ok(rows(answer))
    }

    /// The plan of a statement, which is not executed.
    ///
    /// # Errors
    /// An error of the engine.
    pub(crate) fn plan(&mut self, sql: &str) -> Result<String, EngineError> {
        // To plan only is also to show plans, which would go on.
        let text = format!("set planonly on;\n{sql};\nset planonly off;\nset plan off;\ncommit;\n");
        let reply = self.exchange("plan a step", &text)?;
        Ok(reply.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// From now on `end` terminates statements instead of a semicolon, the pages of each are counted, and isql begins
    /// no second transaction (for DDL) beside each.
    ///
    /// # Errors
    /// An error of isql.
    pub(crate) fn end_statements_with(&mut self, end: &'static str) -> Result<(), EngineError> {
        self.end = end;
        self.exchange("set up a session", &format!("set autoddl off;\nset stats on;\nset term {end} ;\n"))
            .map(drop)
    }

    /// Executes statements without keeping their rows: reads the whole output and keeps the statistics and an error.
    ///
    /// # Errors
    /// isql has ended. An error of the engine is in the result.
    pub(crate) fn skip(&mut self, action: &str, text: &str) -> Result<Skipped, EngineError> {
        let written = self.write(text);
        let skipped = self.read_skipped().map_err(|why| failed(action, why))?;
        written.map_err(|cause| failed(action, cause))?;
        Ok(skipped)
    }

    /// Values of the first column of a query, which `value` makes of texts, without white space at their ends.
    ///
    /// # Errors
    /// An error of the engine, or a value that is refused; isql has ended.
    pub(crate) fn column(
        &mut self,
        action: &str,
        text: &str,
        value: &dyn Fn(&str) -> Result<BindValue, String>,
    ) -> Result<ColumnValues, EngineError> {
        self.write(text).map_err(|cause| failed(action, cause))?;
        let (mut values, mut name, mut error) = (ColumnValues::default(), None, String::new());
        let (mut line, mut is_over) = (Vec::new(), false);
        loop {
            line.clear();
            let read = self.output.read_until(b'\n', &mut line).map_err(|cause| failed(action, cause))?;
            if read == 0 {
                return Err(failed(action, self.ended(&error)));
            }
            let found = String::from_utf8_lossy(&line);
            let found = found.trim_end();
            if found.trim() == self.mark {
                break;
            }
            if !error.is_empty() || found.starts_with(ERROR) {
                if error.len() < ERROR_BYTES {
                    error += &format!("{found}\n");
                }
                continue;
            }
            // Statistics of the statement follow its rows.
            is_over |= found.starts_with(counters::BEGIN);
            let Some((column, found)) = found.split_once(' ').filter(|_| !is_over) else { continue };
            // Columns of a row come in the order of the query.
            if column != name.get_or_insert_with(|| column.to_owned()) {
                continue;
            }
            let kept = match found.trim() {
                "<null>" => values.add(None),
                text => value(text).and_then(|value| values.add(Some(value))),
            };
            if let Err(why) = kept {
                // isql would wait until the rest is read.
                let _ = stopping::kill_group(&mut self.child);
                return Err(failed(action, why));
            }
        }
        match error.is_empty() {
            true => Ok(values),
            false => Err(failed(action, words(&error))),
        }
    }

    /// Executes texts like [`Self::skip`] and closes isql's input after them, so that isql cannot wait for the rest of
    /// a statement whose end it does not see. Gives the result of each, up to the one at which isql ended too early.
    pub(crate) fn skip_last(mut self, texts: &[String]) -> Vec<Result<Skipped, String>> {
        let Some(mut input) = self.input.take() else { return Vec::new() };
        let mark = self.mark_text();
        let mut answers = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // A failed write is reported by isql's last output instead.
                let mut send = |text: &String| input.write_all(format!("{text}{mark}").as_bytes());
                texts.iter().try_for_each(&mut send).ok();
            });
            for _ in texts {
                answers.push(self.read_skipped());
                if matches!(answers.last(), Some(Err(_))) {
                    break;
                }
            }
        });
        answers
    }

    fn mark_text(&self) -> String {
        format!("{MARK}{}\n", self.end)
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        let together = format!("{text}{}", self.mark_text());
        self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(together.as_bytes())
    }

    /// Reads up to the next mark.
    ///
    /// # Errors
    /// isql has ended before the mark, with its last lines; or an answer is too large.
    fn read_skipped(&mut self) -> Result<Skipped, String> {
        let (mut skipped, mut is_whole) = (Skipped::default(), false);
        let (mut line, mut last, mut error) = (Vec::new(), Vec::new(), Vec::new());
        let mut size = AnswerSize::default();
        loop {
            std::mem::swap(&mut line, &mut last);
            line.clear();
            if self.output.read_until(b'\n', &mut line).map_err(|cause| cause.to_string())? == 0 {
                let reply = if error.is_empty() { last } else { error };
                return Err(self.ended(&String::from_utf8_lossy(&reply)));
            }
            if line.trim_ascii() == self.mark.as_bytes() {
                break;
            }
            size.add_row(line.len()).inspect_err(|_| {
                // isql would wait until the rest is read.
                let _ = stopping::kill_group(&mut self.child);
            })?;
            let is_error = !error.is_empty() || line.starts_with(ERROR.as_bytes());
            // Only the first error is kept, up to the statistics after it.
            is_whole |= is_error && line.starts_with(counters::BEGIN.as_bytes());
            if is_error && !is_whole && error.len() < ERROR_BYTES {
                error.extend_from_slice(&line);
            }
            if let Some((pages, is_last)) = counters::of_line(&line) {
                skipped.pages = skipped.pages + pages;
                skipped.done += usize::from(is_last && !is_error);
                if is_last {
                    size = AnswerSize::default();
                }
            }
        }
        skipped.error = (!error.is_empty()).then(|| words(&String::from_utf8_lossy(&error)));
        Ok(skipped)
    }

    /// Sends text to isql, and gives its output.
    fn exchange(&mut self, action: &str, text: &str) -> Result<String, EngineError> {
        let written = self.write(text);
        // A failed write is reported by isql's last output instead.
        let mut reply = String::new();
        loop {
            let begin = reply.len();
            let length = self.output.read_line(&mut reply).map_err(|cause| failed(action, cause))?;
            if length == 0 {
                return Err(failed(action, self.ended(&reply)));
            }
            let line = reply[begin..].trim();
            if line.starts_with(MARK_ANSWER) {
                line.clone_into(&mut self.mark);
                reply.truncate(begin);
                break;
            }
        }
        written.map_err(|cause| failed(action, cause))?;
        match reply.contains(ERROR) {
            true => Err(failed(action, words(&reply))),
            false => Ok(reply),
        }
    }

    /// An error: how isql ended, with its output.
    fn ended(&mut self, reply: &str) -> String {
        let status = stopping::wait(&mut self.child, END_LIMIT).ok().flatten();
        let status = status.map_or("closed its output".to_owned(), |status| format!("ended with {status}"));
        format!("isql {status}: {}", words(reply))
    }
}

impl Drop for Isql {
    fn drop(&mut self) {
        self.end();
    }
}

impl Isql {
    /// Lets isql close its database, and kills it if it does not.
    pub(crate) fn end(&mut self) {
        drop(self.input.take());
        if !matches!(stopping::wait(&mut self.child, END_LIMIT), Ok(Some(_))) {
            // If this fails, the watchdog ends it.
            let _ = stopping::kill_group(&mut self.child);
        }
    }
}

/// The rows of isql's output: lines `NAME  value`; a name that repeats begins the next row.
fn rows(reply: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in reply.lines() {
        let Some((name, value)) = line.trim_end().split_once(' ') else { continue };
        if rows.last().is_none_or(|row| row.iter().any(|(known, _)| known == name)) {
            rows.push(Row::new());
        }
        if let Some(row) = rows.last_mut() {
            row.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_rows() {
        let reply = "\nSTEPS                           30\nCALLS                           -4\n\n\n\
                    STEPS                           5\nCALLS                           <null>\n\n";
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [["30", "-4"], ["5", "<null>"]]
            .map(|[steps, calls]| vec![pair("STEPS", steps), pair("CALLS", calls)]);
        assert_eq!(rows(reply), expected);
        assert!(super::rows("\n\n").is_empty());
    }
}
