//! A few simulated studies with wide limits, by fixed seeds: that intervals hold the truth and that nothing is not called
//! a difference. How often each sentence is false is known from many ([`crate::lab_simulations`]).

use crate::lab_simulations::coverage::noise::{Machine, QUIET};
use crate::lab_simulations::coverage::{intervals, said, two};

/// 400 intervals of which 95% hold the truth: fewer than 90% would come with one seed in 70,000 (binomial), were they
/// independent.
#[test]
fn intervals_cover() {
    for blocks in [8, 32] {
        let got = intervals(&two(QUIET), blocks, 200);
        assert!((0.9..1.0).contains(&got.covered) && got.width <= 1.3, "{blocks}: {}", got.covered);
    }
}

/// At most five of a hundred are said to differ where none does; 13 and more would come with one seed in 700 (binomial),
/// and these seeds are fixed.
#[test]
fn nothing_is_not_called_a_difference_nor_something_nothing() {
    let machine = Machine { effects: vec![0.0; 7], block_sd: (0.02, 0.02), ..QUIET };
    let [different, beyond, _, all_same, ..] = said(&machine, 16, 100);
    assert!(different <= 0.12 && beyond <= 0.12 && all_same > 0.2, "{different} {beyond} {all_same}");
    let machine =
        Machine { effects: vec![0.04f64.ln_1p(); 14], block_sd: (0.0, 0.0), slice_sd: 0.0645, ..QUIET };
    let [.., same, _, effect, _] = said(&machine, 8, 100);
    assert!(same <= 0.12, "{same} {effect}");
    let machine = Machine { effects: vec![0.2f64.ln_1p(); 2], ..QUIET };
    let [different, ..] = said(&machine, 16, 100);
    assert!(different > 0.9, "{different}");
}
