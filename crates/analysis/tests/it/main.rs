//! The tests of this crate from outside, in one program.

mod few_studies;
mod lab_simulations;
