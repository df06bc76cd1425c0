//! A command as words: split and quoted as POSIX shells do, without a shell, and with placeholders.
//!
//! Source: POSIX.1-2024, Shell Command Language, 2.2 "Quoting". Unquoted pipes, redirections and variables are refused,
//! since without a shell they would have no effect; the user can write `sh -c '…'`.

/// The words of a command.
///
/// # Errors
/// An unterminated quote, or something that needs a shell.
pub fn split(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    // `None` between words: '' is a word too.
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\0' => return Err("it holds a zero byte".to_owned()),
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next() {
                        Some('\'') => break,
                        Some(c) => word.push(c),
                        None => return Err("a single quote (') is not closed".to_owned()),
                    }
                }
            }
            '"' => double_quoted(&mut rest, word.get_or_insert_default())?,
            '\\' => match rest.next() {
                Some('\n') => {}
                Some(c) => word.get_or_insert_default().push(c),
                None => return Err("it ends in a backslash".to_owned()),
            },
            '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' => return Err(no_shell(c)),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// After the opening quote; a backslash quotes only special characters.
fn double_quoted(rest: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    loop {
        match rest.next() {
            Some('"') => return Ok(()),
            Some('\\') => match rest.next() {
                Some('\n') => {}
                Some(c @ ('$' | '`' | '"' | '\\')) => word.push(c),
                Some(c) => word.extend(['\\', c]),
                None => return Err("a double quote (\") is not closed".to_owned()),
            },
            Some(c @ ('$' | '`')) => return Err(no_shell(c)),
            Some('\0') => return Err("it holds a zero byte".to_owned()),
            Some(c) => word.push(c),
            None => return Err("a double quote (\") is not closed".to_owned()),
        }
    }
}

fn no_shell(c: char) -> String {
    format!("no shell runs it, so '{c}' would have no effect: write sh -c '…', or quote it with ' '")
}

/// Words as a text that [`split`] and a shell split in the same way.
pub fn quote(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,{}".contains(c);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Values of placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Values {
    /// `{sessions}`: number of sessions of the treatment.
    pub sessions: u32,
    /// `{session}`: the session's number, from 0; `None` where one process runs the whole treatment.
    pub session: Option<u32>,
    /// `{cpus}`: the logical CPUs that the process may use, as a list such as `0-3,8`.
    pub cpus: String,
    /// `{out}`: a temporary folder, removed at the end of the run.
    pub out: String,
    /// `{seed}`: a number of the block, below 2^31.
    pub seed: u64,
    /// `{treatment}`: the treatment's name; other characters than letters, digits, dot, `_` and `-` become `-`.
    pub treatment: String,
    /// `{block}`: the block's number, from 0.
    pub block: u32,
}

/// Fills the placeholders of a word; `{{` and `}}` are braces.
///
/// # Errors
/// An unknown placeholder, `{session}` where there is none, or a single brace.
pub fn fill(word: &str, values: &Values) -> Result<String, String> {
    let mut filled = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.find(['{', '}']) {
        filled.push_str(&rest[..at]);
        let brace = &rest[at..];
        if let Some(after) = brace.strip_prefix("{{").or_else(|| brace.strip_prefix("}}")) {
            filled.push_str(&brace[..1]);
            rest = after;
            continue;
        }
        let inside = brace.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        let Some((name, after)) = inside else {
            return Err(
                "a single brace: write {{ or }} for a brace that is not part of a placeholder".to_owned()
            );
        };
        filled.push_str(&value(name, values)?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn value(name: &str, values: &Values) -> Result<String, String> {
    Ok(match name {
        "sessions" => values.sessions.to_string(),
        "session" => match values.session {
            Some(session) => session.to_string(),
            None => return Err("{session} is available in the command alone, with each=session".to_owned()),
        },
        "cpus" => values.cpus.clone(),
        "out" => values.out.clone(),
        "seed" => values.seed.to_string(),
        "treatment" => values.treatment.clone(),
        "block" => values.block.to_string(),
        other => {
            let shown: String = other.chars().take(30).collect();
            return Err(format!(
                "{{{}}} is not a placeholder; there are {{sessions}} {{session}} {{cpus}} {{out}} {{seed}} \
                 {{treatment}} {{block}}, and {{{{ and }}}} for braces",
                shown.escape_debug()
            ));
        }
    })
}

/// A treatment's name for `{treatment}`: a quote in it would break a script.
pub fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        split(text).unwrap()
    }

    #[test]
    fn quoting_is_that_of_shells() {
        assert_eq!(words(" a  b\tc\nd "), ["a", "b", "c", "d"]);
        assert_eq!(
            words(r#"sh -c 'a | b "$x"' "two words" x\ y"#),
            ["sh", "-c", "a | b \"$x\"", "two words", "x y"]
        );
        assert_eq!(words(r#"a'b'"c" '' "" "\$\"\\\n""#), ["abc", "", "", "$\"\\\\n"]);
        assert_eq!(words("a \\\n b \"c\\\nd\""), ["a", "b", "cd"]);
        assert_eq!(words(""), Vec::<String>::new());
        assert_eq!(words(r"find . -name \*.sql \; -x \$"), ["find", ".", "-name", "*.sql", ";", "-x", "$"]);
    }

    #[test]
    fn what_only_a_shell_does_is_refused() {
        for text in ["a | b", "a > f", "a; b", "a && b", "a $x", "a `b`", "(a)", "a \"$HOME\"", "a \"`b`\""] {
            assert!(split(text).unwrap_err().contains("sh -c"), "{text}");
        }
        for text in ["a 'b", "a \"b", "a \"b\\", "a\\", "a\0"] {
            assert!(split(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn placeholders_are_filled_and_unknown_ones_refused() {
        let values = Values {
            sessions: 4,
            session: Some(1),
            cpus: "0-2,8".into(),
            out: "/tmp/o".into(),
            seed: 7,
            treatment: "same-core".into(),
            block: 3,
        };
        let word = "{sessions}/{session}/{cpus}/{out}/{seed}/{treatment}/{block}/{{x}}";
        assert_eq!(fill(word, &values).unwrap(), "4/1/0-2,8//tmp/o/7/same-core/3/{x}");
        assert_eq!(fill("plain", &values).unwrap(), "plain");
        assert!(fill("{print $1}", &values).unwrap_err().contains("{print $1} is not a placeholder"));
        for alone in ["{", "}", "a{b", "a}b", "{{}", "{cpus}}"] {
            assert!(fill(alone, &values).is_err(), "{alone}");
        }
        assert!(fill("{session}", &Values::default()).unwrap_err().contains("each=session"));
        assert_eq!(plain_name("all/l2'"), "all-l2-");
    }

    proptest! {
        #[test]
        fn quoted_words_are_split_into_themselves(words in prop::collection::vec("[^\0]{0,12}", 0..6)) {
            prop_assert_eq!(split(&quote(&words)).unwrap(), words);
        }

        #[test]
        fn no_text_upsets_the_readers(text in "\\PC{0,40}|[{}'\"\\\\a ]{0,20}") {
            let _ = split(&text);
            let _ = fill(&text, &Values::default());
        }
    }
}
