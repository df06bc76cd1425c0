//! Texts of statements without literals. Servers replace most literals themselves, but not those of utility statements
//! (PostgreSQL before 16: `CREATE USER … PASSWORD '…'`) nor of texts that they did not parse; no literal is stored.

use super::MOST_TEXT_BYTES;
use crate::workloads::transaction::Quoting;
use crate::workloads::transaction::lexer::{Kind, Token, tokens};

/// What stands for a literal.
const PLACE: &str = "?";

/// A text with each string and number replaced by `?`, without comments, with single spaces, and cut at
/// [`MOST_TEXT_BYTES`]. Names in quotes and numbers of parameters (`$1`) stay. Where a text ends inside of a literal, as
/// one that the server cut may, the rest is left out.
pub fn without_literals(text: &str, quoting: Quoting) -> String {
    let (found, is_whole) = match tokens(text, quoting) {
        Ok(found) => (found, true),
        Err((at, _)) => (tokens(&text[..at], quoting).unwrap_or_default(), false),
    };
    let mut kept = String::with_capacity(text.len().min(MOST_TEXT_BYTES));
    for (at, token) in found.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| &found[at]);
        push(&mut kept, token, before, quoting);
        if kept.len() > MOST_TEXT_BYTES {
            break;
        }
    }
    let mut shorter = kept.trim_end().to_owned();
    if shorter.len() > MOST_TEXT_BYTES || !is_whole {
        let end = (0..=MOST_TEXT_BYTES.min(shorter.len())).rev().find(|at| shorter.is_char_boundary(*at));
        shorter.truncate(end.unwrap_or(0));
        shorter.push('…');
    }
    shorter
}

fn push(kept: &mut String, token: &Token<'_>, before: Option<&Token<'_>>, quoting: Quoting) {
    let space = |kept: &mut String| {
        if !kept.is_empty() && !kept.ends_with(' ') {
            kept.push(' ');
        }
    };
    match token.kind {
        Kind::Space | Kind::Comment => space(kept),
        Kind::Quoted if is_name(token.text, quoting) => kept.push_str(token.text),
        Kind::Quoted => kept.push_str(PLACE),
        Kind::Other if token.text.starts_with(|first: char| first.is_ascii_digit()) => {
            // `$500` is an amount of money in T-SQL.
            let is_parameter = quoting.dollars && before.is_some_and(|before| before.text == "$");
            kept.push_str(if is_parameter { token.text } else { PLACE });
        }
        _ => kept.push_str(token.text),
    }
}

/// Whether what is quoted is a name. Where backslashes escape, double quotes are those of strings, as in MariaDB.
fn is_name(text: &str, quoting: Quoting) -> bool {
    match text.chars().next() {
        Some('`') => true,
        Some('"') => !quoting.backslashes,
        Some('[') => quoting.brackets,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSTGRES: Quoting = Quoting {
        backslashes: false,
        dollars: true,
        nested_comments: true,
        hash_comments: false,
        brackets: false,
        packages: false,
    };
    const MARIADB: Quoting = Quoting {
        backslashes: true,
        dollars: false,
        nested_comments: false,
        hash_comments: true,
        brackets: false,
        packages: false,
    };

    #[test]
    fn literals_go_and_names_and_parameters_stay() {
        for (text, wanted) in [
            (
                "SELECT * FROM \"T 1\" WHERE a = $1 AND b < $12",
                "SELECT * FROM \"T 1\" WHERE a = $1 AND b < $12",
            ),
            ("CREATE USER ada PASSWORD 'secret'", "CREATE USER ada PASSWORD ?"),
            ("SELECT E'it\\'s', $x$secret$x$, 'a''b', 1.5e3, 0x1F", "SELECT ?, ?, ?, ?.?, ?"),
            ("SELECT t1.c2\n  -- secret\n /* secret /* 2 */ */ FROM t1", "SELECT t1.c2 FROM t1"),
            ("SET x = 'cut here and secr", "SET x =…"),
            ("", ""),
        ] {
            assert_eq!(without_literals(text, POSTGRES), wanted);
        }
        for (text, wanted) in [
            ("SELECT `a` FROM `t` WHERE `b` = ?", "SELECT `a` FROM `t` WHERE `b` = ?"),
            ("SET PASSWORD = \"it\\\"s secret\" # secret", "SET PASSWORD = ?"),
            ("SELECT 'a\\'secret', x'00', N'b'", "SELECT ?, x?, N?"),
        ] {
            assert_eq!(without_literals(text, MARIADB), wanted);
        }
        let tsql = Quoting { brackets: true, dollars: false, ..POSTGRES };
        let money = "SELECT [a 1] FROM t WHERE price > $500 AND tax < $ 12.5";
        assert_eq!(without_literals(money, tsql), "SELECT [a 1] FROM t WHERE price > $? AND tax < $ ?.?");
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let long = format!("SELECT {}", "ä,".repeat(3000));
        let kept = without_literals(&long, POSTGRES);
        assert!(kept.len() <= MOST_TEXT_BYTES + '…'.len_utf8() && kept.ends_with('…'), "{}", kept.len());
    }
}
