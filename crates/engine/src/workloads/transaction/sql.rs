//! Statements: which are allowed, which write, and where their parameters stand.

use std::fmt;
use std::sync::Arc;

use super::lexer::{Kind, Quoting, Token, tokens};
use super::outlive::{self, LastingEffect};
use super::script::Parameter;
use super::statement::{Piece, SourceLine, Statement};

/// First words of statements that read.
const READ: [&str; 4] = ["SELECT", "WITH", "VALUES", "TABLE"];

/// First words of statements that write rows.
const WRITE: [&str; 5] = ["INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE"];

/// Words with which a statement writes, in any place.
const WRITING: [&str; 4] = ["INSERT", "UPDATE", "DELETE", "MERGE"];

/// Pairs of words that take locks.
const LOCKING: [[&str; 2]; 6] =
    [["FOR", "UPDATE"], ["FOR", "SHARE"], ["FOR", "NO"], ["FOR", "KEY"], ["LOCK", "IN"], ["WITH", "LOCK"]];

/// First words of statements that threadwise itself executes.
const OURS: [&str; 9] =
    ["BEGIN", "START", "COMMIT", "ROLLBACK", "END", "ABORT", "SAVEPOINT", "RELEASE", "PREPARE"];

/// A text of one file, and how its engine reads it.
pub(super) struct SourceText<'a> {
    /// The text.
    pub text: &'a str,
    /// Name of the file, if there are several.
    pub file: Option<Arc<str>>,
    /// Number of the text's first line.
    pub first_line: usize,
    /// How the engine quotes.
    pub quoting: Quoting,
    /// What outlives a ROLLBACK there.
    pub outlive_rollback: &'a str,
}

impl<'a> SourceText<'a> {
    /// The line of a byte.
    pub(super) fn place(&self, at: usize) -> SourceLine {
        let before = self.text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count();
        SourceLine { file: self.file.clone(), line: self.first_line + before }
    }

    /// An error at a byte.
    pub(super) fn fault(&self, at: usize, why: impl fmt::Display) -> String {
        format!("{}: {why}", self.place(at))
    }

    /// Whether only white space stands before a byte in its line.
    pub(super) fn begins_line(&self, at: usize) -> bool {
        self.text[..at].rsplit('\n').next().is_none_or(|line| line.trim().is_empty())
    }

    /// Its tokens.
    ///
    /// # Errors
    /// One that does not end, or that hides a statement or a name.
    pub(super) fn tokens(&self) -> Result<Vec<Token<'a>>, String> {
        let quoting = self.quoting;
        let all = tokens(self.text, quoting)
            .map_err(|(at, what)| self.fault(at, format_args!("{what} begins there and does not end")))?;
        if quoting.hash_comments
            && let Some(one) =
                all.iter().find(|one| one.text.starts_with("/*!") || one.text.starts_with("/*M!"))
        {
            let why = "a comment that is executed hides its statement: write it without the comment";
            return Err(self.fault(one.at, why));
        }
        match unicode_name(&all).filter(|_| quoting.dollars) {
            Some(at) => {
                Err(self.fault(at, "a name with Unicode escapes is not readable: write it without U&"))
            }
            None => Ok(all),
        }
    }

    /// One statement, whose parameters are among these; a later one of a name hides an earlier one.
    ///
    /// # Errors
    /// It is not allowed, or a parameter is unknown: what `missing` says of its name.
    pub(super) fn statement(
        &self,
        tokens: &[Token<'_>],
        parameters: &[Parameter],
        missing: &dyn Fn(&str) -> String,
    ) -> Result<Statement, String> {
        let place = self.place(tokens.first().map_or(0, |token| token.at));
        let fail = |why: String| format!("{place}: {why}");
        if self.quoting.packages && tokens.iter().any(|token| token.kind == Kind::Other && token.text == "@")
        {
            return Err(fail("a name with @ is in another database: leave it out".into()));
        }
        let by_words = writes(tokens, &words(tokens)).map_err(fail)?;
        let writes = match outlive::find(tokens, self.outlive_rollback, self.quoting.packages) {
            Some(LastingEffect::Always(why)) => return Err(fail(format!("{why}: leave it out"))),
            Some(LastingEffect::Writes(why)) => Some(by_words.unwrap_or(why)),
            None => by_words,
        };
        let mut pieces: Vec<Piece> = Vec::new();
        for token in tokens {
            match (token.kind, pieces.last_mut()) {
                (Kind::Parameter, _) => {
                    let name = &token.text[1..];
                    let at = parameters.iter().rposition(|parameter| parameter.name == name);
                    pieces.push(Piece::Parameter(at.ok_or_else(|| self.fault(token.at, missing(name)))?));
                }
                (_, Some(Piece::Text(piece))) => piece.push_str(token.text),
                _ => pieces.push(Piece::Text(token.text.to_owned())),
            }
        }
        Ok(Statement::new(place, writes, pieces))
    }
}

/// Bare words, in capitals.
pub(super) fn words(tokens: &[Token<'_>]) -> Vec<String> {
    let words = tokens.iter().filter(|token| token.kind == Kind::Word);
    words.map(|token| token.text.to_uppercase()).collect()
}

/// The tokens without white space and `--` comments at both ends; empty if there are only these and other comments.
pub(super) fn trimmed<'a, 'b>(tokens: &'a [Token<'b>]) -> &'a [Token<'b>] {
    if tokens.iter().all(|token| matches!(token.kind, Kind::Space | Kind::Comment)) {
        return &[];
    }
    let is_text = |token: &Token<'_>| token.kind != Kind::Space;
    let first = tokens.iter().position(is_text).unwrap_or(0);
    let last = tokens.iter().rposition(is_text).map_or(0, |last| last + 1);
    &tokens[first..last]
}

/// Where a name with Unicode escapes begins, `U&"…"`.
fn unicode_name(tokens: &[Token<'_>]) -> Option<usize> {
    let is = |three: &[Token<'_>]| {
        three[0].text.eq_ignore_ascii_case("u") && three[1].text == "&" && three[2].text.starts_with('"')
    };
    tokens.windows(3).find(|three| is(three)).map(|three| three[0].at)
}

/// Why a statement writes or locks, by its words; `None` if it only reads.
///
/// # Errors
/// It is not allowed in a transaction that runs many times.
fn writes(tokens: &[Token<'_>], words: &[String]) -> Result<Option<String>, String> {
    let is_first =
        |token: &&Token<'_>| !matches!(token.kind, Kind::Comment | Kind::Space) && token.text != "(";
    let first_token = tokens.iter().find(is_first);
    let first_text = first_token.map_or("", |token| token.text);
    if first_text.starts_with('\\') {
        return Err("a command of psql is not a statement: leave it out".into());
    }
    let begins = first_token.is_some_and(|token| token.kind == Kind::Word);
    let first = words.first().filter(|_| begins).map_or("", String::as_str);
    if OURS.contains(&first) {
        return Err(format!("{first}: threadwise begins and ends each transaction itself, leave it out"));
    }
    if !READ.contains(&first) && !WRITE.contains(&first) {
        let allowed = READ.join(", ");
        return Err(format!(
            "a statement begins with '{}': allowed are {allowed}, and with --may-write {}",
            if first.is_empty() { first_text } else { first },
            WRITE.join(", ")
        ));
    }
    let has = |word: &str| words.iter().any(|one| one == word);
    if has("OUTFILE")
        || has("DUMPFILE")
        || (READ.contains(&first) && has("INTO") && !WRITING.iter().any(|one| has(one)))
    {
        return Err(
            "INTO creates a table or a file, which only the first transaction could do: leave it out".into(),
        );
    }
    if WRITE.contains(&first) {
        return Ok(Some(format!("{first} writes")));
    }
    let locks =
        words.windows(2).find(|two| LOCKING.iter().any(|[one, other]| two[0] == *one && two[1] == *other));
    if let Some(two) = locks {
        return Ok(Some(format!("{} {} locks rows", two[0], two[1])));
    }
    Ok(WRITING.iter().find(|word| has(word)).map(|word| format!("{word} writes")))
}
