//! What a terminal can show, and its colours (ECMA-48, Select Graphic Rendition).

/// Capabilities of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours.
    pub color: bool,
    /// Characters beyond ASCII.
    pub unicode: bool,
    /// Columns.
    pub width: usize,
}

pub(crate) const BOLD: &str = "1";

pub(crate) const DIM: &str = "2";

pub(crate) const GREEN: &str = "32";

pub(crate) const YELLOW: &str = "33";

pub(crate) const RED: &str = "31";

pub(crate) const CYAN: &str = "36";

impl Style {
    /// A text in a colour, if colours are on.
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
