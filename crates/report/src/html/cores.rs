//! Declared and measured cores as two drawings (SVG) that fit a telephone without scaling.

use super::data::{DrawnCore, DrawnCpu, Side};
use super::machine::MANY;
use threadwise_document::Cores;
use threadwise_document::numbers::{counted, cpu_list};
use threadwise_machine::CpuSet;

/// Widest line of cores.
const MAX_WIDTH: u32 = 372;
/// Most logical CPUs side by side in one core; more are below.
const ABREAST: usize = 8;

/// Lengths of a drawing.
struct Sizes {
    cpu_width: u32,
    cpu_height: u32,
    /// Between logical CPUs, and from them to the frame.
    inner: u32,
    /// Between cores.
    outer: u32,
    numbers: bool,
}

const FEW: Sizes = Sizes { cpu_width: 30, cpu_height: 24, inner: 3, outer: 13, numbers: true };
const SMALL: Sizes = Sizes { cpu_width: 8, cpu_height: 8, inner: 1, outer: 3, numbers: false };

/// Both drawings of a document, declared first.
pub fn drawn(cores: &Cores) -> Vec<Side> {
    let count = |side: &[(CpuSet, bool)]| side.iter().map(|(cpus, _)| cpus.len()).sum::<usize>();
    let sizes = if count(&cores.declared).max(count(&cores.measured)) > MANY { SMALL } else { FEW };
    vec![
        side("Declared", &cores.declared, &CpuSet::new(), &sizes),
        side("Measured", &cores.measured, &cores.undecided, &sizes),
    ]
}

fn side(title: &'static str, cores: &[(CpuSet, bool)], undecided: &CpuSet, sizes: &Sizes) -> Side {
    let mut drawn: Vec<DrawnCore> =
        cores.iter().map(|(cpus, differs)| frame(cpus, *differs, sizes)).collect();
    drawn.extend(undecided.iter().map(|cpu| {
        let alone: CpuSet = [cpu].into_iter().collect();
        let mut core = frame(&alone, false, sizes);
        core.class = "undecided";
        core.words = format!("logical CPU {cpu}: undecided");
        core
    }));
    let (width, height) = flow(&mut drawn, sizes);
    let differing = cores.iter().filter(|(_, differs)| *differs).count();
    let mut words = format!("{title}: {}", counted(cores.len(), "core"));
    if differing > 0 {
        words.push_str(&format!(", {differing} of them different on the other side"));
    }
    if !undecided.is_empty() {
        words.push_str(&format!(", undecided: {}", cpu_list(undecided)));
    }
    Side { title, words, width, height, cores: drawn }
}

/// A core at the origin.
fn frame(members: &CpuSet, differs: bool, sizes: &Sizes) -> DrawnCore {
    let abreast = members.len().clamp(1, ABREAST);
    let step = [sizes.cpu_width + sizes.inner, sizes.cpu_height + sizes.inner];
    let cpus: Vec<DrawnCpu> = members
        .iter()
        .enumerate()
        .map(|(at, cpu)| DrawnCpu {
            place: [
                sizes.inner + (at % abreast) as u32 * step[0],
                sizes.inner + (at / abreast) as u32 * step[1],
                sizes.cpu_width,
                sizes.cpu_height,
            ],
            text: if sizes.numbers { cpu.to_string() } else { String::new() },
        })
        .collect();
    let rows = members.len().div_ceil(abreast).max(1) as u32;
    let list = cpu_list(members);
    DrawnCore {
        class: if differs { "core differs" } else { "core" },
        words: format!("core of {list}{}", if differs { ": different on the other side" } else { "" }),
        place: [0, 0, sizes.inner + abreast as u32 * step[0], sizes.inner + rows * step[1]],
        sign: if differs && sizes.numbers { "!" } else { "" },
        cpus,
    }
}

/// Moves cores to their places on lines; gives width and height of all.
fn flow(cores: &mut [DrawnCore], sizes: &Sizes) -> (u32, u32) {
    // Frames are as thick as 2 and must not be cut at the edge.
    let margin = 2;
    let (mut left, mut top, mut line, mut widest) = (margin, margin, 0, 0);
    for core in cores {
        let [_, _, width, height] = core.place;
        if left > margin && left + width > MAX_WIDTH {
            (left, top, line) = (margin, top + line + sizes.outer, 0);
        }
        core.place = [left, top, width, height];
        for cpu in &mut core.cpus {
            cpu.place[0] += left;
            cpu.place[1] += top;
        }
        line = line.max(height);
        widest = widest.max(left + width);
        left += width + sizes.outer;
    }
    // The sign of the last core is outside its frame.
    (widest + margin + if sizes.numbers { 6 } else { 0 }, top + line + margin)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cores(count: u32) -> Cores {
        let sets: Vec<(CpuSet, bool)> =
            (0..count).map(|id| ((id * 2..(id + 1) * 2).collect(), false)).collect();
        Cores { declared: sets.clone(), measured: sets, ..Cores::default() }
    }

    #[test]
    fn nothing_is_outside_and_nothing_overlaps() {
        for count in [1, 7, 80, 384] {
            for side in drawn(&cores(count)) {
                assert_eq!(side.cores.len(), count as usize);
                assert!(side.width <= MAX_WIDTH + 10, "{count}: {}", side.width);
                for (at, core) in side.cores.iter().enumerate() {
                    let [x, y, w, h] = core.place;
                    assert!(x + w <= side.width && y + h <= side.height);
                    for cpu in &core.cpus {
                        let [left, top, width, height] = cpu.place;
                        assert!(left >= x && top >= y && left + width <= x + w && top + height <= y + h);
                    }
                    for other in &side.cores[..at] {
                        let [ox, oy, ow, oh] = other.place;
                        assert!(ox + ow <= x || x + w <= ox || oy + oh <= y || y + h <= oy);
                    }
                }
            }
        }
    }
}
