//! A file of statements: parameters in its head, then statements, each with a semicolon.

use super::lexer::{Kind, Quoting, Token, tokens};
use super::outlive::{self, Found};
use super::statement::{Parameter, Piece, Statement};

/// Most bytes of a file, since it is stored in the result file.
const MOST_BYTES: usize = 64 << 10;

/// Most statements, and most parameters, of a file.
const MOST: usize = 100;

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

/// Reads a file.
///
/// # Errors
/// The fault, with its line.
pub(super) fn parse(
    text: &str,
    quoting: Quoting,
    outlive_rollback: &str,
) -> Result<(Vec<Parameter>, Vec<Statement>), String> {
    if text.len() > MOST_BYTES {
        return Err(format!("{} bytes are more than the allowed {MOST_BYTES}", text.len()));
    }
    if text.contains('\0') {
        return Err("it has a zero byte: is it a file of SQL?".into());
    }
    let parameters = head(text)?;
    let all = tokens(text, quoting)
        .map_err(|(at, what)| format!("line {}: {what} begins there and does not end", line_of(text, at)))?;
    if quoting.hash_comments
        && let Some(one) = all.iter().find(|one| one.text.starts_with("/*!") || one.text.starts_with("/*M!"))
    {
        return Err(format!(
            "line {}: a comment that is executed hides its statement: write it without the comment",
            line_of(text, one.at)
        ));
    }
    if let Some(at) = unicode_name(&all).filter(|_| quoting.dollars) {
        let line = line_of(text, at);
        return Err(format!("line {line}: a name with Unicode escapes is not readable: write it without U&"));
    }
    let parts: Vec<&[Token<'_>]> = all
        .split(|token| token.kind == Kind::Semicolon)
        .map(trimmed)
        .filter(|tokens| !tokens.is_empty())
        .collect();
    if parts.is_empty() {
        return Err("it has no statement: write one, such as SELECT 1".into());
    }
    if parts.len() > MOST {
        return Err(format!("{} statements are more than the allowed {MOST}", parts.len()));
    }
    let statement = |tokens| statement(text, tokens, &parameters, quoting, outlive_rollback);
    let statements: Vec<Statement> = parts.into_iter().map(statement).collect::<Result<_, _>>()?;
    let is_used = |at: usize| statements.iter().any(|statement| statement.parameters().contains(&at));
    match parameters.iter().enumerate().find(|(at, _)| !is_used(*at)) {
        Some((_, unused)) => {
            Err(format!("no statement uses the parameter :{}: leave its line out", unused.name))
        }
        None => Ok((parameters, statements)),
    }
}

/// The parameters of the head, which ends at the first line that is neither empty nor a comment.
fn head(text: &str) -> Result<Vec<Parameter>, String> {
    let mut parameters: Vec<Parameter> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some(comment) = line.trim().strip_prefix("--") else {
            if line.trim().is_empty() {
                continue;
            }
            break;
        };
        let Some(declared) = comment.trim().strip_prefix(':') else { continue };
        let fail = |why: String| format!("line {}: {why}", number + 1);
        let one = parameter(declared).ok_or_else(|| {
            fail(format!(
                "':{declared}' is not a parameter with its range of whole numbers, such as -- :id 1..1000"
            ))
        })?;
        if parameters.iter().any(|earlier| earlier.name == one.name) {
            return Err(fail(format!(
                "the parameter :{} is declared twice: give each its own name",
                one.name
            )));
        }
        parameters.push(one);
    }
    match parameters.len() > MOST {
        true => Err(format!("{} parameters are more than the allowed {MOST}", parameters.len())),
        false => Ok(parameters),
    }
}

/// `NAME LOW..HIGH`.
fn parameter(declared: &str) -> Option<Parameter> {
    let (name, range) = declared.split_once(char::is_whitespace)?;
    let (low, high) = range.split_once("..")?;
    let (low, high) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    let is_name = name.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && name.chars().all(|next| next.is_alphanumeric() || next == '_');
    (is_name && low <= high).then(|| Parameter { name: name.to_owned(), low, high })
}

/// The text without white space and comment lines at its ends; `None` if nothing else is there.
fn trimmed<'a, 'b>(tokens: &'a [Token<'b>]) -> &'a [Token<'b>] {
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

fn statement(
    text: &str,
    tokens: &[Token<'_>],
    parameters: &[Parameter],
    quoting: Quoting,
    outlive_rollback: &str,
) -> Result<Statement, String> {
    let line = tokens.first().map_or(1, |token| line_of(text, token.at));
    if quoting.packages && tokens.iter().any(|token| token.kind == Kind::Other && token.text == "@") {
        return Err(format!("line {line}: a name with @ is in another database: leave it out"));
    }
    let words: Vec<String> = tokens
        .iter()
        .filter(|token| token.kind == Kind::Word)
        .map(|token| token.text.to_uppercase())
        .collect();
    let by_words = writes(tokens, &words).map_err(|why| format!("line {line}: {why}"))?;
    let writes = match outlive::find(tokens, outlive_rollback, quoting.packages) {
        Some(Found::Always(why)) => {
            return Err(format!("line {line}: {why}: leave it out"));
        }
        Some(Found::Writes(why)) => Some(by_words.unwrap_or(why)),
        None => by_words,
    };
    let mut pieces: Vec<Piece> = Vec::new();
    for token in tokens {
        match (token.kind, pieces.last_mut()) {
            (Kind::Parameter, _) => {
                let name = &token.text[1..];
                let at = parameters.iter().position(|parameter| parameter.name == name).ok_or_else(|| {
                    let line = line_of(text, token.at);
                    format!("line {line}: the head of the file has no range for :{name}, such as -- :{name} 1..1000")
                })?;
                pieces.push(Piece::Parameter(at));
            }
            (_, Some(Piece::Text(piece))) => piece.push_str(token.text),
            _ => pieces.push(Piece::Text(token.text.to_owned())),
        }
    }
    Ok(Statement::new(line, writes, pieces))
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

/// Line number of a byte, from 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count()
}
