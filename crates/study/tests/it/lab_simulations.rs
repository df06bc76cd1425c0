//! Models of looks that take longer than the suite.

use crate::looks::one_core_is_right_at;

#[test]
#[ignore = "laboratory: simulations"]
fn one_core_is_hardly_ever_said_where_there_were_two() {
    one_core_is_right_at(&[0.0015, 0.01, 0.06, 0.25, 0.5]);
}
