//! Inputs of findings that were fixed, and properties of every target.

use crate::random::Random;
use crate::run::{judged, limit_memory};
use crate::target::{Kind, Target};
use crate::targets::TARGETS;
use std::fs;
use std::path::Path;

#[test]
fn inputs_of_repaired_faults_do_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let mut tried = 0;
    for kind in &TARGETS {
        let Ok(entries) = fs::read_dir(folder.join(kind.name)) else { continue };
        let mut target = (kind.make)();
        limit_memory().unwrap_or_else(|why| panic!("{why}"));
        for entry in entries.map_while(Result::ok) {
            let input = fs::read(entry.path()).unwrap_or_else(|error| panic!("{:?}: {error}", entry.path()));
            let outcome = judged(&mut target, |_| input);
            assert!(outcome.is_ok(), "{:?}: {outcome:?}", entry.path());
            tried += 1;
        }
    }
    assert!(tried > 0, "no input in {}", folder.display());
}

/// One of three kinds: the laboratory has all.
#[test]
fn an_input_is_the_same_again() {
    same_again(3);
}

mod lab_simulations {
    #[test]
    #[ignore = "laboratory: simulations"]
    fn every_input_is_the_same_again() {
        super::same_again(1);
    }
}

/// For one of every `step` kinds: the same seed gives the same inputs.
fn same_again(step: usize) {
    let check = |kind: &Kind| {
        let (one, other) = ((kind.make)(), (kind.make)());
        for number in 0..5 {
            let input = |target: &Target| (target.input)(&mut Random::of(3, number));
            let (a, b) = (input(&one), input(&other));
            assert!(a == b, "{} {number}", kind.name);
        }
    };
    std::thread::scope(|scope| {
        TARGETS.chunks(TARGETS.len().div_ceil(2)).for_each(|half| {
            scope.spawn(move || half.iter().skip(step / 2).step_by(step).for_each(check));
        });
    });
}
