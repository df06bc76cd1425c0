//! Sentences of studies whose truth is known.

use crate::document::document;
use crate::fixtures::machine;
use crate::lock_gains::tests::{runs, study};
use crate::{Facts, analyse_on};
use threadwise_study::Study;

fn said(study: &Study, rate: impl Fn(&str, &str) -> f64) -> Vec<(String, String)> {
    let topology = machine(1, 2, 2);
    let analysis = analyse_on(study, Some(&topology), &runs(study, rate), 1.0);
    let document = document(&Facts::new(study, &topology, &analysis));
    let found = document.verdict.into_iter().filter(|one| one.kind.starts_with("lock-"));
    found.map(|one| (one.kind.clone(), one.line.to_string())).collect()
}

#[test]
fn the_lock_that_gains_more_is_named_first_and_cores_are_distinguished_from_threads() {
    let rate = |name: &str, lock: &str| match (name, lock) {
        ("two", "lock-free") => 1.5,
        ("half", "lock-free") => 2.0,
        ("half", _) => 1.0,
        ("all", "lock-free") => 2.0,
        _ => 1.0,
    };
    let found = said(&study(), rate);
    let [(threads, text), (cores, of_cores)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((threads.as_str(), cores.as_str()), ("lock-threads", "lock-cores"));
    assert!(text.contains("lock-free gains more than spin (r; two : A): 1.50x ["), "{text}");
    assert!(text.contains("] against 1.00x [") && text.contains("times as much"), "{text}");
    assert!(text.ends_with(" Of 8 pairs 6 show no difference."), "{text}");
    assert!(of_cores.contains("lock-free gains more than mcs (r; half : A): 2.00x ["), "{of_cores}");
    // The other way round.
    let found = said(&study(), |name, lock| if (name, lock) == ("two", "spin") { 1.5 } else { 1.0 });
    assert!(found[0].1.contains("spin gains more than lock-free (r; two : A): 1.50x ["), "{found:?}");
}

#[test]
fn no_difference_is_no_claim_and_many_are_counted() {
    let found = said(&study(), |_, _| 1.0);
    assert_eq!(found[0].1, "Gains from second threads by lock: no difference is shown.");
    let found = said(&study(), |name, lock| match (name, lock) {
        ("two" | "all", "spin") => 0.5,
        ("two" | "all", "mcs") => 0.7,
        _ => 1.0,
    });
    assert!(found[0].1.contains("; 4 more in the table."), "{found:?}");
}
