//! Texts as a terminal may show them, and numbers as all reports have them. Pure functions.

use threadwise_machine::text::is_deceptive;

pub use threadwise_document::numbers::{bytes, counted, cpu_list, grouped, ratio, significant};

/// One line of text for a terminal: deceptive characters are replaced; without `unicode` the rest
/// is ASCII too.
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
        '×' => "x",
        'µ' | 'μ' => "u",
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

/// A share of a probe, with tenths below all of it: `12.3%`; `<0.1%` for what is above nothing and would print as
/// nothing.
pub fn share(value: f64) -> String {
    match value {
        v if !v.is_finite() => "n/a".to_owned(),
        v if v > 0.0 && v < 0.0005 => "<0.1%".to_owned(),
        v if v >= 1e4 => format!("{:.1e}%", v * 100.0),
        v if v >= 0.9995 => format!("{:.0}%", v * 100.0),
        v => format!("{:.1}%", v * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_probe_have_tenths() {
        assert_eq!([0.0001, 0.252, 1.0, 1e300].map(share), ["<0.1%", "25.2%", "100%", "1.0e302%"]);
    }

    #[test]
    fn nothing_deceptive_reaches_a_terminal() {
        let hostile = "a\u{1b}[31m\u{202e}b\nc\u{9b}±\u{2066}";
        assert_eq!(plain(hostile, true), "a\u{fffd}[31m\u{fffd}b c\u{fffd}±\u{fffd}");
        assert_eq!(plain(hostile, false), "a?[31m?b c?+-?");
    }
}
