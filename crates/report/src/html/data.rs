//! Data of the page's drawings: the machine as a picture, cores as frames.

use serde::Serialize;

/// The machine's part of a section.
#[derive(Debug, Clone, Serialize, Default)]
pub struct Machine {
    /// Its picture.
    pub picture: Drawn,
    /// Whether the picture is so large that it is shown on request.
    pub is_large: bool,
    /// Limits, one per line.
    pub limits: Vec<String>,
}

/// A picture of rectangles and texts, in their order. Lengths are in CSS pixels.
#[derive(Debug, Clone, Serialize, Default)]
pub struct Drawn {
    /// The picture in words.
    pub words: String,
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
    /// Boxes, outer ones first.
    pub frames: Vec<DrawnRect>,
    /// Logical CPUs, and swatches of the legend.
    pub cpus: Vec<DrawnRect>,
    /// Captions, numbers, legend and notes.
    pub texts: Vec<DrawnText>,
}

/// A rectangle.
#[derive(Debug, Clone, Serialize)]
pub struct DrawnRect {
    /// Its class in the style sheet.
    pub class: &'static str,
    /// Left, top, width and height.
    pub place: [u32; 4],
    /// Text of its tooltip, empty without one.
    pub words: String,
}

/// A line of text.
#[derive(Debug, Clone, Serialize)]
pub struct DrawnText {
    /// Its classes in the style sheet.
    pub class: String,
    /// Left end, or middle if it is centred, and baseline.
    pub place: [u32; 2],
    /// Whether its middle is at its place.
    pub is_centred: bool,
    /// The text.
    pub text: String,
}

/// Cores of one side, declared or measured, as a drawing. Lengths are in CSS pixels.
#[derive(Debug, Clone, Serialize, Default)]
pub struct Side {
    /// Heading.
    pub title: &'static str,
    /// The drawing in words.
    pub words: String,
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
    /// Cores, and undecided logical CPUs.
    pub cores: Vec<DrawnCore>,
}

/// A frame with logical CPUs in it.
#[derive(Debug, Clone, Serialize)]
pub struct DrawnCore {
    /// `core`, `core differs` or `undecided`.
    pub class: &'static str,
    /// Text of its tooltip.
    pub words: String,
    /// Left, top, width and height.
    pub place: [u32; 4],
    /// Sign in its corner, empty without one.
    pub sign: &'static str,
    /// Logical CPUs.
    pub cpus: Vec<DrawnCpu>,
}

/// A logical CPU in a frame.
#[derive(Debug, Clone, Serialize)]
pub struct DrawnCpu {
    /// Left, top, width and height.
    pub place: [u32; 4],
    /// Its number; empty if there is no room.
    pub text: String,
}
