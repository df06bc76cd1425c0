//! The picture of a machine in a terminal: boxes of lines, or of `+`, `-` and `|` where there is only ASCII.

use super::areas::{AreaKind, Cell, Mark, Picture};
use super::place::{Lengths, Placed, PlacedCell, Rect, fitting, place_root, wrapped};
use super::sessions::Sessions;
use crate::drawing::topology_line;
use crate::terminal::{BOLD, CYAN, DIM, GREEN, Style, columns, flow};
use crate::text::plain;
use threadwise_machine::Topology;

/// Most lines of a picture without folds.
const MAX_LINES: u32 = 60;

/// The machine as boxes, with sessions if there are any, no wider than the style's width; above it which machine and
/// placement it is, below it what signs mean, and notes. Equal neighbours are folded if there are many.
pub fn boxes(topology: &Topology, sessions: Option<&Sessions<'_>>, style: Style) -> String {
    let width = style.width.max(40);
    let picture = Picture::new(topology, sessions);
    let lengths = lengths(&picture, style);
    let picture = fitting(&picture, width as u32, MAX_LINES, &lengths);
    let placed = place_root(&picture.root, width as u32, &lengths);
    let mut canvas = Canvas::new(placed.place, style);
    canvas.fill(&placed);
    let mut lines = wrapped(&plain(&topology_line(topology), style.unicode), width);
    if let Some(sessions) = sessions {
        lines.extend(wrapped(&plain(&sessions.to_string(), style.unicode), width));
    }
    lines.push(String::new());
    lines.extend(canvas.lines());
    lines.extend(flow(&legend(&picture, style), width));
    lines.extend(picture.notes.iter().flat_map(|note| wrapped(note, width)));
    lines.join("\n")
}

/// Lengths for the longest text in a logical CPU.
fn lengths(picture: &Picture, style: Style) -> Lengths {
    let cells = picture.root.all_cells();
    let widest = cells.iter().map(|cell| columns(&number(cell)).max(columns(&cell.sessions))).max();
    let has_sessions = cells.iter().any(|cell| cell.mark() == Mark::Session);
    Lengths {
        column: 1,
        line: 1,
        side: 2,
        above: 0,
        below: 1,
        gap: 1,
        row_gap: 0,
        cell_gap: 1,
        cell_row_gap: 0,
        cell_width: widest.unwrap_or(1) as u32,
        cell_height: if has_sessions { 2 } else { 1 },
        separator: if style.unicode { " · " } else { " - " },
    }
}

/// `3`, `3x` if it is not allowed, `3-` if it is offline, as in the list of the machine.
fn number(cell: &Cell) -> String {
    let mark = match cell.mark() {
        Mark::NotAllowed => "x",
        Mark::Offline => "-",
        Mark::Allowed | Mark::Session | Mark::LeftOver => "",
    };
    format!("{}{mark}", cell.cpu)
}

/// The sign of a left-over sibling.
fn left_over(style: Style) -> &'static str {
    if style.unicode { "·" } else { "." }
}

/// What the signs that occur mean.
fn legend(picture: &Picture, style: Style) -> Vec<String> {
    let part = |mark: &Mark| match mark {
        Mark::Allowed => None,
        Mark::Session => Some(mark.words().to_owned()),
        Mark::LeftOver => Some(format!("{} {}", left_over(style), mark.words())),
        Mark::NotAllowed => Some(format!("x {}", mark.words())),
        Mark::Offline => Some(format!("- {}", mark.words())),
    };
    picture.root.marks().iter().filter_map(part).collect()
}

/// A character with its colour, empty without one.
#[derive(Clone, Copy)]
struct Glyph {
    letter: char,
    color: &'static str,
}

/// Lines of characters, on which boxes are drawn from the outermost inwards.
struct Canvas {
    rows: Vec<Vec<Glyph>>,
    style: Style,
}

impl Canvas {
    fn new(size: Rect, style: Style) -> Self {
        let row = vec![Glyph { letter: ' ', color: "" }; size.width as usize];
        Self { rows: vec![row; size.height as usize], style }
    }

    fn fill(&mut self, placed: &Placed<'_>) {
        placed.cells.iter().for_each(|cell| self.cell(cell));
        for inner in &placed.inner {
            self.frame(inner);
            self.fill(inner);
        }
    }

    fn frame(&mut self, placed: &Placed<'_>) {
        let Rect { x, y, width, height } = placed.place;
        let (right, bottom) = (x + width - 1, y + height - 1);
        let [across, down, corners] =
            if self.style.unicode { ["─", "│", "┌┐└┘"] } else { ["-", "|", "++++"] };
        let corners: Vec<String> = corners.chars().map(String::from).collect();
        for (at, (x, y)) in [(x, y), (right, y), (x, bottom), (right, bottom)].into_iter().enumerate() {
            self.text(x, y, &corners[at], DIM);
        }
        for at in x + 1..right {
            [y, bottom].into_iter().for_each(|y| self.text(at, y, across, DIM));
        }
        for at in y + 1..bottom {
            [x, right].into_iter().for_each(|x| self.text(x, at, down, DIM));
        }
        let color = match placed.kind {
            AreaKind::Group => BOLD,
            AreaKind::Core => "",
            AreaKind::Fold | AreaKind::Apart => CYAN,
        };
        for (at, line) in (0..).zip(&placed.lines) {
            // The first line interrupts the frame.
            let padded = if at == 0 { format!(" {line} ") } else { format!(" {line}") };
            self.text(x + 1, y + at, &padded, color);
        }
    }

    fn cell(&mut self, placed: &PlacedCell<'_>) {
        let mark = placed.cell.mark();
        let color = match mark {
            Mark::Allowed => "",
            Mark::Session => GREEN,
            Mark::LeftOver | Mark::NotAllowed | Mark::Offline => DIM,
        };
        let sessions = if mark == Mark::LeftOver { left_over(self.style) } else { &placed.cell.sessions };
        let Rect { x, y, width, height } = placed.place;
        for (at, text) in (0..height).zip([&*number(placed.cell), sessions]) {
            let blanks = width.saturating_sub(columns(text) as u32);
            self.text(x + blanks, y + at, text, color);
        }
    }

    /// Writes a text, of which nothing goes over the edge.
    fn text(&mut self, x: u32, y: u32, text: &str, color: &'static str) {
        let row = self.rows.get_mut(y as usize).into_iter().flatten().skip(x as usize);
        row.zip(text.chars()).for_each(|(glyph, letter)| *glyph = Glyph { letter, color });
    }

    fn lines(&self) -> Vec<String> {
        let line = |row: &Vec<Glyph>| {
            let end = row.iter().rposition(|glyph| glyph.letter != ' ').map_or(0, |last| last + 1);
            let runs = row[..end].chunk_by(|one, two| one.color == two.color);
            let painted = runs.map(|run| {
                let text: String = run.iter().map(|glyph| glyph.letter).collect();
                if run[0].color.is_empty() { text } else { self.style.paint(run[0].color, &text) }
            });
            painted.collect::<String>()
        };
        self.rows.iter().map(line).collect()
    }
}
