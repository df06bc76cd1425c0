//! Texts on lines of a given width. Columns are those of a terminal (Unicode Standard Annex 11), wrapping is
//! textwrap's, at spaces only.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::UnicodeWidthStr;

/// Columns that a text takes.
pub fn columns(text: &str) -> usize {
    text.width()
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

/// Parts on as few lines as hold them, two spaces between; a part breaks where it is wider alone.
pub fn flow(parts: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut().filter(|last| columns(last) + 2 + columns(part) <= width) {
            Some(last) => *last = format!("{last}  {part}"),
            None => lines.extend(wrap(part, width)),
        }
    }
    lines
}

/// Cells padded to their columns' widths, and what stands between them.
pub struct Aligned {
    /// Rows, the headers first.
    pub rows: Vec<Vec<String>>,
    /// Two spaces where the width allows it, else one.
    pub gap: &'static str,
}

impl Aligned {
    /// Aligns rows, the headers first. Columns of `left` begin at their left edge, others end at
    /// their right one.
    pub fn new(mut rows: Vec<Vec<String>>, left: &[usize], width: usize) -> Self {
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widest = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| columns(cell)).max();
        let widths: Vec<usize> = (0..count).map(|at| widest(at).unwrap_or(0)).collect();
        for row in &mut rows {
            for (at, cell) in row.iter_mut().enumerate() {
                let wide = widths[at];
                *cell = if left.contains(&at) { format!("{cell:wide$}") } else { format!("{cell:>wide$}") };
            }
        }
        let total = widths.iter().sum::<usize>() + 2 * count.saturating_sub(1);
        Self { rows, gap: if total <= width { "  " } else { " " } }
    }
}
