//! The strip: the state of each logical CPU over the time of a study, with the speed of slices above it on the same
//! axis.
//!
//! Time is divided into columns of equal length, so that a strip of ten thousand slices has no more of them than one of
//! a hundred. A column with several states has their shares. Breaks, such as those between blocks, are cut out.

use schemars::JsonSchema;
use serde::Serialize;

/// States and speeds over time.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
pub struct Strip {
    /// Its width, including breaks.
    pub columns: u32,
    /// Time of a column, seconds.
    pub column_s: f64,
    /// Stretches of time without a break, in order.
    pub pieces: Vec<Piece>,
    /// Meaning of the numbers of states, in the order of the legend.
    pub states: Vec<StripState>,
    /// One row each: OS numbers of logical CPUs.
    pub cpus: Vec<u32>,
    /// States of rows of `cpus`.
    pub cells: Vec<StripCell>,
    /// One row each: treatments.
    pub treatments: Vec<String>,
    /// Speeds of rows of `treatments`.
    pub points: Vec<StripPoint>,
}

/// A stretch of time without a break: block, first column, columns, start and end in seconds since the study's start.
pub type Piece = (u32, u32, u32, f64, f64);

/// A state: its letter on a terminal and its name.
pub type StripState = (char, &'static str);

/// Neighbouring columns of a row with the same states: row, first column, columns, each state with its share of the
/// time.
pub type StripCell = (u32, u32, u32, Vec<(u8, f64)>);

/// Slices of a treatment in the same columns and the same state: row, their middle in columns, median of their speeds
/// over the treatment's usual one, state, how many, their block, round of a single one.
pub type StripPoint = (u32, f64, f64, u8, u32, u32, Option<u32>);

impl Strip {
    /// Time of each state in some columns of a row, in columns: one entry per state. Columns with an unknown state are
    /// left out.
    pub fn time_in(&self, row: u32, first: f64, end: f64) -> Vec<f64> {
        let mut times = vec![0.0; self.states.len()];
        for (_, from, columns, shares) in self.cells.iter().filter(|cell| cell.0 == row) {
            let (from, to) = (f64::from(*from), f64::from(from + columns));
            let both = to.min(end) - from.max(first);
            for (state, share) in shares.iter().filter(|_| both > 0.0) {
                if let Some(time) = times.get_mut(usize::from(*state)) {
                    *time += share * both;
                }
            }
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_added_up_over_cells_and_parts_of_them() {
        let strip = Strip {
            states: vec![('.', "alone"), ('1', "one core")],
            cells: vec![
                (0, 0, 4, vec![(0, 1.0)]),
                (0, 4, 1, vec![(0, 0.25), (1, 0.75)]),
                (1, 0, 9, vec![(1, 1.0)]),
            ],
            ..Strip::default()
        };
        assert_eq!(strip.time_in(0, 3.0, 8.0), [1.25, 0.75]);
        assert_eq!(strip.time_in(0, 3.5, 4.5), [0.625, 0.375]);
        assert_eq!(strip.time_in(0, 5.0, 8.0), [0.0, 0.0], "nothing is known of these columns");
        assert_eq!(strip.time_in(1, 8.0, 9.0), [0.0, 1.0]);
    }
}
