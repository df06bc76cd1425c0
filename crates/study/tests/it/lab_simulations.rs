//! Models of looks that take longer than the suite.

use crate::looks::one_core_is_right_at;
use crate::looks_missing::right_without_those_that_are_missing;

#[test]
#[ignore = "laboratory: simulations"]
fn one_core_is_hardly_ever_said_where_there_were_two() {
    one_core_is_right_at(&[0.0015, 0.01, 0.06, 0.25, 0.5]);
}

#[test]
#[ignore = "laboratory: simulations"]
fn who_did_not_come_makes_nobody_a_neighbour_or_a_sibling() {
    right_without_those_that_are_missing(0..4);
}
