//! Sentences as spans: plain text, figures, intervals, commands. Renderers format them without parsing the English.

use crate::numbers;
use crate::{Interval, Mark, Ratio};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Class of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Words.
    Text,
    /// A number with its unit: `1.27x`, `10.2 s`.
    Figure,
    /// The ends of an interval: `[1.24, 1.30]`.
    Interval,
    /// A command that can be typed as it is.
    Command,
}

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Its class.
    pub class: Class,
    /// Its text; a command without its backticks.
    pub text: String,
    /// For the interval of a ratio, the deciding ends, if they differ.
    decides: Option<String>,
}

/// A sentence, or a few.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prose(Vec<Span>);

impl Prose {
    /// Its spans; neighbours differ in class.
    pub fn spans(&self) -> &[Span] {
        &self.0
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One span.
    pub fn of(class: Class, text: impl Into<String>) -> Self {
        let mut prose = Self::default();
        prose.push_span(class, &text.into());
        prose
    }

    /// A figure: a number as text with its unit.
    pub fn figure(text: impl Into<String>) -> Self {
        Self::of(Class::Figure, text)
    }

    /// A command to type.
    pub fn command(text: impl Into<String>) -> Self {
        Self::of(Class::Command, text)
    }

    /// A ratio as a distance from 1: `+57% [52, 62]`; from 3 on, where a factor is easier to read than hundreds of
    /// percent, `3.20x [3.10, 3.30]`.
    pub fn change(ratio: &Ratio) -> Self {
        if ratio.value >= FACTOR {
            return ratio.into();
        }
        let ends = || numbers::change_ends(ratio.low, ratio.high, ratio.value);
        let prose = Self::with_ends(numbers::change(ratio.value), ratio.has_ends().then(ends));
        prose.decided_by(ratio, Self::change)
    }

    /// The text of a ratio, which includes the deciding ends in the same format.
    fn decided_by(mut self, ratio: &Ratio, form: fn(&Ratio) -> Self) -> Self {
        if (ratio.low, ratio.high) == (ratio.adjusted_low, ratio.adjusted_high) {
            return self;
        }
        let decisive = form(&ratio.decisive());
        let ends = decisive.0.into_iter().find(|span| span.class == Class::Interval);
        if let Some(span) = self.0.iter_mut().find(|span| span.class == Class::Interval) {
            span.decides = ends.map(|ends| ends.text);
        }
        self
    }

    /// The text with the deciding ends, adjusted for all comparisons, in place of a ratio's own.
    pub fn decisive(mut self) -> Self {
        for span in &mut self.0 {
            if let Some(ends) = span.decides.take() {
                span.text = ends;
            }
        }
        self
    }

    fn with_ends(figure: String, ends: Option<String>) -> Self {
        let mut prose = Self::figure(figure);
        match ends {
            Some(ends) => {
                prose.push(" ");
                prose.push_span(Class::Interval, &ends);
            }
            None => prose.push(ONE_BLOCK),
        }
        prose
    }

    /// A sign and its meaning, for a legend.
    pub fn sign(mark: Mark) -> Self {
        format!("{} {}", mark.sign(), mark.words()).into()
    }

    /// Appends.
    pub fn push(&mut self, more: impl Into<Self>) {
        for Span { class, text, decides } in more.into().0 {
            self.push_span(class, &text);
            if let Some(last) = self.0.last_mut().filter(|_| decides.is_some()) {
                last.decides = decides;
            }
        }
    }

    fn push_span(&mut self, class: Class, text: &str) {
        match self.0.last_mut().filter(|last| last.class == class) {
            _ if text.is_empty() => {}
            Some(last) => last.text.push_str(text),
            None => self.0.push(Span { class, text: text.to_owned(), decides: None }),
        }
    }

    /// A template with a part for each `{}`; text between backticks is a command. Parts are taken literally, since they
    /// may hold a text from elsewhere. Called by [`crate::prose!`], which counts.
    pub fn fill(template: &str, parts: Vec<Self>) -> Self {
        let mut prose = Self::default();
        let mut parts = parts.into_iter();
        let mut is_command = false;
        for (at, piece) in template.split("{}").enumerate() {
            if at > 0
                && let Some(part) = parts.next()
            {
                match is_command {
                    true => prose.push_span(Class::Command, &part.to_string()),
                    false => prose.push(part),
                }
            }
            for (at, text) in piece.split('`').enumerate() {
                is_command ^= at > 0;
                prose.push_span(if is_command { Class::Command } else { Class::Text }, text);
            }
        }
        prose
    }

    /// Several with a separator.
    pub fn join(parts: impl IntoIterator<Item = Self>, between: &str) -> Self {
        let mut prose = Self::default();
        for (at, part) in parts.into_iter().enumerate() {
            if at > 0 {
                prose.push(between);
            }
            prose.push(part);
        }
        prose
    }

    /// `a`, `a and b`, `a, b and c`.
    pub fn list(parts: Vec<Self>) -> Self {
        let mut parts = parts;
        match parts.pop() {
            Some(last) if !parts.is_empty() => {
                let mut most = Self::join(parts, ", ");
                most.push(" and ");
                most.push(last);
                most
            }
            last => last.unwrap_or_default(),
        }
    }

    /// The text without this prefix.
    pub fn without_start(mut self, words: &str) -> Self {
        if let Some(first) = self.0.first_mut() {
            first.text = first.text.strip_prefix(words).unwrap_or(&first.text).to_owned();
        }
        self
    }

    /// The text with an initial capital.
    pub fn capital(mut self) -> Self {
        if let Some(first) = self.0.first_mut().filter(|first| first.class == Class::Text) {
            first.text = numbers::capital(&first.text);
        }
        self
    }
}

impl fmt::Display for Prose {
    /// The plain text, commands between backticks.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|span| match span.class {
            Class::Command => write!(out, "`{}`", span.text),
            _ => out.write_str(&span.text),
        })
    }
}

impl Serialize for Prose {
    /// As its plain text.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl JsonSchema for Prose {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Prose".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl From<&str> for Prose {
    fn from(text: &str) -> Self {
        Self::of(Class::Text, text)
    }
}

impl From<String> for Prose {
    fn from(text: String) -> Self {
        Self::of(Class::Text, text)
    }
}

impl From<&String> for Prose {
    fn from(text: &String) -> Self {
        Self::of(Class::Text, text)
    }
}

impl From<u32> for Prose {
    fn from(count: u32) -> Self {
        Self::of(Class::Text, count.to_string())
    }
}

impl From<usize> for Prose {
    fn from(count: usize) -> Self {
        Self::of(Class::Text, count.to_string())
    }
}

impl From<&Ratio> for Prose {
    /// `1.27x [1.24, 1.30]`; with one block `1.27x (1 block, no interval)`.
    fn from(ratio: &Ratio) -> Self {
        let ends = || format!("[{}, {}]", numbers::ratio(ratio.low), numbers::ratio(ratio.high));
        let prose = Self::with_ends(numbers::value(ratio.value, "ratio"), ratio.has_ends().then(ends));
        prose.decided_by(ratio, |ratio| ratio.into())
    }
}

impl From<&Interval> for Prose {
    /// `10.2 s [10.1, 10.3]`, in the interval's unit; with one block `10.2 s (1 block, no interval)`.
    fn from(interval: &Interval) -> Self {
        let (figure, ends) = numbers::interval(interval);
        Self::with_ends(figure, ends)
    }
}

/// Text in place of an interval that one block does not have.
const ONE_BLOCK: &str = " (1 block, no interval)";

/// From this ratio on a change is written as a factor.
const FACTOR: f64 = 3.0;

/// Number of parts of a template.
pub const fn places(template: &str) -> usize {
    let bytes = template.as_bytes();
    let (mut at, mut count) = (0, 0);
    while at + 1 < bytes.len() {
        if bytes[at] == b'{' && bytes[at + 1] == b'}' {
            count += 1;
        }
        at += 1;
    }
    count
}

/// A sentence from a template and a part for each `{}`, counted at compile time: `prose!("{} against {}: see
/// `threadwise report`.", &ratio, name)`.
#[macro_export]
macro_rules! prose {
    ($template:literal $(, $part:expr)* $(,)?) => {{
        const {
            let parts: &[&str] = &[$(stringify!($part)),*];
            assert!($crate::prose::places($template) == parts.len(), "a template has one part for each place");
        }
        $crate::prose::Prose::fill($template, vec![$($crate::prose::Prose::from($part)),*])
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(prose: &Prose) -> Vec<(Class, &str)> {
        prose.spans().iter().map(|span| (span.class, span.text.as_str())).collect()
    }

    #[test]
    fn templates_are_filled_and_their_commands_set_apart() {
        let seconds = Interval { mean: 10.2e9, low: 10.1e9, high: 10.31e9, unit: "ns".to_owned() };
        let prose = prose!("On {}: {}; `run --engine {}`.", "two `cores`", &seconds, "x");
        assert_eq!(prose.to_string(), "On two `cores`: 10.2 s [10.1, 10.3]; `run --engine x`.");
        assert_eq!(
            classes(&prose),
            [
                (Class::Text, "On two `cores`: "),
                (Class::Figure, "10.2 s"),
                (Class::Text, " "),
                (Class::Interval, "[10.1, 10.3]"),
                (Class::Text, "; "),
                (Class::Command, "run --engine x"),
                (Class::Text, "."),
            ],
            "a text from elsewhere is no command"
        );
    }

    #[test]
    fn changes_have_ends_or_say_why_not() {
        let mut ratio = Ratio {
            value: 1.6,
            low: 1.52,
            high: 1.69,
            adjusted_low: 1.52,
            adjusted_high: 1.69,
            unit: crate::estimate::RATIO,
            blocks: 8,
            level: 0.95,
            p: 0.001,
            adjusted_p: 0.002,
            family: 2,
            correlation: 0.0,
            floor: None,
            margin: 0.03,
            answer: crate::Answer::Larger,
            direction: crate::Direction::HigherIsBetter,
        };
        assert_eq!(
            classes(&Prose::change(&ratio)),
            [(Class::Figure, "+60%"), (Class::Text, " "), (Class::Interval, "[52, 69]")]
        );
        let own = prose!("It is {}.", &Ratio { adjusted_low: 1.4, adjusted_high: 1.8, ..ratio.clone() });
        assert_eq!(own.to_string(), "It is 1.60x [1.52, 1.69].");
        assert_eq!(own.decisive().to_string(), "It is 1.60x [1.40, 1.80].");
        ratio.value = 3.5;
        assert_eq!(Prose::change(&ratio).to_string(), "3.50x [1.52, 1.69]");
        (ratio.value, ratio.low, ratio.high) = (1.6, 0.0, f64::INFINITY);
        assert_eq!(Prose::change(&ratio).to_string(), "+60% (1 block, no interval)");
    }

    #[test]
    fn lists_and_capitals() {
        let words = |count: usize| {
            Prose::list(["a", "b", "c"][..count].iter().map(|text| Prose::from(*text)).collect())
        };
        assert_eq!([0, 1, 2, 3].map(|count| words(count).to_string()), ["", "a", "a and b", "a, b and c"]);
        assert_eq!(prose!("steal {}", 1_u32).capital().to_string(), "Steal 1");
    }
}
