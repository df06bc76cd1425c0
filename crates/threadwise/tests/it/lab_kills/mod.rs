//! Programs killed at many moments, and attacks on files: `cargo xtask lab kills`.

pub mod fleet_cell;
pub mod killed;
pub mod masks;
pub mod reload_root;

#[test]
#[ignore = "laboratory: kills"]
fn smoke_killed_at_three_moments() {
    killed::killed(3);
}

#[test]
#[ignore = "laboratory: kills"]
fn smoke_a_bound_server_at_six_moments() {
    masks::killed(6);
}
