//! Notes: what engines, samplers and the runner have to say about a study, one line each, for the reader of a report.

use std::fmt;

/// A note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What it means to a report.
    pub code: NoteCode,
    /// Its text, which is shown.
    pub text: String,
}

/// What a note means to a report, which goes by it and never by the text.
#[derive(Debug, Clone, PartialEq, Eq, Default, strum::Display, strum::EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum NoteCode {
    /// The server is not on the placement.
    NotPlaced,
    /// The server's memory was placed before the treatment.
    MemoryPlacedEarlier,
    /// There are no looks at where slices ran.
    NoLooks,
    /// The sampler of this name reads nothing.
    #[strum(to_string = "no-readings/{0}")]
    NoReadings(String),
    /// The user wanted no probe.
    NotProbed,
    /// It is for the reader alone.
    #[default]
    Other,
}

/// Prefix of the code of a sampler that reads nothing; its name follows.
const NO_READINGS: &str = "no-readings/";

impl Note {
    /// A note with a code.
    pub fn new(code: NoteCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// That a server is not on the placement, and why.
    pub fn not_pinned(why: impl fmt::Display) -> Self {
        Self::new(NoteCode::NotPlaced, format!("server not pinned: {why}"))
    }

    /// That a server's memory was placed before the treatment, and why.
    pub fn memory_placed_earlier(why: impl fmt::Display) -> Self {
        Self::new(NoteCode::MemoryPlacedEarlier, format!("memory placed earlier: {why}"))
    }

    /// What follows the first colon, else all of the text: why something is missing.
    pub fn reason(&self) -> &str {
        self.text.split_once(": ").map_or(&self.text, |(_, why)| why)
    }

    /// Texts with the codes that a worker sends beside them. A text without one is [`NoteCode::Other`].
    pub fn with_codes(texts: Vec<String>, codes: &[String]) -> Vec<Self> {
        let codes =
            codes.iter().map(|code| NoteCode::of(code)).chain(std::iter::repeat_with(NoteCode::default));
        texts.into_iter().zip(codes).map(|(text, code)| Self { code, text }).collect()
    }

    /// Their texts, and their codes if there are any.
    pub fn apart(notes: Vec<Self>) -> (Vec<String>, Vec<String>) {
        let any = notes.iter().any(|note| note.code != NoteCode::Other);
        let codes = notes.iter().filter(|_| any).map(|note| note.code.to_string()).collect();
        (notes.into_iter().map(|note| note.text).collect(), codes)
    }
}

impl NoteCode {
    /// The code of this name; [`NoteCode::Other`] if this version knows none.
    pub fn of(name: &str) -> Self {
        match name.strip_prefix(NO_READINGS) {
            Some(sampler) => Self::NoReadings(sampler.to_owned()),
            None => name.parse().unwrap_or_default(),
        }
    }
}

impl From<String> for Note {
    fn from(text: String) -> Self {
        Self::new(NoteCode::Other, text)
    }
}

impl From<&str> for Note {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_read_back_and_unknown_ones_are_for_the_reader_alone() {
        let samplers = NoteCode::NoReadings("clock".to_owned());
        let all = [NoteCode::NotPlaced, NoteCode::MemoryPlacedEarlier, NoteCode::NoLooks, samplers];
        for code in all.into_iter().chain([NoteCode::NotProbed, NoteCode::Other]) {
            assert_eq!(NoteCode::of(&code.to_string()), code);
        }
        assert_eq!(NoteCode::of("made-later"), NoteCode::Other);
    }

    #[test]
    fn texts_and_codes_come_together_again() {
        let notes = vec![Note::from("a"), Note::new(NoteCode::NotPlaced, "server not pinned: why: so")];
        let (texts, codes) = Note::apart(notes.clone());
        assert_eq!(codes, ["other", "not-placed"]);
        assert_eq!(notes[1].reason(), "why: so");
        assert_eq!(Note::with_codes(texts.clone(), &codes), notes);
        assert_eq!(Note::with_codes(texts, &[])[1].code, NoteCode::Other);
        assert_eq!(Note::apart(vec![Note::from("a")]).1, Vec::<String>::new());
    }
}
