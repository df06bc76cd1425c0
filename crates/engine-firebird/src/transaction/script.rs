//! A transaction as text for isql.
//!
//! isql has commands of its own, one of which runs programs (SHELL). It looks for them at the beginning of a statement,
//! so only text that begins with a word of SQL may stand there. To ensure this, isql's statements end with [`END`]
//! instead of with a semicolon, and no text may contain it: whatever isql takes for a quoted text or a comment, a
//! statement can only begin after an END written here. A text beyond whose END isql continues (an open quote) swallows
//! what follows; trying the statements detects this, in an isql whose input ends after them.

use std::sync::Arc;
use threadwise_engine::EngineError;
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::transaction::{BindValue, Drawn, Lists, Script, Step, Transaction};
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

/// The texts of a mix, without the values of parameters.
#[derive(Debug, Clone)]
pub(super) struct Texts {
    transaction: Transaction,
    begin: String,
    end: String,
}

/// A part of a script, which must be answered before the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextPart {
    /// Text for isql.
    Text(String),
    /// A pause, nanoseconds.
    Pause(u64),
}

impl Texts {
    /// The texts of a mix.
    ///
    /// # Errors
    /// A statement that isql could take for something else, with its place.
    pub(super) fn new(transaction: &Transaction) -> Result<Self, EngineError> {
        for statement in transaction.statements().chain(transaction.queries()) {
            check(&statement.text(|_| "0".to_owned()))
                .map_err(|why| refuse(SQL, format!("{}: {why}", statement.place)))?;
        }
        let access = if transaction.is_read_only() { "READ ONLY" } else { "READ WRITE" };
        let begin = format!("SET TRANSACTION {access} ISOLATION LEVEL SNAPSHOT{END}\n");
        let end = format!("{}{END}\n", transaction.ending());
        Ok(Self { transaction: transaction.clone(), begin, end })
    }

    /// Whether its transactions are read-only.
    pub(super) fn is_read_only(&self) -> bool {
        self.transaction.is_read_only()
    }

    /// The scripts of the mix.
    pub(super) fn scripts(&self) -> &Arc<[Script]> {
        &self.transaction.scripts
    }

    /// A session that is ready for it. If the text is ASCII, strings are taken as they are in the database (character
    /// set NONE); otherwise the engine must know that the text is UTF-8.
    ///
    /// # Errors
    /// It cannot be started, or cannot open the database.
    pub(super) fn start(&self, home: &Home, programs: &Programs) -> Result<Isql, EngineError> {
        // Values of a list may have any letters.
        let is_ascii = self.transaction.statements().all(|one| one.text(|_| String::new()).is_ascii())
            && !self.transaction.has_lists();
        let args: &[&str] = if is_ascii { &[DATABASE] } else { &["-ch", "UTF8", DATABASE] };
        let mut isql = Isql::start(home, &programs.isql, args)?;
        isql.end_statements_with(END)?;
        Ok(isql)
    }

    /// The lists that parameters are drawn from. A query is executed in a transaction that is rolled back.
    ///
    /// # Errors
    /// A file, an error of the engine, or a value that cannot stand in a statement, with the place.
    pub(super) fn read_lists(&self, isql: &mut Isql) -> Result<Lists, EngineError> {
        self.transaction.read_lists(|query| {
            let action = format!("execute {}", query.place);
            let begin = format!("SET TRANSACTION READ ONLY ISOLATION LEVEL SNAPSHOT{END}\n");
            done(isql, "begin a transaction", &begin)?;
            let text = format!("{}\n{END}\n", query.text(|_| String::new()));
            let values = isql
                .column(&action, &text, &|text| check_value(text).map(|()| BindValue::Text(text.into())))?;
            done(isql, "end a transaction", &format!("ROLLBACK{END}\n"))?;
            Ok(values)
        })
    }

    /// The texts of a script's steps.
    fn texts(&self, drawn: &Drawn) -> Result<Vec<TextPart>, EngineError> {
        let script = &self.transaction.scripts[drawn.script];
        let value = |at: usize| drawn.values.get(at).map_or_else(String::new, literal);
        let step = |step: &Step| {
            Ok(match step {
                Step::Begin => TextPart::Text(self.begin.clone()),
                Step::Statement(at) => {
                    TextPart::Text(format!("{}\n{END}\n", script.statements[*at].text(value)))
                }
                Step::End => TextPart::Text(self.end.clone()),
                Step::Sleep(sleep) => {
                    TextPart::Pause(sleep.length_ns(&drawn.values).map_err(|why| refuse(SQL, why))?)
                }
            })
        };
        let unsafe_text = drawn.values.iter().find_map(|value| match value {
            BindValue::Text(text) => check_value(text).err(),
            _ => None,
        });
        unsafe_text.map_or(Ok(()), |why| Err(refuse(SQL, format!("a value of {}: {why}", script.name))))?;
        script.steps.iter().map(step).collect()
    }

    /// A script, in parts.
    ///
    /// # Errors
    /// A value that cannot stand in a statement.
    pub(super) fn parts(&self, drawn: &Drawn) -> Result<Vec<TextPart>, EngineError> {
        let mut parts: Vec<TextPart> = Vec::new();
        for next in self.texts(drawn)? {
            match (parts.last_mut(), &next) {
                (Some(TextPart::Text(last)), TextPart::Text(text))
                    if last.len() + text.len() <= CHUNK_BYTES =>
                {
                    last.push_str(text);
                }
                _ => parts.push(next),
            }
        }
        Ok(parts)
    }

    /// Executes each statement of a script once, rolls back, and ends the session.
    ///
    /// # Errors
    /// An error of the engine, or of isql if it does not see the end of a statement, with its place.
    pub(super) fn try_out(&self, isql: Isql, drawn: &Drawn) -> Result<(), EngineError> {
        let text = |part| match part {
            TextPart::Text(text) if text == self.end => Some(format!("ROLLBACK{END}\n")),
            TextPart::Text(text) => Some(text),
            TextPart::Pause(_) => None,
        };
        let texts: Vec<String> = self.texts(drawn)?.into_iter().filter_map(text).collect();
        let script = &self.transaction.scripts[drawn.script];
        let steps = script.steps.iter().filter(|step| !matches!(step, Step::Sleep(_)));
        for (step, answer) in steps.zip(isql.skip_last(&texts)) {
            let error = match answer {
                Ok(Skipped { error, .. }) => error,
                Err(ended) => Some(ended),
            };
            error.map_or(Ok(()), |words| Err(explained(script, Some(step), &words)))?;
        }
        Ok(())
    }

    /// The error at which a script ended after this many statements, of which isql gives statistics: all but those that
    /// begin transactions.
    pub(super) fn explain(&self, script: usize, done: usize, words: &str) -> EngineError {
        let script = &self.transaction.scripts[script];
        let mut counted = script.steps.iter().filter(|step| matches!(step, Step::Statement(_) | Step::End));
        explained(script, counted.nth(done), words)
    }
}

/// Executes a text whose answer has no rows.
///
/// # Errors
/// An error of the engine; isql has ended.
fn done(isql: &mut Isql, action: &str, text: &str) -> Result<(), EngineError> {
    let Skipped { error, .. } = isql.skip(action, text)?;
    error.map_or(Ok(()), |words| Err(failed(action, words)))
}

/// The error of a step.
fn explained(script: &Script, step: Option<&Step>, words: &str) -> EngineError {
    let hint = match words.contains("read-only transaction") {
        true => "; --may-write with the path of the file lets transactions write to its copy",
        false => "",
    };
    match step {
        Some(Step::Begin) => failed("begin a transaction", words),
        Some(Step::Statement(at)) => {
            failed(format!("execute {}", script.statements[*at].place), format!("{words}{hint}"))
        }
        _ => failed("end a transaction", words),
    }
}

/// Why a value cannot stand in a text for isql.
fn check_value(text: &str) -> Result<(), String> {
    match text.contains(END) || text.contains(char::is_control) {
        true => Err(format!("it has '{END}' or a control character, which isql would not take for a value")),
        false => Ok(()),
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
fn literal(value: &BindValue) -> String {
    match value {
        BindValue::Whole(number) if *number < 0 => format!(" ({number})"),
        BindValue::Whole(number) => format!(" {number} "),
        BindValue::Real(number) => format!(" ({number:e})"),
        BindValue::Text(text) => format!(" '{}' ", text.replace('\'', "''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_engine::workloads::transaction::{Draws, Quoting};
    use threadwise_study::{OptionValue, Options};

    fn script(sql: &str, may_write: bool) -> Result<Texts, String> {
        let text = |name: &str, value: &str| (name.to_owned(), OptionValue::Text(value.to_owned()));
        let mut options = Options::from([text("sql", sql)]);
        options.extend(may_write.then(|| text("may_write", "/x.fdb")));
        let transaction =
            Transaction::parse(&options, Quoting::default(), "").map_err(|error| error.to_string())?;
        Texts::new(&transaction).map_err(|error| error.to_string())
    }

    /// The parts of the script, with these values.
    fn parts(texts: &Texts, values: &[i64]) -> Vec<TextPart> {
        let values = values.iter().copied().map(BindValue::Whole).collect();
        texts.parts(&Drawn { script: 0, values, think_ns: 0 }).unwrap()
    }

    fn texts(sql: &str, may_write: bool, values: &[i64]) -> Vec<String> {
        let part = |part| match part {
            TextPart::Text(text) => text,
            TextPart::Pause(ns) => format!("{ns} ns"),
        };
        parts(&script(sql, may_write).unwrap(), values).into_iter().map(part).collect()
    }

    #[test]
    fn a_transaction_is_one_text_where_it_is_short() {
        let sql = "-- :a -9..9\n-- :b 1..9\nselect 5-:a from t\n-- where\nwhere ';' <> :b; update t set n=:b";
        let parts = texts(sql, true, &[-3, 7]);
        assert_eq!(
            parts,
            [
                "SET TRANSACTION READ WRITE ISOLATION LEVEL SNAPSHOT^^\nselect 5- (-3) from t\n-- where\nwhere ';' <>  7 \
              \n^^\nupdate t set n= 7 \n^^\nCOMMIT^^\n"
            ]
        );
        let long = format!("select '{}' from t;", "x".repeat(1500)).repeat(5);
        let parts = texts(&long, false, &[]);
        assert!(parts[0].starts_with("SET TRANSACTION READ ONLY") && parts.len() == 3, "{parts:?}");
        assert!(parts[2].ends_with("\nROLLBACK^^\n"), "{parts:?}");
        assert!(parts.iter().all(|part| part.len() <= CHUNK_BYTES && part.ends_with("^^\n")));
        let longer = format!("select '{}' from t; select 1 from t", "x".repeat(9000));
        let lengths: Vec<_> = texts(&longer, false, &[]).iter().map(String::len).collect();
        assert!(lengths.len() == 3 && lengths[1] > 9000 && lengths[2] < 100, "{lengths:?}");
    }

    #[test]
    fn values_are_one_value_wherever_they_stand() {
        let whole = |number| literal(&BindValue::Whole(number));
        assert_eq!((whole(0), whole(5)), (" 0 ".to_owned(), " 5 ".to_owned()));
        assert_eq!(whole(-5), " (-5)");
        assert_eq!(whole(i64::MIN), " (-9223372036854775808)");
        assert_eq!(literal(&BindValue::Real(-0.5)), " (-5e-1)");
        assert_eq!(literal(&BindValue::Text("it's; --".into())), " 'it''s; --' ");
        for text in ["^^", "a^^\nshell", "a\nb", "a\0"] {
            assert!(check_value(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_script_of_pgbench_is_parts_with_pauses() {
        let sql =
            "\\set aid 5 + 1\nselect 1 from t where a = :aid;\n\\sleep 7 ms\nBEGIN;\nselect 2 from t;\nEND;";
        let texts = script(sql, false).unwrap();
        let mut draws = Draws::new(&texts.transaction, &Lists::default(), 1, 3);
        let parts = texts.parts(&draws.draw().unwrap()).unwrap();
        let begin = "SET TRANSACTION READ ONLY ISOLATION LEVEL SNAPSHOT^^\n";
        assert_eq!(
            parts,
            [
                TextPart::Text(format!("{begin}select 1 from t where a =  6 \n^^\nROLLBACK^^\n")),
                TextPart::Pause(7_000_000),
                TextPart::Text(format!("{begin}select 2 from t\n^^\nROLLBACK^^\n")),
            ]
        );
        for (done, part) in [(0, "execute line 2"), (1, "end"), (2, "execute line 5"), (9, "end")] {
            assert!(texts.explain(0, done, "words").to_string().contains(part), "{done}");
        }
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
