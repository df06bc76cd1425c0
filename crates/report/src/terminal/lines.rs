//! Texts on lines of a given width: wrapped, side by side, in columns. Colours come afterwards, since
//! escapes are no columns.

/// Columns that a text takes.
pub fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Breaks at spaces; a word longer than the width stays whole.
pub fn wrap(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in line.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            lines.push(String::new());
            used = 0;
        }
        if let Some(last) = lines.last_mut() {
            if used > 0 {
                last.push(' ');
                used += 1;
            }
            last.push_str(word);
            used += length;
        }
    }
    lines
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
