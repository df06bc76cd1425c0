//! Error rates by simulated studies: `cargo xtask lab simulations`.

pub mod coverage;
mod observed;
mod order;
mod states;

/// Few studies of each kind of noise, if the variable of `coverage::rules::count` says so.
#[test]
#[ignore = "laboratory: simulations"]
fn smoke_intervals_cover_in_all_kinds_of_noise() {
    use coverage::noise::{Machine, QUIET};
    for machine in [QUIET, Machine { ar1: 0.3, ..QUIET }, Machine { stalls: 0.02, ..QUIET }] {
        let got = coverage::intervals(&coverage::two(machine), 16, 2000);
        assert!(got.covered > 0.85, "{}", got.covered);
    }
}
