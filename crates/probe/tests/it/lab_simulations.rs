//! Models too large for the suite.

use crate::siblings::table;

#[test]
#[ignore = "laboratory: simulations"]
fn seven_hundred_sixty_eight_logical_cpus() {
    table(768, 1);
}
