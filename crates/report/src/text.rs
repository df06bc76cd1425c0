//! Texts from elsewhere for a terminal. Pure functions.

use threadwise_machine::text::is_deceptive;

/// One line of text for a terminal: deceptive characters are replaced; without `unicode` the rest is ASCII too.
pub fn plain(text: &str, unicode: bool) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => line.push(' '),
            c if is_deceptive(c) || crate::terminal::sign::is_private(c) => {
                line.push(if unicode { '\u{fffd}' } else { '?' })
            }
            c if unicode || c.is_ascii() => line.push(c),
            c => line.push_str(ascii(c)),
        }
    }
    line
}

fn ascii(c: char) -> &'static str {
    match c {
        '±' => "+-",
        '▲' => "^",
        '▼' => "v",
        '≠' => "!=",
        '×' => "x",
        'µ' | 'μ' => "u",
        // Numbers of the scaling law.
        'σ' => "sigma",
        'κ' => "kappa",
        'λ' => "lambda",
        '–' | '—' | '−' => "-",
        '…' => "...",
        '′' | '‘' | '’' => "'",
        '“' | '”' => "\"",
        '·' => "-",
        '≥' => ">=",
        '≤' => "<=",
        '→' => "->",
        '\u{a0}' | '\u{2009}' | '\u{202f}' => " ",
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_deceptive_reaches_a_terminal() {
        let hostile = "a\u{1b}[31m\u{202e}b\nc\u{9b}±\u{2066}";
        assert_eq!(plain(hostile, true), "a\u{fffd}[31m\u{fffd}b c\u{fffd}±\u{fffd}");
        assert_eq!(plain(hostile, false), "a?[31m?b c?+-?");
    }

    #[test]
    fn numbers_of_the_scaling_law_are_told_apart_in_ascii() {
        assert_eq!(plain("σ 3% and κ 0%", false), "sigma 3% and kappa 0%");
        assert_eq!(plain("σ 3% and κ 0%", true), "σ 3% and κ 0%");
    }
}
