//! Change points of the baseline's rate: how often one is named where there is none, how often where there is one, and
//! whether the intervals of those that are named hold.

use crate::lab_simulations::coverage::noise::{Machine, Normal, QUIET};
use crate::lab_simulations::coverage::rules::{ALPHA, count};
use threadwise_analysis::estimate::Work;
use threadwise_statistics::change_points::{Reference, change_points, levels};

/// What the rate of the whole machine does over a study of so many blocks, in logarithms.
#[derive(Clone, Copy)]
enum Course {
    Still,
    /// From its start to its end.
    Line(f64),
    /// From a place in the middle half on, which is drawn.
    Step(f64),
    /// In the middle third alone.
    Visit(f64),
}

/// Of some studies: the share in which a change is named, that in which the first one named is a block or less off,
/// and the share of the intervals of single changes that cover.
struct Named {
    any: f64,
    near: f64,
    covered: Option<f64>,
}

fn named(
    machine: &Machine,
    (course, disturbed): (Course, f64),
    blocks: usize,
    reference: &mut Reference,
) -> Named {
    let (mut any, mut near, mut covered, mut single) = (0.0, 0.0, 0.0, 0.0);
    let studies = count(500);
    for seed in 0..studies {
        let mut random = Normal::new(1_000_000 + seed);
        let start = blocks / 4 + (random.uniform() * (blocks / 2 + 1) as f64) as usize;
        let mut rates = mean_rates(&machine.study(blocks, seed));
        for (block, rate) in rates.iter_mut().enumerate() {
            *rate += match course {
                Course::Still => 0.0,
                Course::Line(most) => most * block as f64 / (blocks - 1) as f64,
                Course::Step(size) => {
                    if block >= start {
                        size
                    } else {
                        0.0
                    }
                }
                Course::Visit(size) => {
                    if (blocks / 3..2 * blocks / 3).contains(&block) {
                        size
                    } else {
                        0.0
                    }
                }
            };
            *rate += if random.uniform() < disturbed { 0.88f64.ln() } else { 0.0 };
        }
        let changes = change_points(&rates, ALPHA, reference);
        let Some(first) = changes.first() else { continue };
        any += 1.0;
        let places = match course {
            Course::Visit(_) => vec![blocks / 3, 2 * blocks / 3],
            _ => vec![start],
        };
        near += f64::from(u8::from(places.iter().any(|place| first.at.abs_diff(*place) <= 1)));
        if let (Course::Step(size), [_]) = (course, changes.as_slice()) {
            let step = &levels(&rates, &changes, ALPHA).unwrap().steps[0];
            single += 1.0;
            covered += f64::from(u8::from(step.low <= size && size <= step.high));
        }
    }
    Named {
        any: any / studies as f64,
        near: near / studies as f64,
        covered: (single > 0.0).then(|| covered / single),
    }
}

/// A and A′ alone. The noise of slices is independent, and would hide some of the correlation.
fn alone(ar1: f64) -> Machine {
    let slice_sd = if ar1 > 0.0 { 0.002 } else { QUIET.slice_sd };
    Machine { ar1, slice_sd, ..QUIET }
}

/// ln of the baseline's rate by block, the mean of A's and A′'s.
fn mean_rates(study: &[Vec<Vec<Work>>]) -> Vec<f64> {
    let log = |rounds: &[Work]| {
        let sum = rounds.iter().fold(Work::default(), |sum, done| sum.and(done));
        sum.rows_per_s().unwrap().ln()
    };
    study.iter().map(|block| (log(&block[0]) + log(&block[1])) / 2.0).collect()
}

#[test]
#[ignore = "laboratory: simulations"]
fn no_change_is_named_where_there_is_none() {
    let mut reference = Reference::default();
    let heavy = Machine { stalls: 0.02, ..alone(0.0) };
    for (name, machine, course, disturbed, most) in [
        ("independent", alone(0.0), Course::Still, 0.0, 0.05),
        ("AR(1) 0.3", alone(0.3), Course::Still, 0.0, 0.05),
        // More correlation than so few blocks show.
        ("AR(1) 0.6", alone(0.6), Course::Still, 0.0, 0.08),
        ("10% of blocks 12% slower", alone(0.0), Course::Still, 0.1, 0.05),
        ("10% of blocks 12% slower, AR(1) 0.3", alone(0.3), Course::Still, 0.1, 0.05),
        ("2% of slices stall", heavy, Course::Still, 0.0, 0.05),
        ("drift of 10% over the study", alone(0.0), Course::Line(0.1), 0.0, 0.05),
        ("drift of 10%, AR(1) 0.3", alone(0.3), Course::Line(0.1), 0.0, 0.05),
    ] {
        for blocks in [8, 16, 32, 64] {
            let named = named(&machine, (course, disturbed), blocks, &mut reference);
            println!("A's rate, {name}, {blocks} blocks: a change is named in {:.1}%", 100.0 * named.any);
            assert!(named.any <= most, "{name} {blocks}: {}", named.any);
        }
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn changes_are_named_where_they_are() {
    let mut reference = Reference::default();
    for (name, course, ar1) in [
        ("a step of 5%", Course::Step(-0.05), 0.0),
        ("a step of 10%", Course::Step(-0.1), 0.0),
        ("a step of 5%, AR(1) 0.3", Course::Step(-0.05), 0.3),
        ("a step of 10%, AR(1) 0.3", Course::Step(-0.1), 0.3),
        ("10% slower in the middle third", Course::Visit(-0.1), 0.0),
    ] {
        for blocks in [8, 16, 32, 64] {
            let named = named(&alone(ar1), (course, 0.0), blocks, &mut reference);
            println!(
                "A's rate, {name}, {blocks} blocks: named in {:.1}%, within a block of its place in {:.1}%{}",
                100.0 * named.any,
                100.0 * named.near,
                named
                    .covered
                    .map_or(String::new(), |share| format!("; {:.1}% of intervals cover", 100.0 * share))
            );
            // At 8 blocks a step of a quarter of them is too short for a level.
            assert!(blocks < 32 || named.near >= 0.9, "{name} {blocks}: {}", named.near);
            assert!(named.covered.is_none_or(|share| share >= 0.95), "{name} {blocks}: {:?}", named.covered);
        }
    }
}
