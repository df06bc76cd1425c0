//! Names of machines, kinds and repeats, strict enough for file names, shell scripts, Slurm's host lists and
//! inventories without quoting: a plan must not be able to inject anything.
//!
//! Source: RFC 1123, 2.1 (host names), with `_`, which clusters use.

use threadwise_machine::text::is_deceptive;

/// Maximum length of a name, characters: with a repeat and a suffix it must be a file name.
pub const MOST_NAME: usize = 120;
/// Maximum length of free text in a fleet.toml, characters.
pub const MOST_TEXT: usize = 200;

/// The error of a name of a machine, node or kind, if any.
pub fn fault(name: &str) -> Option<String> {
    let is_first = |c: char| c.is_ascii_alphanumeric();
    let is_plain = |c: char| is_first(c) || matches!(c, '.' | '_' | '-');
    let shown = || threadwise_machine::text::escaped(&name.chars().take(MOST_NAME).collect::<String>());
    if name.is_empty() {
        return Some("a name is empty".to_owned());
    }
    if name.len() > MOST_NAME {
        return Some(format!("the name '{}…' has more than {MOST_NAME} characters", shown()));
    }
    if !name.starts_with(is_first) || !name.chars().all(is_plain) || name.contains("..") {
        return Some(format!(
            "'{}' is not a name: letters, digits, '.', '_' and '-' are allowed, beginning with a letter or digit",
            shown()
        ));
    }
    None
}

/// The error of a free text, such as the source of a price, if any.
pub fn text_fault(text: &str) -> Option<String> {
    if text.chars().any(is_deceptive) {
        return Some("line breaks, control and format characters are not allowed here".to_owned());
    }
    (text.chars().count() > MOST_TEXT).then(|| format!("it has more than {MOST_TEXT} characters"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_hosts() {
        for name in ["tw1", "c7i.large", "ip-10-0-0-1.eu-central-1.compute.internal", "a_b", "9"] {
            assert_eq!(fault(name), None, "{name}");
        }
        let long = "a".repeat(MOST_NAME + 1);
        for name in [
            "",
            " ",
            "a b",
            "-x",
            ".x",
            "_x",
            "a/b",
            "a..b",
            "../x",
            "a;b",
            "$(x)",
            "`x`",
            "a\nb",
            "a'b",
            "tw[1-3]",
            "a,b",
            "ä",
            "a%b",
            "a\u{202e}b",
            &long,
        ] {
            assert!(fault(name).is_some(), "{name:?}");
        }
        assert!(!fault("a\u{1b}[2J\nb").unwrap().contains('\u{1b}'));
    }

    #[test]
    fn texts_are_one_line() {
        assert_eq!(text_fault("on demand, Frankfurt (größte)"), None);
        assert!(text_fault("a\nb").is_some() && text_fault("\u{1b}").is_some());
        assert!(text_fault(&"x".repeat(MOST_TEXT + 1)).is_some());
    }
}
