//! The answer on one screen: what was run, the answer, how far to trust it, one table, what to set, why, what next, and
//! where the rest is. At most [`LINES`] lines of [`WIDTH`] columns; everything else is for `--all` and the page.

use crate::numbers::counted;
use crate::prose::{Class, Prose, Span};
use crate::table::Table;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Most columns of a line.
pub const WIDTH: usize = 96;

/// Most lines of a screen, including empty ones.
pub const LINES: usize = 24;

/// Columns of the label of each part, with a space.
pub const LABEL: usize = 8;

/// Most lines of each part.
const ANSWER_LINES: usize = 3;
const TRUST_LINES: usize = 2;
const SET_LINES: usize = 2;
const WHY_LINES: usize = 2;

/// Most rows of the table, without its headings.
pub const ROWS: usize = 8;

/// Columns of a bar in its table.
pub const BAR: usize = 16;

/// A screen, in reading order.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct Screen {
    /// What was run, on what.
    pub subject: String,
    /// The answer; if it is unknown, that it is, and how to find it.
    pub answer: Vec<Prose>,
    /// How far to trust it.
    pub trust: Trust,
    /// The figures that the answer is based on.
    #[serde(skip)]
    pub table: Option<Table>,
    /// What to set: empty if nothing is shown, or nothing has to be changed.
    pub set: Vec<Prose>,
    /// Why it is so.
    pub why: Vec<Prose>,
    /// The next command.
    pub next: Prose,
    /// Where the rest is.
    pub files: Prose,
}

/// How far to trust an answer (docs/METHODOLOGY.md, "Trust").
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct Trust {
    /// One of four words.
    pub level: TrustLevel,
    /// Why it is no better; for a good one how well ratios hold.
    pub reasons: Vec<Prose>,
}

/// The word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TrustLevel {
    /// Ratios and rates hold.
    #[default]
    Good,
    /// Ratios hold; rates, or some of the ratios, may not.
    Fair,
    /// Something is wrong with the measurement: do not base settings on it.
    Low,
    /// Nothing can be said.
    None,
}

impl TrustLevel {
    /// Whether settings may be based on such an answer.
    pub fn allows_setting(self) -> bool {
        self <= Self::Fair
    }
}

impl fmt::Display for TrustLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Good => "GOOD",
            Self::Fair => "FAIR",
            Self::Low => "LOW",
            Self::None => "NONE",
        })
    }
}

/// A line that fits the width of a screen.
pub fn cut(line: &str) -> String {
    match line.chars().count() <= WIDTH {
        true => line.to_owned(),
        false => line.chars().take(WIDTH - 1).chain(['…']).collect(),
    }
}

/// The sentences of an answer that fit on a screen, from the first, which a table on it need not repeat.
pub fn answer_fitting(sentences: Vec<Prose>) -> Vec<Prose> {
    fitting(sentences, ANSWER_LINES, 0)
}

impl Screen {
    /// The screen within its limits: the sentences of each part that fit, from its start, and the table's first rows.
    pub fn fitted(mut self) -> Self {
        self.answer = fitting(self.answer, ANSWER_LINES, 0);
        self.trust.reasons = fitting(self.trust.reasons, TRUST_LINES, self.trust.level.to_string().len() + 2);
        // A line to set is shown whole or not at all, and one of several may be useless alone.
        let room = |line: &Prose| joined(std::slice::from_ref(line)).chars().count() <= WIDTH - LABEL;
        if self.trust.level.allows_setting() && (self.set.len() > SET_LINES || !self.set.iter().all(room)) {
            let lines = counted(self.set.len(), "line");
            self.set = vec![format!("{lines} to paste, with where each goes: --all").into()];
        }
        if !self.trust.level.allows_setting() {
            self.set = fitting(self.set, SET_LINES, 0);
        }
        self.why = fitting(self.why, WHY_LINES, 0);
        if let Some(table) = &mut self.table {
            table.rows.truncate(ROWS);
        }
        self
    }
}

/// The sentences, from the first, that fit into this many lines together, the first of which is indented. If the first
/// one does not fit alone it ends at the last semicolon, or the last comma, before which it does.
fn fitting(sentences: Vec<Prose>, lines: usize, indent: usize) -> Vec<Prose> {
    // A word of as many columns stands for what is before the first one.
    let before = "x".repeat(indent.saturating_sub(1));
    let fits = |all: &[Prose]| wrap(&format!("{before} {}", joined(all)), WIDTH - LABEL).len() <= lines;
    let mut taken: Vec<Prose> = Vec::new();
    for sentence in sentences {
        taken.push(sentence);
        if fits(&taken) {
            continue;
        }
        let sentence = taken.pop().unwrap_or_default();
        if taken.is_empty() {
            let mut shorter = ["; ", ", "].into_iter().flat_map(|sign| sentence.cut_at(sign));
            taken.extend(shorter.find(|shorter| fits(std::slice::from_ref(shorter))));
        }
        break;
    }
    taken
}

/// Sentences joined with spaces, commands without backticks.
fn joined(sentences: &[Prose]) -> String {
    let words = |sentence: &Prose| sentence.spans().iter().map(|span| span.text.as_str()).collect::<String>();
    sentences.iter().map(words).collect::<Vec<_>>().join(" ")
}

/// Breaks at spaces; a word longer than the width stays whole.
pub fn wrap(line: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    // Single spaces, whatever was given.
    let line = line.split_whitespace().collect::<Vec<&str>>().join(" ");
    textwrap::wrap(&line, options).into_iter().map(std::borrow::Cow::into_owned).collect()
}

impl Prose {
    /// Its sentences: each ends with a full stop followed by a space and a capital letter.
    pub fn sentences(&self) -> Vec<Self> {
        let mut all = vec![Self::default()];
        for Span { class, text, .. } in self.spans() {
            let mut rest = text.as_str();
            while let Some(at) = (*class == Class::Text).then(|| end_of_sentence(rest)).flatten() {
                if let Some(last) = all.last_mut() {
                    last.push(Self::of(*class, &rest[..at]));
                }
                all.push(Self::default());
                rest = rest[at..].trim_start();
            }
            if let Some(last) = all.last_mut() {
                last.push(Self::of(*class, rest));
            }
        }
        all.retain(|sentence| !sentence.is_empty());
        all
    }

    /// Its prefixes up to each of these signs, the longest first, each with a full stop.
    fn cut_at(&self, sign: &str) -> Vec<Self> {
        let mut found = Vec::new();
        let mut before = Self::default();
        for Span { class, text, .. } in self.spans() {
            if *class == Class::Text {
                for (at, _) in text.match_indices(sign) {
                    let mut shorter = before.clone();
                    shorter.push(Self::of(*class, &text[..at]));
                    shorter.push(".");
                    found.push(shorter);
                }
            }
            before.push(Self::of(*class, text));
        }
        found.reverse();
        found
    }
}

/// After the first full stop that ends a sentence and is followed by a capital letter, a figure or a command.
fn end_of_sentence(text: &str) -> Option<usize> {
    let begins = |rest: &str| rest.is_empty() || rest.starts_with(|sign: char| sign.is_uppercase());
    text.match_indices(". ").map(|(at, _)| at + 1).find(|at| begins(text[*at..].trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose;

    #[test]
    fn sentences_end_at_full_stops_before_capitals() {
        let text =
            prose!("Two do {}. A third adds nothing. `run x.toml`. Next, e.g. this.", Prose::figure("1.87x"));
        let texts: Vec<String> = text.sentences().iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["Two do 1.87x.", "A third adds nothing.", "`run x.toml`.", "Next, e.g. this."]);
        assert!(Prose::default().sentences().is_empty());
    }

    #[test]
    fn what_does_not_fit_is_left_out_from_the_end() {
        let long = |count: usize| Prose::from(format!("{}.", ["word"; 20].join(" ").repeat(count)));
        // 20 words of 4 letters and their spaces are 99 columns: over a line of 88.
        assert_eq!(fitting(vec![long(1), long(1), "Short.".into()], 2, 0).len(), 1);
        assert_eq!(fitting(vec!["One.".into(), "Two.".into()], 1, 0).len(), 2);
        let cut = fitting(vec![format!("It is so; {}", ["word"; 80].join(" ")).into()], 2, 0);
        assert_eq!(cut, [Prose::from("It is so.")]);
        assert!(fitting(vec![["word"; 80].join(" ").into()], 2, 0).is_empty());
        let whole: Prose = "a".repeat(WIDTH - LABEL).into();
        assert_eq!(fitting(vec![whole.clone()], 1, 0).len(), 1);
        assert!(fitting(vec![whole], 1, 2).is_empty());
    }

    #[test]
    fn lines_to_set_are_whole_or_not_there() {
        let with = |set: Vec<Prose>| Screen { set, ..Screen::default() }.fitted().set;
        let line = || Prose::command("default_pool_size = 4");
        assert_eq!(with(vec![line(), line()]), [line(), line()]);
        let many = with(vec![line(), line(), line()]);
        assert_eq!(many, [Prose::from("3 lines to paste, with where each goes: --all")]);
        let long = with(vec![Prose::command("x, ".repeat(60))]);
        assert_eq!(long, [Prose::from("1 line to paste, with where each goes: --all")]);
    }

    #[test]
    fn words_of_trust_are_in_order() {
        assert!(TrustLevel::Good < TrustLevel::Fair && TrustLevel::Low < TrustLevel::None);
        assert_eq!([TrustLevel::Fair, TrustLevel::Low].map(TrustLevel::allows_setting), [true, false]);
    }
}
