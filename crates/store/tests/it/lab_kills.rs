//! Attacks on files that take longer than the suite.

use crate::hostile::absurd_values;

#[test]
#[ignore = "laboratory: kills"]
fn every_number_and_text_may_be_any_absurd_one() {
    absurd_values(1);
}
