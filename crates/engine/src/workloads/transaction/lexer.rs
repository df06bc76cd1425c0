//! Splitting SQL text into words, quoted texts, comments and parameters, as far as a file of statements needs it.
//!
//! Where a string or a comment ends differs by engine; a semicolon or a `:name` inside one does not count. Sources: the
//! chapters on lexical structure of the manuals of PostgreSQL ("SQL Syntax"), MariaDB ("Comment Syntax", "String
//! Literals"), SQLite ("SQL Comment Syntax", "SQLite Keywords"), Firebird ("Structure of SQL") and Oracle ("Literals").

/// How an engine's dialect of SQL quotes and comments. The default is the standard's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quoting {
    /// A backslash escapes a quote in every string, as in MariaDB.
    pub backslashes: bool,
    /// `E'…'` has backslash escapes and `$tag$…$tag$` is a string, as in PostgreSQL.
    pub dollars: bool,
    /// Comments of `/* */` nest.
    pub nested_comments: bool,
    /// `#` begins a comment, `--` only before white space, and `/*! */` is executed: MariaDB.
    pub hash_comments: bool,
    /// `[name]` is a quoted name, as in SQLite.
    pub brackets: bool,
    /// `q'[…]'` is a string, functions of packages are called without parentheses too, and `name@link` is in another
    /// database, as in Oracle.
    pub packages: bool,
}

/// Kind of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// White space, or a comment up to the end of the line.
    Space,
    /// A comment of `/* */`: it may be a hint.
    Comment,
    /// A string or a quoted name.
    Quoted,
    /// A bare word: a keyword or a name.
    Word,
    /// `:name`.
    Parameter,
    /// `;`.
    Semicolon,
    /// Anything else.
    Other,
}

/// A piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// What it is.
    pub(crate) kind: Kind,
    /// Its characters.
    pub(crate) text: &'a str,
    /// Where it begins, in bytes.
    pub(crate) at: usize,
}

/// The pieces of a text, which together are the text; or where an unterminated one begins, and its kind.
pub(crate) fn tokens(text: &str, quoting: Quoting) -> Result<Vec<Token<'_>>, (usize, &'static str)> {
    let mut found: Vec<Token<'_>> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let (kind, length) = next(text, at, quoting).map_err(|what| (at, what))?;
        found.push(Token { kind, text: &text[at..at + length], at });
        at += length;
    }
    Ok(found)
}

/// The kind and the length in bytes of the piece that begins here.
fn next(text: &str, at: usize, quoting: Quoting) -> Result<(Kind, usize), &'static str> {
    let rest = &text[at..];
    let mut chars = rest.chars();
    let first = chars.next().unwrap_or(' ');
    let second = chars.next().unwrap_or(' ');
    Ok(match first {
        _ if is_space(first) => (Kind::Space, length_while(rest, is_space)),
        _ if begins_line_comment(rest, quoting) => (Kind::Space, line_comment(rest, quoting)),
        '/' if second == '*' => (Kind::Comment, comment(rest, quoting)?),
        '\'' | '"' | '`' => (Kind::Quoted, quoted(rest, first, quoting.backslashes && first != '`')?),
        '[' if quoting.brackets => (Kind::Quoted, until(rest, 1, "]").ok_or("a name in brackets")?),
        '$' if quoting.dollars && second != ' ' && !second.is_ascii_digit() => dollars(rest)?,
        ':' if begins_word(second) => (Kind::Parameter, 1 + word(&rest[1..])),
        ':' if second == ':' || second == '=' => (Kind::Other, 2),
        ';' => (Kind::Semicolon, 1),
        _ if begins_word(first) => {
            let length = word(rest);
            if let Some(at) = alternative(rest).filter(|_| quoting.packages) {
                return Ok((Kind::Quoted, delimited(rest, at)?));
            }
            let is_escaped = quoting.dollars && length == 1 && rest[1..].starts_with('\'');
            match is_escaped && matches!(first, 'e' | 'E') {
                true => (Kind::Quoted, 1 + quoted(&rest[1..], '\'', true)?),
                false => (Kind::Word, length),
            }
        }
        // Letters in a number, such as 0x1F or 1e5, are not a word. PostgreSQL before 15 reads them as a separate name.
        _ if first.is_ascii_digit() => (Kind::Other, word(rest)),
        _ => (Kind::Other, first.len_utf8()),
    })
}

fn begins_line_comment(rest: &str, quoting: Quoting) -> bool {
    let is_dashes = rest.starts_with("--");
    match quoting.hash_comments {
        true => {
            rest.starts_with('#')
                || (is_dashes
                    && rest[2..].chars().next().is_none_or(|next| is_space(next) || next.is_ascii_control()))
        }
        false => is_dashes,
    }
}

/// PostgreSQL ends a comment at a carriage return too (its `scan.l`, `comment`).
fn line_comment(rest: &str, quoting: Quoting) -> usize {
    rest.find(|next| next == '\n' || (next == '\r' && quoting.dollars)).unwrap_or(rest.len())
}

/// White space is ASCII; all non-ASCII characters are letters in PostgreSQL, MariaDB and SQLite.
fn is_space(letter: char) -> bool {
    letter.is_ascii_whitespace() || letter == '\u{b}'
}

fn begins_word(first: char) -> bool {
    first.is_ascii_alphabetic() || first == '_' || !first.is_ascii()
}

fn is_of_word(letter: char) -> bool {
    begins_word(letter) || letter.is_ascii_digit()
}

fn word(rest: &str) -> usize {
    length_while(rest, |next| is_of_word(next) || next == '$')
}

fn length_while(rest: &str, is: impl Fn(char) -> bool) -> usize {
    rest.find(|next| !is(next)).unwrap_or(rest.len())
}

/// Length in bytes up to and with the first `end` from `from` on.
fn until(rest: &str, from: usize, end: &str) -> Option<usize> {
    rest.get(from..)?.find(end).map(|found| from + found + end.len())
}

/// A string or quoted name; a doubled quote is one of its characters.
fn quoted(rest: &str, quote: char, backslashes: bool) -> Result<usize, &'static str> {
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, next)) = chars.next() {
        let is_doubled = next == quote && chars.peek().is_some_and(|(_, after)| *after == quote);
        if is_doubled || (backslashes && next == '\\') {
            chars.next();
        } else if next == quote {
            return Ok(at + quote.len_utf8());
        }
    }
    Err("a quoted text or name")
}

/// Where the delimiter of `q'[…]'` or `nq'[…]'` is.
fn alternative(rest: &str) -> Option<usize> {
    let begins = |open: &str| rest.get(..open.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(open));
    ["q'", "nq'"].into_iter().find(|open| begins(open)).map(str::len)
}

/// A string between delimiters of its own, of which the first is at this byte (Oracle's SQL Language Reference, "Text
/// Literals").
fn delimited(rest: &str, at: usize) -> Result<usize, &'static str> {
    let what = "a quoted text";
    let open = rest[at..].chars().next().ok_or(what)?;
    let close = match open {
        '[' => ']',
        '{' => '}',
        '(' => ')',
        '<' => '>',
        other => other,
    };
    until(rest, at + open.len_utf8(), &format!("{close}'")).ok_or(what)
}

/// A string between dollars, or another piece that begins with a dollar.
fn dollars(rest: &str) -> Result<(Kind, usize), &'static str> {
    let tag = 1 + length_while(&rest[1..], is_of_word);
    match rest[tag..].starts_with('$') {
        true => {
            let mark = &rest[..=tag];
            let length = until(rest, mark.len(), mark).ok_or("a text between dollars")?;
            Ok((Kind::Quoted, length))
        }
        false => Ok((Kind::Other, 1)),
    }
}

fn comment(rest: &str, quoting: Quoting) -> Result<usize, &'static str> {
    if !quoting.nested_comments {
        return until(rest, 2, "*/").ok_or("a comment");
    }
    let (mut depth, mut at) = (1, 2);
    while depth > 0 {
        let found = rest.as_bytes()[at..].windows(2).position(|two| matches!(two, b"/*" | b"*/"));
        at += found.ok_or("a comment")?;
        depth = if rest.as_bytes()[at] == b'/' { depth + 1 } else { depth - 1 };
        at += 2;
    }
    Ok(at)
}
