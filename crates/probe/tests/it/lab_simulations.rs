//! Models too large for the suite.

use crate::latency::inferred_is_full;
use crate::siblings::{nasty_neighbours, table};

#[test]
#[ignore = "laboratory: simulations"]
fn seven_hundred_sixty_eight_logical_cpus() {
    table(768, 1);
}

#[test]
#[ignore = "laboratory: simulations"]
fn nasty_neighbours_never_make_one_core_of_two_nor_two_of_one() {
    nasty_neighbours(1500, 500);
}

#[test]
#[ignore = "laboratory: simulations"]
fn inference_equals_the_full_matrix_of_seven_hundred_sixty_eight_logical_cpus() {
    inferred_is_full(&[(2, 12, 16, 2)]);
}
