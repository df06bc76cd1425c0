//! Where the study ran, as the verdict says it.

use crate::FindingKind;
use crate::findings::looks::looks;
use crate::looks::prevalence::Counts;
use crate::looks::states::LookState;
use crate::looks::{Coverage, Looks, StateShare, Stretches};
use threadwise_document::Interval;
use threadwise_study::Moment;

/// Of 640 slices, with shares of alone, one core, neighbour, away, not known.
fn found(shares: [f64; 5]) -> Looks {
    let share = |(state, mean): (LookState, f64)| StateShare {
        state,
        share: Interval {
            mean,
            low: (mean - 0.08).max(0.0),
            high: (mean + 0.09).min(1.0),
            unit: "share".to_owned(),
        },
    };
    let stretch =
        |state, stretches| Stretches { state, stretches, looks: 300, length_ns_p50: 1e9, length_ns_max: 4e9 };
    Looks {
        taken: Counts { before: 640, during: 0, after: 640 },
        moment: Moment::Before,
        slices_without: 0,
        cpus: vec![0, 1],
        coverage: Coverage { cpus: 2, looked_at: 2 },
        has_declared_siblings: false,
        cost_share: Some(0.004),
        took_ns_p50: 9e4,
        widths_known: true,
        siblings_ns: Some(14.5),
        deep_share: shares[2],
        lines_mislead: false,
        contradictions: 0,
        study: LookState::ALL.into_iter().zip(shares).map(share).collect(),
        stretches: vec![stretch(LookState::SameCore, 31)],
        transitions: vec![],
        treatments: vec![],
        by_cpu: vec![],
        distances: vec![],
    }
}

fn text(of_study: &Looks) -> String {
    let finding = looks(of_study, "slices");
    assert_eq!(finding.kind, FindingKind::Looks);
    finding.text()
}

#[test]
fn where_all_was_clear_that_is_all() {
    let short = "Your 2 logical CPUs had a core each in 99.8% of 640 looks before slices.";
    assert_eq!(text(&found([0.998, 0.001, 0.001, 0.0, 0.0])), short);
    assert_eq!(text(&found([1.0, 0.0, 0.0, 0.0, 0.0])), short.replace("99.8%", "100%"));
    let one = Looks { cpus: vec![3], ..found([0.995, 0.0, 0.005, 0.0, 0.0]) };
    assert_eq!(text(&one), "Logical CPU 3 had its core to itself in 99.5% of 640 looks before slices.");
}

#[test]
fn what_happened_is_told_with_its_share_and_stretches() {
    assert_eq!(
        text(&found([0.62, 0.24, 0.10, 0.03, 0.01])),
        "Your 2 logical CPUs had a core each in 62% [54, 71] of 640 looks before slices; they were on one core in 24% [16, 33], in \
         31 stretches; a neighbour was on a sibling of one or more of them in 10% [2.0, 19]; one did not run in time in 3.0% [0, 12]; the state \
         is unknown in 1.0% [0, 10]. The cores have second threads, which this system does not show and others use."
    );
    let together = Looks { cpus: (0..8).collect(), ..found([0.0, 1.0, 0.0, 0.0, 0.0]) };
    assert_eq!(
        text(&together),
        "Two or more of your 8 logical CPUs were on one core in 100% of 640 looks before slices, in 31 stretches."
    );
    let declared = Looks { has_declared_siblings: true, ..found([0.5, 0.0, 0.5, 0.0, 0.0]) };
    assert_eq!(
        text(&declared),
        "Your 2 logical CPUs ran as declared and without neighbours in 50% [42, 59] of 640 looks before slices; a neighbour was on a \
         sibling of one or more of them in 50% [42, 59]."
    );
}

#[test]
fn of_many_it_is_told_how_many_a_look_saw() {
    let coverage = Coverage { cpus: 64, looked_at: 16 };
    let many = Looks { cpus: (0..64).collect(), coverage, ..found([0.5, 0.25, 0.25, 0.0, 0.0]) };
    assert_eq!(
        text(&many),
        "The 16 of your 64 logical CPUs that each look saw had a core each in 50% [42, 59] of 640 looks before slices; \
         two or more were on one core in 25% [17, 34], in 31 stretches; a neighbour was on a sibling of one or more of them in 25% [17, 34]. \
         The cores have second threads, which this system does not show and others use."
    );
}

#[test]
fn without_widths_nothing_is_said_of_neighbours() {
    let lines_alone = Looks { widths_known: false, ..found([0.0, 0.24, 0.0, 0.0, 0.76]) };
    assert_eq!(
        text(&lines_alone),
        "Your 2 logical CPUs were on one core in 24% [16, 33] of 640 looks before slices, in 31 stretches; whether there were neighbours is unknown."
    );
    let one = Looks { widths_known: false, cpus: vec![0], ..found([0.0, 0.0, 0.0, 0.0, 1.0]) };
    assert_eq!(text(&one), "Whether there were neighbours is unknown.");
}

#[test]
fn of_long_slices_the_looks_during_them_are_told() {
    let taken = Counts { before: 40, during: 12_400, after: 40 };
    let long = Looks { taken, moment: Moment::During, ..found([0.62, 0.24, 0.10, 0.0, 0.04]) };
    assert_eq!(
        looks(&long, "runs").text(),
        "Your 2 logical CPUs had a core each in 62% [54, 71] of the runs' time (12,400 looks during the runs); they were \
         on one core in 24% [16, 33], in 31 stretches; a neighbour was on a sibling of one or more of them in 10% [2.0, 19]; the state is unknown \
         in 4.0% [0, 13]. The cores have second threads, which this system does not show and others use."
    );
    let none = Looks { taken: Counts { during: 0, ..taken }, ..long };
    assert_eq!(looks(&none, "runs").text(), "Where runs ran is unknown: no look was taken during them.");
}
