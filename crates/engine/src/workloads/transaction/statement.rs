//! A statement of a file, as pieces of text and parameters.

use std::fmt;
use std::sync::Arc;

/// A line of the workload's text, with its file if there are several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    /// Name of the file; `None` if there is one text.
    pub file: Option<Arc<str>>,
    /// Line, from 1.
    pub line: usize,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{file} line {}", self.line),
            None => write!(f, "line {}", self.line),
        }
    }
}

/// A piece of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text that is sent to the engine unchanged.
    Text(String),
    /// The parameter with this index in its script.
    Parameter(usize),
}

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Where it begins.
    pub place: SourceLine,
    writes: Option<String>,
    pieces: Vec<Piece>,
}

impl Statement {
    /// Joins the pieces of a statement.
    pub(super) fn new(place: SourceLine, writes: Option<String>, pieces: Vec<Piece>) -> Self {
        Self { place, writes, pieces }
    }

    /// Why it is taken to write or to lock, by its words; `None` if it only reads.
    pub(super) fn writes(&self) -> Option<&str> {
        self.writes.as_deref()
    }

    /// Its text, with the result of `place` for each parameter, by its index in the script.
    pub fn text(&self, mut place: impl FnMut(usize) -> String) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Parameter(at) => place(*at),
        };
        self.pieces.iter().map(piece).collect()
    }

    /// Its parameters in the order of its text, with repetitions, as indexes in the script.
    pub fn parameters(&self) -> Vec<usize> {
        let place = |piece: &Piece| match piece {
            Piece::Parameter(at) => Some(*at),
            Piece::Text(_) => None,
        };
        self.pieces.iter().filter_map(place).collect()
    }
}
