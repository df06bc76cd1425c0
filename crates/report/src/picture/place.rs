//! Places of boxes: what a box holds flows in rows, and boxes beside each other are made as wide as makes the whole
//! least high. Lengths are in columns and lines on a terminal, in CSS pixels on a page.

use super::areas::{Area, AreaKind, Cell, MAX_DEPTH, Picture};
use super::groups::Label;
use crate::terminal::columns;
use threadwise_document::screen::wrap;

/// How many boxes beside each other are tried.
const ABREAST: [u32; 5] = [1, 2, 3, 4, 8];
/// Boxes with more in one another, which no machine has, are not tried: each level multiplies the tries by five.
const MAX_TRIED: usize = 4;
/// Widest part of a caption that widens its box, in columns; more breaks. A box alone is as wide as its caption.
const MAX_PART: u32 = 26;

/// Lengths of a medium.
#[derive(Debug, Clone, Copy)]
pub struct Lengths {
    /// Width of a character.
    pub column: u32,
    /// Height of a line of a caption.
    pub line: u32,
    /// From the edge of a box to what is inside, left and right.
    pub side: u32,
    /// From the upper edge to the caption's first line.
    pub above: u32,
    /// From what is inside to the lower edge.
    pub below: u32,
    /// Between boxes beside each other.
    pub gap: u32,
    /// Between rows of boxes, and between logical CPUs and boxes below them.
    pub row_gap: u32,
    /// Between logical CPUs.
    pub cell_gap: u32,
    /// Between rows of logical CPUs.
    pub cell_row_gap: u32,
    /// Width of a logical CPU.
    pub cell_width: u32,
    /// Height of a logical CPU.
    pub cell_height: u32,
    /// Between the parts of a caption.
    pub separator: &'static str,
}

/// A box with its place.
#[derive(Debug, Clone)]
pub struct Placed<'a> {
    /// How it is drawn.
    pub kind: AreaKind,
    /// Its place.
    pub place: Rect,
    /// Lines of its caption.
    pub lines: Vec<String>,
    /// Its logical CPUs.
    pub cells: Vec<PlacedCell<'a>>,
    /// Boxes inside.
    pub inner: Vec<Placed<'a>>,
}

/// A logical CPU with its place.
#[derive(Debug, Clone)]
pub struct PlacedCell<'a> {
    /// Its place.
    pub place: Rect,
    /// The logical CPU.
    pub cell: &'a Cell,
}

/// A place: left, top, width and height.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rect {
    /// Left edge.
    pub x: u32,
    /// Upper edge.
    pub y: u32,
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
}

impl Rect {
    fn right(&self) -> u32 {
        self.x + self.width
    }

    fn bottom(&self) -> u32 {
        self.y + self.height
    }

    fn moved(self, x: u32, y: u32) -> Self {
        Self { x: self.x + x, y: self.y + y, ..self }
    }
}

/// The picture with as few folds as make it no higher, or with all of them.
pub fn fitting(picture: &Picture, width: u32, height: u32, lengths: &Lengths) -> Picture {
    let depths = (0..=picture.root.depth()).chain([MAX_DEPTH + 1]);
    let mut folded: Vec<Picture> = depths.map(|depth| picture.folded(depth)).collect();
    folded.dedup();
    let last = folded.len() - 1;
    let fits = |folded: &Picture| place_root(&folded.root, width, lengths).place.height <= height;
    let first = folded[..last].iter().position(fits).unwrap_or(last);
    folded.swap_remove(first)
}

/// Places an area without a frame and without a caption, at most so wide if its boxes allow it.
pub fn place_root<'a>(root: &'a Area, width: u32, lengths: &Lengths) -> Placed<'a> {
    let mut placed = filled(root, width, lengths);
    let (right, bottom) = extent(&placed);
    placed.place = Rect { x: 0, y: 0, width: right, height: bottom };
    placed
}

/// Columns that a box wants for its caption; alone in a box or in the picture, it has room for all of it.
fn caption_columns(area: &Area, is_alone: bool, lengths: &Lengths) -> u32 {
    let parts = area.caption.iter().map(|label| columns(&label.to_string()) as u32);
    match is_alone {
        true => parts.sum::<u32>() + (area.caption.len() * columns(lengths.separator)) as u32,
        false => parts.max().unwrap_or(0).min(MAX_PART),
    }
}

/// A box at the origin, with so many columns for its caption if there is room.
fn framed<'a>(area: &'a Area, caption: u32, width: u32, lengths: &Lengths) -> Placed<'a> {
    let room = width.saturating_sub(2 * lengths.side).max(lengths.cell_width);
    let mut placed = filled(area, room, lengths);
    let (right, bottom) = extent(&placed);
    let inside = right.max(room.min(caption * lengths.column));
    placed.lines = caption_lines(&area.caption, inside / lengths.column, lengths.separator);
    // A terminal writes the first line into the frame, so that it has one in any case.
    let head = lengths.above + lengths.line * (placed.lines.len().max(1) as u32);
    placed.shift(lengths.side, head);
    let height = head + bottom + lengths.below;
    placed.place = Rect { x: 0, y: 0, width: inside + 2 * lengths.side, height };
    placed
}

/// What a box holds, from the origin.
fn filled<'a>(area: &'a Area, room: u32, lengths: &Lengths) -> Placed<'a> {
    let cells = flowing_cells(&area.cells, room, lengths);
    let top = cells.iter().map(|cell| cell.place.bottom() + lengths.row_gap).max().unwrap_or(0);
    // The width of a core does not depend on the room for it.
    let is_fixed = area.areas.iter().all(|area| area.kind == AreaKind::Core) || area.depth() > MAX_TRIED;
    let most = if is_fixed { 1 } else { area.areas.len() as u32 };
    let best = ABREAST
        .iter()
        .filter(|abreast| **abreast <= most.max(1))
        .filter_map(|abreast| flowing(&area.areas, *abreast, room, lengths))
        .min_by_key(|inner| (height(inner), inner.iter().map(|placed| placed.place.right()).max()));
    let mut inner = best.unwrap_or_default();
    inner.iter_mut().for_each(|placed| placed.shift_whole(0, top));
    Placed { kind: area.kind, place: Rect::default(), lines: vec![], cells, inner }
}

fn flowing_cells<'a>(cells: &'a [Cell], room: u32, lengths: &Lengths) -> Vec<PlacedCell<'a>> {
    let step = (lengths.cell_width + lengths.cell_gap, lengths.cell_height + lengths.cell_row_gap);
    let abreast = ((room + lengths.cell_gap) / step.0).max(1);
    let at = |index: u32| Rect {
        x: index % abreast * step.0,
        y: index / abreast * step.1,
        width: lengths.cell_width,
        height: lengths.cell_height,
    };
    (0..).zip(cells).map(|(index, cell)| PlacedCell { place: at(index), cell }).collect()
}

/// Boxes in rows, each made for an equal part of the width; `None` if one needs more.
fn flowing<'a>(areas: &'a [Area], abreast: u32, room: u32, lengths: &Lengths) -> Option<Vec<Placed<'a>>> {
    let part = (room + lengths.gap) / abreast;
    let part = part.checked_sub(lengths.gap).filter(|part| *part > 0)?;
    let captions: Vec<u32> =
        areas.iter().map(|area| caption_columns(area, areas.len() == 1, lengths)).collect();
    let is_wide = |caption: &u32| caption * lengths.column + 2 * lengths.side > part;
    if abreast > 1 && captions.iter().any(is_wide) {
        return None;
    }
    let framed = areas.iter().zip(captions).map(|(area, caption)| framed(area, caption, part, lengths));
    let mut all: Vec<Placed<'_>> = framed.collect();
    // Alone in its row, a box may be wider than its part: there is nothing better.
    if abreast > 1 && all.iter().any(|placed| placed.place.width > part) {
        return None;
    }
    even_widths(&mut all, lengths);
    let (mut left, mut top, mut row) = (0, 0, 0);
    for at in 0..all.len() {
        let width = all[at].place.width;
        if left > 0 && left + width > room {
            even_heights(&mut all[row..at]);
            top =
                all[row..at].iter().map(|placed| placed.place.bottom()).max().unwrap_or(0) + lengths.row_gap;
            (left, row) = (0, at);
        }
        all[at].shift_whole(left, top);
        left += width + lengths.gap;
    }
    even_heights(&mut all[row..]);
    Some(all)
}

/// Boxes of a kind that differ by little, as by the digits of their captions, get the same width.
fn even_widths(all: &mut [Placed<'_>], lengths: &Lengths) {
    for kind in [AreaKind::Core, AreaKind::Group] {
        let of_kind = || all.iter().filter(|placed| placed.kind == kind).map(|placed| placed.place.width);
        let Some(widest) = of_kind().max() else { continue };
        let slack = 4 * lengths.column;
        for placed in all.iter_mut().filter(|placed| placed.kind == kind) {
            if placed.place.width + slack >= widest {
                placed.place.width = widest;
            }
        }
    }
}

/// Boxes of a row get the same height; cores by themselves, which have less in them than others.
fn even_heights(row: &mut [Placed<'_>]) {
    let is_core = |placed: &Placed<'_>| placed.kind == AreaKind::Core;
    for cores in [true, false] {
        let alike = row.iter().filter(|placed| is_core(placed) == cores);
        let highest = alike.map(|placed| placed.place.height).max().unwrap_or(0);
        let alike = row.iter_mut().filter(|placed| is_core(placed) == cores);
        alike.for_each(|placed| placed.place.height = highest);
    }
}

fn height(all: &[Placed<'_>]) -> u32 {
    all.iter().map(|placed| placed.place.bottom()).max().unwrap_or(0)
}

/// Right and lower end of what a box holds.
fn extent(placed: &Placed<'_>) -> (u32, u32) {
    let inner = placed.inner.iter().map(|inner| inner.place);
    let all = placed.cells.iter().map(|cell| cell.place).chain(inner);
    all.fold((0, 0), |(right, bottom), place| (right.max(place.right()), bottom.max(place.bottom())))
}

impl Placed<'_> {
    /// Moves what is inside.
    pub fn shift(&mut self, x: u32, y: u32) {
        self.cells.iter_mut().for_each(|cell| cell.place = cell.place.moved(x, y));
        self.inner.iter_mut().for_each(|placed| placed.shift_whole(x, y));
    }

    fn shift_whole(&mut self, x: u32, y: u32) {
        self.place = self.place.moved(x, y);
        self.shift(x, y);
    }
}

/// Parts of a caption on lines that are no wider, broken between parts if possible.
fn caption_lines(caption: &[Label], width: u32, separator: &str) -> Vec<String> {
    let width = (width as usize).max(1);
    let mut lines: Vec<String> = Vec::new();
    for part in caption.iter().map(Label::to_string) {
        match lines.last_mut() {
            Some(last) if columns(last) + columns(separator) + columns(&part) <= width => {
                last.push_str(separator);
                last.push_str(&part);
            }
            _ => lines.extend(wrapped(&part, width)),
        }
    }
    lines
}

/// A text on lines that are no wider: broken at spaces, then after commas, then anywhere.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    wrap(text, width).iter().flat_map(|line| broken(line, width)).collect()
}

/// A line in pieces that are no wider: broken after commas, and within words that are too wide alone.
fn broken(line: &str, width: usize) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for word in line.split_inclusive(',') {
        match pieces.last_mut() {
            Some(last) if columns(last) + columns(word) <= width => last.push_str(word),
            _ => {
                let letters: Vec<char> = word.chars().collect();
                pieces.extend(letters.chunks(width).map(|piece| piece.iter().collect::<String>()));
            }
        }
    }
    pieces
}
