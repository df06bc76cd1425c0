//! Yields that a study gives to what counts capacity with them.

use super::*;
use crate::findings::measured_yields::measured_yields;

#[test]
fn a_sweep_gives_the_yield_of_all_cores_and_a_core_its_own() {
    let mut swept = study(&[""], &["S4 spread:4 4", "S8 spread:8 8"]);
    swept.comparisons.push(comparison("S8", &["S4"], "sweep-step"));
    let topology = machine(1, 4, 2);
    let all = runs(8, &[("S4", 3.8), ("S8", 4.75)]);
    let analysis = analyse_on(&swept, Some(&topology), &all, 1.0);
    let found = measured_yields(&Facts::new(&swept, &topology, &analysis)).unwrap();
    assert_eq!((found.len(), found[0].is_whole_machine, found[0].clocks), (1, true, None));
    assert!(
        (found[0].ratio.mean - 1.25).abs() < 0.01
            && found[0].ratio.low <= 1.25
            && found[0].ratio.high >= 1.24,
        "{found:?}"
    );

    let mut paired = study(&[""], &["O one-cpu 2", "C same-core 2"]);
    paired.comparisons.push(comparison("C", &["O"], "smt-yield"));
    let all = runs(8, &[("O", 1.0), ("C", 1.27)]);
    let analysis = analyse_on(&paired, Some(&topology), &all, 1.0);
    let found = measured_yields(&Facts::new(&paired, &topology, &analysis)).unwrap();
    assert_eq!((found.len(), found[0].is_whole_machine), (1, false));
    assert!((found[0].ratio.mean - 1.27).abs() < 0.01, "{found:?}");
}

#[test]
fn a_study_without_siblings_says_why_there_is_none() {
    let (study, runs) = small_study();
    let topology = machine(1, 2, 1);
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let why = measured_yields(&Facts::new(&study, &topology, &analysis)).unwrap_err();
    assert!(why.starts_with("SMT yield: not measurable here (no core has two logical CPUs)"), "{why}");
}
