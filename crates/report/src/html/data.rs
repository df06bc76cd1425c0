//! Data of the page's drawings: the machine as boxes, cores as frames.

use serde::Serialize;

/// The machine as boxes.
#[derive(Debug, Clone, Serialize, Default)]
pub struct Machine {
    /// The machine in one line.
    pub line: String,
    /// `few`, `many`: the size of a logical CPU in the drawing.
    pub size: &'static str,
    /// Package, node, LLC boxes.
    pub packages: Vec<Nest>,
    /// CPUs outside every box.
    pub outside: Vec<Spot>,
    /// Limits, one per line.
    pub limits: Vec<String>,
    /// States that occur: class and words.
    pub legend: Vec<(&'static str, &'static str)>,
}

/// A box with boxes in it; the innermost has cores.
#[derive(Debug, Clone, Serialize, Default)]
pub struct Nest {
    /// Heading.
    pub name: String,
    /// Boxes inside.
    pub inner: Vec<Nest>,
    /// Cores inside: name and logical CPUs.
    pub cores: Vec<(String, Vec<Spot>)>,
}

/// A logical CPU.
#[derive(Debug, Clone, Serialize)]
pub struct Spot {
    /// OS number.
    pub cpu: u32,
    /// `allowed`, `barred`, `offline`.
    pub class: &'static str,
    /// The state in words.
    pub words: &'static str,
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
