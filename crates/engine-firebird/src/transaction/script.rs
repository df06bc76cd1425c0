//! A transaction as text for isql.
//!
//! isql has commands of its own, one of which runs programs (SHELL). It looks for them at the beginning of a statement,
//! so only text that begins with a word of SQL may stand there. To ensure this, isql's statements end with [`END`]
//! instead of with a semicolon, and no text may contain it: whatever isql takes for a quoted text or a comment, a
//! statement can only begin after an END written here. A text beyond whose END isql continues (an open quote) swallows
//! what follows; trying the statements detects this, in an isql whose input ends after them.

use threadwise_engine::EngineError;
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::transaction::{Statement, Transaction};
use threadwise_study::transaction::SQL;

use crate::error::failed;
use crate::home::{DATABASE, Home};
use crate::isql::{Isql, Skipped};
use crate::programs::Programs;

/// Terminator of statements. Outside of strings and comments SQL cannot contain it, and inside it is refused.
pub(super) const END: &str = "^^";

/// Bytes that a pipe always takes at once (pipe(7)): more is written only if isql reads all of it before it answers, so
/// that neither waits for the other.
const CHUNK_BYTES: usize = 4096;

/// The text of a transaction, without the values of parameters.
#[derive(Debug, Clone)]
pub(super) struct Script {
    is_read_only: bool,
    begin: String,
    end: String,
    statements: Vec<Statement>,
}

impl Script {
    /// The text of a transaction.
    ///
    /// # Errors
    /// A statement that isql could take for something else, with its line.
    pub(super) fn new(transaction: &Transaction) -> Result<Self, EngineError> {
        for statement in &transaction.statements {
            check(&statement.text(|_| "0".to_owned()))
                .map_err(|why| refuse(SQL, format!("line {}: {why}", statement.line)))?;
        }
        let access = if transaction.is_read_only() { "READ ONLY" } else { "READ WRITE" };
        let begin = format!("SET TRANSACTION {access} ISOLATION LEVEL SNAPSHOT{END}\n");
        let end = format!("{}{END}\n", transaction.ending());
        let statements = transaction.statements.clone();
        Ok(Self { is_read_only: transaction.is_read_only(), begin, end, statements })
    }

    /// Whether its transaction is read-only.
    pub(super) fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// A session that is ready for it. If the text is ASCII, strings are taken as they are in the database (character
    /// set NONE); otherwise the engine must know that the text is UTF-8.
    ///
    /// # Errors
    /// It cannot be started, or cannot open the database.
    pub(super) fn start(&self, home: &Home, programs: &Programs) -> Result<Isql, EngineError> {
        let is_ascii = self.statements.iter().all(|one| one.text(|_| String::new()).is_ascii());
        let args: &[&str] = if is_ascii { &[DATABASE] } else { &["-ch", "UTF8", DATABASE] };
        let mut isql = Isql::start(home, &programs.isql, args)?;
        isql.end_statements_with(END)?;
        Ok(isql)
    }

    fn texts(&self, values: &[i64]) -> impl Iterator<Item = String> {
        let value = |at: usize| literal(values.get(at).copied().unwrap_or_default());
        self.statements.iter().map(move |statement| format!("{}\n{END}\n", statement.text(value)))
    }

    /// The text for one transaction, in parts, each of which must be answered before the next.
    pub(super) fn parts(&self, values: &[i64]) -> Vec<String> {
        let mut parts = vec![self.begin.clone()];
        for text in self.texts(values).chain([self.end.clone()]) {
            match parts.last_mut() {
                Some(last) if last.len() + text.len() <= CHUNK_BYTES => last.push_str(&text),
                _ => parts.push(text),
            }
        }
        parts
    }

    /// Executes each statement once, rolls back, and ends the session.
    ///
    /// # Errors
    /// An error of the engine, or of isql if it does not see the end of a statement, with its line.
    pub(super) fn try_out(&self, isql: Isql, values: &[i64]) -> Result<(), EngineError> {
        let begin = std::iter::once(self.begin.clone());
        let texts: Vec<String> =
            begin.chain(self.texts(values)).chain([format!("ROLLBACK{END}\n")]).collect();
        for (at, answer) in isql.skip_last(&texts).into_iter().enumerate() {
            let error = match answer {
                Ok(Skipped { error, .. }) => error,
                Err(ended) => Some(ended),
            };
            match (error, at.checked_sub(1)) {
                (None, _) => {}
                (Some(words), None) => return Err(failed("begin a transaction", words)),
                (Some(words), Some(statement)) => return Err(self.explain(statement, &words)),
            }
        }
        Ok(())
    }

    /// An error of the statement at this place, or of the statement that ends the transaction.
    pub(super) fn explain(&self, at: usize, words: &str) -> EngineError {
        let hint = match words.contains("read-only transaction") {
            true => "; --may-write with the path of the file lets transactions write to its copy",
            false => "",
        };
        match self.statements.get(at) {
            Some(statement) => failed(format!("execute line {}", statement.line), format!("{words}{hint}")),
            None => failed("end a transaction", words),
        }
    }
}

/// Why isql might take a statement for one of its commands.
fn check(text: &str) -> Result<(), String> {
    if !text.starts_with(|first: char| first.is_ascii_alphabetic()) {
        let begin: String = text.chars().take(10).collect();
        return Err(format!(
            "it begins with '{begin}': begin with a word of SQL, and put a comment after it"
        ));
    }
    match text.contains(END) {
        true => Err(format!("it contains '{END}', with which threadwise ends statements: leave that out")),
        false => Ok(()),
    }
}

/// A value as text that is one value in any place: a minus could begin a comment together with one before it.
fn literal(value: i64) -> String {
    if value < 0 { format!(" ({value})") } else { format!(" {value} ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_engine::workloads::transaction::Quoting;
    use threadwise_study::{OptionValue, Options};

    fn script(sql: &str, may_write: bool) -> Result<Script, String> {
        let text = |name: &str, value: &str| (name.to_owned(), OptionValue::Text(value.to_owned()));
        let mut options = Options::from([text("sql", sql)]);
        options.extend(may_write.then(|| text("may_write", "/x.fdb")));
        let transaction =
            Transaction::parse(&options, Quoting::default(), "").map_err(|error| error.to_string())?;
        Script::new(&transaction).map_err(|error| error.to_string())
    }

    #[test]
    fn a_transaction_is_one_text_where_it_is_short() {
        let sql = "-- :a -9..9\n-- :b 1..9\nselect 5-:a from t\n-- where\nwhere ';' <> :b; update t set n=:b";
        let parts = script(sql, true).unwrap().parts(&[-3, 7]);
        assert_eq!(
            parts,
            [
                "SET TRANSACTION READ WRITE ISOLATION LEVEL SNAPSHOT^^\nselect 5- (-3) from t\n-- where\nwhere ';' <>  7 \
              \n^^\nupdate t set n= 7 \n^^\nCOMMIT^^\n"
            ]
        );
        let long = format!("select '{}' from t;", "x".repeat(1500)).repeat(5);
        let parts = script(&long, false).unwrap().parts(&[]);
        assert!(parts[0].starts_with("SET TRANSACTION READ ONLY") && parts.len() == 3, "{parts:?}");
        assert!(parts[2].ends_with("\nROLLBACK^^\n"), "{parts:?}");
        assert!(parts.iter().all(|part| part.len() <= CHUNK_BYTES && part.ends_with("^^\n")));
        let longer = format!("select '{}' from t; select 1 from t", "x".repeat(9000));
        let lengths: Vec<_> = script(&longer, false).unwrap().parts(&[]).iter().map(String::len).collect();
        assert!(lengths.len() == 3 && lengths[1] > 9000 && lengths[2] < 100, "{lengths:?}");
    }

    #[test]
    fn values_are_one_value_wherever_they_stand() {
        assert_eq!((literal(0), literal(5)), (" 0 ".to_owned(), " 5 ".to_owned()));
        assert_eq!(literal(-5), " (-5)");
        assert_eq!(literal(i64::MIN), " (-9223372036854775808)");
    }

    #[test]
    fn what_isql_could_take_for_a_command_is_refused() {
        for (sql, part) in [
            ("/* x */ select 1 from t", "line 1: it begins with '/* x */ se"),
            ("select 1 from t;\n(select 2 from t)", "line 2: it begins with '(select 2 '"),
            ("select '^^\nshell touch /x^^' from t", "line 1: it contains '^^'"),
            ("select 1 from t /* ^^ shell x */", "it contains '^^'"),
            ("shell touch /x", "begins with 'SHELL'"),
            ("-- x\nshell touch /x", "begins with 'SHELL'"),
            ("select q'{it's; shell touch /x}' from t", "line 1: a quoted text"),
            ("input '/x'", "begins with 'INPUT'"),
        ] {
            let why = script(sql, false).unwrap_err();
            assert!(why.contains(part), "{sql}: {why}");
        }
    }
}
