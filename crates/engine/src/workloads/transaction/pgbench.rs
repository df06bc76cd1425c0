//! Scripts of pgbench, taken as they are.
//!
//! Source: the documentation of pgbench, "Custom Scripts", and PostgreSQL's `pgbench.c` (`ParseScript`,
//! `process_backslash_command`). A text is such a script if a line of it begins with a backslash. Statements between
//! BEGIN and END are one transaction, and any other is a transaction of its own. Since no command that is taken depends
//! on an answer, all values of an execution can be calculated before it begins: each `\set` is a parameter of its own,
//! which hides an earlier one of its name in what follows.

use super::declaration::{is_name, unit_ns};
use super::expression::Expression;
use super::lexer::{Kind, Token};
use super::script::{MOST, Parameter, Sleep, SleepLength, Source, Step};
use super::sql::{SourceText, trimmed, words};
use super::statement::{SourceLine, Statement};

/// Commands that are known and not taken, and why.
const NOT_TAKEN: [(&str, &str); 11] = [
    ("aset", "values of answers are not kept"),
    ("gset", "values of answers are not kept"),
    ("if", "conditions are not taken: write a transaction for each case, with weights"),
    ("elif", "conditions are not taken: write a transaction for each case, with weights"),
    ("else", "conditions are not taken: write a transaction for each case, with weights"),
    ("endif", "conditions are not taken: write a transaction for each case, with weights"),
    ("setshell", "no program is run"),
    ("shell", "no program is run"),
    ("startpipeline", "each statement waits for its answer"),
    ("endpipeline", "each statement waits for its answer"),
    ("syncpipeline", "each statement waits for its answer"),
];

/// A script's parameters, statements and steps.
pub(super) struct Body {
    pub parameters: Vec<Parameter>,
    pub statements: Vec<Statement>,
    pub steps: Vec<Step>,
}

/// Whether a line of these tokens begins with a command.
pub(super) fn is_script(part: &SourceText<'_>, tokens: &[Token<'_>]) -> bool {
    tokens.iter().any(|token| is_command(token) && part.begins_line(token.at))
}

fn is_command(token: &Token<'_>) -> bool {
    token.kind == Kind::Other && token.text == "\\"
}

/// A script, with parameters that are known before it begins.
///
/// # Errors
/// What is not taken, with its place.
pub(super) fn parse(
    part: &SourceText<'_>,
    tokens: &[Token<'_>],
    parameters: Vec<Parameter>,
) -> Result<Body, String> {
    let body = Body { parameters, statements: Vec::new(), steps: Vec::new() };
    let mut reader = Reader { part, body, begun: None };
    let (mut from, mut at) = (0, 0);
    while at < tokens.len() {
        let token = &tokens[at];
        if token.kind == Kind::Semicolon {
            reader.statement(&tokens[from..at])?;
            at += 1;
            from = at;
        } else if is_command(token) {
            reader.statement(&tokens[from..at])?;
            let end = end_of_command(part.text, token.at);
            at += tokens[at..].iter().take_while(|token| token.at < end).count();
            from = at;
            if tokens
                .get(at - 1)
                .is_some_and(|last| last.at + last.text.len() > end && last.kind != Kind::Space)
            {
                return Err(part.fault(
                    token.at,
                    "a quoted text or a comment begins in this command and ends on a later line",
                ));
            }
            reader.command(token.at, &part.text[token.at + 1..end])?;
        } else {
            at += 1;
        }
    }
    reader.statement(&tokens[from..])?;
    match (reader.begun, reader.body.statements.is_empty()) {
        (Some(place), _) => Err(format!("{place}: BEGIN has no END in this script: write END")),
        (None, true) => {
            let at = tokens.first().map_or(0, |token| token.at);
            Err(part.fault(at, "it has no statement: write one, such as SELECT 1"))
        }
        (None, false) => Ok(reader.body),
    }
}

/// Where a command ends: at the end of its line, unless a backslash is the last of it.
fn end_of_command(text: &str, from: usize) -> usize {
    let mut at = from;
    while let Some(found) = text[at..].find('\n') {
        let line = text[at..at + found].trim_end_matches('\r');
        if !line.ends_with('\\') || at + line.len() == from + 1 {
            return at + found;
        }
        at += found + 1;
    }
    text.len()
}

struct Reader<'a, 'b> {
    part: &'a SourceText<'b>,
    body: Body,
    /// Where the transaction was begun that has not ended.
    begun: Option<SourceLine>,
}

impl Reader<'_, '_> {
    fn statement(&mut self, tokens: &[Token<'_>]) -> Result<(), String> {
        let tokens = trimmed(tokens);
        let Some(first) = tokens.first() else { return Ok(()) };
        let words = words(tokens);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let is_plain = words[..].get(1).is_none_or(|word| ["WORK", "TRANSACTION", "TRAN"].contains(word))
            && words.len() <= 2
            && tokens.iter().all(|token| matches!(token.kind, Kind::Space | Kind::Comment | Kind::Word));
        match words.first() {
            Some(&("BEGIN" | "START")) if is_plain => match &self.begun {
                Some(_) => Err(self.part.fault(first.at, "BEGIN inside of a transaction: leave it out")),
                None => {
                    self.begun = Some(self.part.place(first.at));
                    self.body.steps.push(Step::Begin);
                    Ok(())
                }
            },
            Some(&("END" | "COMMIT")) if is_plain => match self.begun.take() {
                Some(_) => {
                    self.body.steps.push(Step::End);
                    Ok(())
                }
                None => Err(self.part.fault(first.at, "END without BEGIN: leave it out, or write BEGIN")),
            },
            Some(&("BEGIN" | "START")) => {
                let why = "threadwise begins transactions by its own settings: write BEGIN alone";
                Err(self.part.fault(first.at, why))
            }
            _ => {
                let statement = self.part.statement(tokens, &self.body.parameters, &missing)?;
                let step = Step::Statement(self.body.statements.len());
                self.body.statements.push(statement);
                match self.begun {
                    Some(_) => self.body.steps.push(step),
                    None => self.body.steps.extend([Step::Begin, step, Step::End]),
                }
                self.bounded(first.at)
            }
        }
    }

    /// A command, without its backslash.
    fn command(&mut self, at: usize, text: &str) -> Result<(), String> {
        // A line that ends with a backslash goes on.
        let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
        let (command, arguments) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
        let done = match command.trim() {
            "set" => self.set(at, arguments.trim()),
            "sleep" => self.sleep(at, arguments),
            other => Err(match NOT_TAKEN.into_iter().find(|(name, _)| *name == other) {
                Some((name, why)) => format!("\\{name} of pgbench is not taken: {why}"),
                None => format!("\\{other} is not a command of pgbench that is taken: \\set and \\sleep are"),
            }),
        };
        done.map_err(|why| self.part.fault(at, why))?;
        self.bounded(at)
    }

    fn set(&mut self, at: usize, arguments: &str) -> Result<(), String> {
        let (name, expression) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
        if !is_name(name) {
            return Err(format!("\\set needs a name and an expression, and '{name}' is not a name"));
        }
        let expression = Expression::parse(expression, &|name| self.variable(name))?;
        let place = self.part.place(at);
        let source = Source::Expression(expression);
        self.body.parameters.push(Parameter { name: name.to_owned(), place, source });
        Ok(())
    }

    fn sleep(&mut self, at: usize, arguments: &str) -> Result<(), String> {
        let form = "\\sleep needs a whole number or a variable, and us, ms or s: such as \\sleep 10 ms";
        let mut words = arguments.split_whitespace();
        let (length, unit) = (words.next().ok_or(form)?, words.next().unwrap_or("s"));
        let length = match length.strip_prefix(':') {
            Some(name) => SleepLength::Parameter(self.variable(name)?),
            None => SleepLength::Units(length.parse().map_err(|_| form)?),
        };
        let unit_ns = unit_ns(unit).filter(|_| words.next().is_none()).ok_or(form)?;
        let sleep = Sleep { place: self.part.place(at), length, unit_ns };
        if let SleepLength::Units(_) = sleep.length {
            sleep.length_ns(&[])?;
        }
        self.body.steps.push(Step::Sleep(sleep));
        Ok(())
    }

    /// The index of a variable's current value.
    fn variable(&self, name: &str) -> Result<usize, String> {
        let found = self.body.parameters.iter().rposition(|parameter| parameter.name == name);
        found.ok_or_else(|| missing(name))
    }

    fn bounded(&self, at: usize) -> Result<(), String> {
        let Body { parameters, statements, steps } = &self.body;
        match parameters.len().max(statements.len()).max(steps.len() / 3) > MOST {
            true => {
                Err(self.part.fault(at, format_args!("more than {MOST} commands or statements in a script")))
            }
            false => Ok(()),
        }
    }
}

/// What a variable lacks.
fn missing(name: &str) -> String {
    format!(
        "the variable :{name} has no value: give it one with --define {name}=NUMBER, or with \\set before"
    )
}
