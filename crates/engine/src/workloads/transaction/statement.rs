//! A statement of a file, as pieces of text and parameters.

/// A parameter, drawn again for each transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, without the colon.
    pub name: String,
    /// Its least value.
    pub low: i64,
    /// Its greatest value.
    pub high: i64,
}

/// A piece of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text that is sent to the engine unchanged.
    Text(String),
    /// The parameter with this index in the file's head.
    Parameter(usize),
}

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Line of the file that it begins in, from 1.
    pub line: usize,
    writes: Option<String>,
    pieces: Vec<Piece>,
}

impl Statement {
    /// Joins the pieces of a statement.
    pub(super) fn new(line: usize, writes: Option<String>, pieces: Vec<Piece>) -> Self {
        Self { line, writes, pieces }
    }

    /// Why it is taken to write or to lock, by its words; `None` if it only reads.
    pub(super) fn writes(&self) -> Option<&str> {
        self.writes.as_deref()
    }

    /// Its text, with the result of `place` for each parameter, by its index in the file's head.
    pub fn text(&self, mut place: impl FnMut(usize) -> String) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Parameter(at) => place(*at),
        };
        self.pieces.iter().map(piece).collect()
    }

    /// Its parameters in the order of its text, with repetitions, as indexes in the file's head.
    pub fn parameters(&self) -> Vec<usize> {
        let place = |piece: &Piece| match piece {
            Piece::Parameter(at) => Some(*at),
            Piece::Text(_) => None,
        };
        self.pieces.iter().filter_map(place).collect()
    }
}
