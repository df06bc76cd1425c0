//! The machine as a picture (SVG), for the page and for a file of its own.

use super::data::{Drawn, DrawnRect, DrawnText, Machine};
use crate::drawing::topology_line;
use crate::picture::Sessions;
use crate::picture::areas::{AreaKind, Cell, Mark, Picture};
use crate::picture::place::{Lengths, Placed, Rect, fitting, place_root, wrapped};
use crate::terminal::columns;
use threadwise_document::numbers::{bytes, cpu_list, significant};
use threadwise_machine::Topology;

/// Most logical CPUs that are drawn large, with their numbers, where measured cores are.
pub const MANY: usize = 160;
/// Width of a picture, about that of the page.
const WIDTH: u32 = 1000;
/// Greatest height of a picture without folds.
const MAX_HEIGHT: u32 = 1400;
/// Height from which the page shows a picture on request.
const LARGE: u32 = 560;
/// Narrowest room for texts above and below the boxes.
const MIN_TEXT: u32 = 560;
/// Width of a character, at a size of 11.5 px.
const COLUMN: u32 = 7;
/// Height of a line.
const LINE: u32 = 15;
/// From a line's upper edge to the baseline.
const BASELINE: u32 = 11;
/// From the edge of a box to what is inside, left and right.
const SIDE: u32 = 8;
/// From the upper edge of a box or a logical CPU to its first line.
const ABOVE: u32 = 2;
/// Around a picture inside the page: frames are 1 px thick and must not be cut at the edge.
const MARGIN: u32 = 2;
/// Around a picture in a file of its own.
const WIDE_MARGIN: u32 = 12;
/// Side of a swatch of the legend.
const SWATCH: u32 = 13;

/// The machine's part of a section.
pub fn machine(topology: &Topology) -> Machine {
    let picture = drawn(topology, None, &[]);
    Machine { is_large: picture.height > LARGE, picture, limits: limits(topology) }
}

/// A picture for a file of its own: it says which machine it is, and which placement.
pub fn alone(topology: &Topology, sessions: Option<&Sessions<'_>>) -> Drawn {
    let mut head = vec![topology_line(topology)];
    head.extend(sessions.map(Sessions::to_string));
    let mut drawn = drawn(topology, sessions, &head);
    drawn.words = head.join("; ");
    drawn
}

/// A picture below lines of text.
fn drawn(topology: &Topology, sessions: Option<&Sessions<'_>>, head: &[String]) -> Drawn {
    let picture = Picture::new(topology, sessions);
    let lengths = lengths(&picture);
    let picture = fitting(&picture, WIDTH, MAX_HEIGHT, &lengths);
    let mut placed = place_root(&picture.root, WIDTH, &lengths);
    let margin = if head.is_empty() { MARGIN } else { WIDE_MARGIN };
    let width = placed.place.width.max(MIN_TEXT);
    let mut sheet = Sheet { drawn: Drawn::default(), margin, width, bottom: margin };
    head.iter().for_each(|line| sheet.lines(line, "head"));
    sheet.bottom += if head.is_empty() { 0 } else { LINE };
    placed.shift(margin, sheet.bottom);
    sheet.fill(&placed);
    sheet.bottom += placed.place.height + LINE;
    sheet.legend(&picture);
    picture.notes.iter().for_each(|note| sheet.lines(note, "note"));
    Drawn {
        words: topology_line(topology),
        width: width + 2 * margin,
        height: sheet.bottom + 2 * margin,
        ..sheet.drawn
    }
}

/// Lengths for the longest text in a logical CPU.
fn lengths(picture: &Picture) -> Lengths {
    let cells = picture.root.all_cells();
    let texts = cells.iter().flat_map(|cell| [columns(&cell.cpu.to_string()), columns(&cell.sessions)]);
    let has_sessions = cells.iter().any(|cell| cell.mark() == Mark::Session);
    Lengths {
        column: COLUMN,
        line: LINE,
        side: SIDE,
        above: ABOVE + 2,
        below: SIDE,
        gap: SIDE,
        row_gap: SIDE,
        cell_gap: 4,
        cell_row_gap: 4,
        cell_width: texts.max().unwrap_or(1) as u32 * COLUMN + SIDE,
        cell_height: if has_sessions { 2 * LINE + 4 } else { LINE + 4 },
        separator: " · ",
    }
}

/// What is drawn so far, and its lower end.
struct Sheet {
    drawn: Drawn,
    margin: u32,
    width: u32,
    bottom: u32,
}

impl Sheet {
    fn text(&mut self, class: &str, place: [u32; 2], text: &str) {
        let text = DrawnText { class: class.to_owned(), place, is_centred: false, text: text.to_owned() };
        self.drawn.texts.push(text);
    }

    /// A text over the whole width, below what is there.
    fn lines(&mut self, text: &str, class: &str) {
        for line in wrapped(text, (self.width / COLUMN) as usize) {
            self.text(class, [self.margin, self.bottom + BASELINE], &line);
            self.bottom += LINE;
        }
    }

    fn fill(&mut self, placed: &Placed<'_>) {
        placed.cells.iter().for_each(|placed| self.cell(placed.cell, placed.place));
        for inner in &placed.inner {
            let Rect { x, y, width, height } = inner.place;
            let (class, words) = (frame_class(inner.kind), String::new());
            self.drawn.frames.push(DrawnRect { class, place: [x, y, width, height], words });
            for (at, line) in (0..).zip(&inner.lines) {
                self.text("caption", [x + SIDE, y + ABOVE + at * LINE + BASELINE], line);
            }
            self.fill(inner);
        }
    }

    fn cell(&mut self, cell: &Cell, Rect { x, y, width, height }: Rect) {
        let class = class(cell.mark());
        let place = [x, y, width, height];
        self.drawn.cpus.push(DrawnRect { class, place, words: cell_words(cell) });
        let mut texts = vec![cell.cpu.to_string()];
        texts.extend(Some(cell.sessions.clone()).filter(|sessions| !sessions.is_empty()));
        let above = (height - LINE * texts.len() as u32) / 2;
        for (at, text) in (0..).zip(texts) {
            let place = [x + width / 2, y + above + at * LINE + BASELINE];
            self.drawn.texts.push(DrawnText {
                class: format!("number {class}"),
                place,
                is_centred: true,
                text,
            });
        }
    }

    /// Swatches with what they mean, for the marks that occur.
    fn legend(&mut self, picture: &Picture) {
        let mut left = self.margin;
        for mark in picture.root.marks() {
            let width = SWATCH + SIDE + columns(mark.words()) as u32 * COLUMN;
            if left > self.margin && left + width > self.margin + self.width {
                (left, self.bottom) = (self.margin, self.bottom + LINE + 3);
            }
            let place = [left, self.bottom, SWATCH, SWATCH];
            self.drawn.cpus.push(DrawnRect { class: class(mark), place, words: String::new() });
            self.text("note", [left + SWATCH + SIDE, self.bottom + BASELINE], mark.words());
            left += width + 2 * SWATCH;
        }
        self.bottom += LINE + 6;
    }
}

fn class(mark: Mark) -> &'static str {
    match mark {
        Mark::Allowed => "allowed",
        Mark::Session => "session",
        Mark::LeftOver => "left-over",
        Mark::NotAllowed => "barred",
        Mark::Offline => "offline",
    }
}

fn frame_class(kind: AreaKind) -> &'static str {
    match kind {
        AreaKind::Group => "group",
        AreaKind::Core => "core",
        AreaKind::Fold => "fold",
        AreaKind::Apart => "apart",
    }
}

/// Text of a logical CPU's tooltip.
fn cell_words(cell: &Cell) -> String {
    let Cell { cpu, sessions, .. } = cell;
    match cell.mark() {
        Mark::Session => format!("logical CPU {cpu}: {sessions}"),
        mark => format!("logical CPU {cpu}: {}", mark.words()),
    }
}

fn limits(topology: &Topology) -> Vec<String> {
    let limits = &topology.limits;
    let mut lines = Vec::new();
    lines.extend(limits.cpuset.as_ref().map(|set| format!("cpuset: logical CPUs {}", cpu_list(set))));
    lines
        .extend(limits.affinity.as_ref().map(|set| format!("affinity mask: logical CPUs {}", cpu_list(set))));
    lines.push(match (limits.quota_cpus, &limits.quota_source) {
        (Some(quota), Some(source)) => {
            format!("CPU quota: {} CPUs ({})", significant(quota, 3), source.display())
        }
        (Some(quota), None) => format!("CPU quota: {} CPUs", significant(quota, 3)),
        (None, Some(source)) => {
            format!("CPU quota: unknown ({} names a group that no mount shows)", source.display())
        }
        (None, None) => "CPU quota: none".to_owned(),
    });
    lines.extend(limits.memory_bytes.map(|size| format!("memory limit: {}", bytes(size))));
    lines
}
