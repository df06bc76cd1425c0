//! Programs killed at many moments, and attacks on files: `cargo xtask lab kills`.

pub mod fleet_cell;
pub mod killed;
pub mod reload_root;

#[test]
#[ignore = "laboratory: kills"]
fn smoke_killed_at_three_moments() {
    killed::killed(3);
}
