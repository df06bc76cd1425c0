//! From runs to the finding and the line of "Method and noise".

use crate::FindingKind;
use crate::Ratio;
use crate::diagnostics::QuestionAnswer;
use crate::fixtures;
use crate::{Analysis, Facts, analyse, document::document};
use threadwise_machine::Topology;
use threadwise_study::observation::ROWS_FIRST_HALF;
use threadwise_study::{Run, Study};

const ROWS: u64 = 1_000_000;

fn study() -> Study {
    fixtures::study(&[""], &["b one-cpu 2", "c same-package 2"])
}

/// Eight blocks of 20 rounds with noise of 1%, in which `b` does a share of its rate in first halves.
fn runs(study: &Study, first_share: f64) -> Vec<Run> {
    let mut all = Vec::new();
    for block in 0..8 {
        for (at, treatment) in study.treatments.iter().enumerate() {
            let mut run = fixtures::run(block, &treatment.name, &[0; 20]);
            for (round, slice) in run.slices.iter_mut().enumerate() {
                let noise = |half: usize| {
                    let at = 7919 * (block as usize * 80 + at * 20 + round) + 104_729 * half;
                    1.0 + 0.01 * (at as f64).sin()
                };
                let share = if treatment.name == "b" { first_share } else { 1.0 };
                let first = (ROWS as f64 * share * noise(0)) as u64;
                let session = &mut slice.sessions[0];
                session.rows = first + (ROWS as f64 * noise(1)) as u64;
                session.counters.insert(ROWS_FIRST_HALF.to_owned(), first);
            }
            all.push(run);
        }
    }
    all
}

fn found(analysis: &Analysis) -> &QuestionAnswer {
    analysis.found("halves").unwrap()
}

/// The paragraph of the method section, and the finding.
fn said(study: &Study, analysis: &Analysis) -> (String, Option<String>) {
    let topology = Topology::default();
    let facts = Facts::new(study, &topology, analysis);
    let paragraph = super::paragraph(&facts, found(analysis)).unwrap().to_string();
    let found = document(&facts).verdict.into_iter().find(|finding| finding.kind == FindingKind::WarmUp);
    (paragraph, found.map(|finding| finding.line.to_string()))
}

#[test]
fn a_slow_first_half_is_a_finding() {
    let study = study();
    let analysis = analyse(&study, &runs(&study, 0.88), 1.0);
    let halves: Vec<&Ratio> = found(&analysis).estimates.iter().map(|one| &one.ratio).collect();
    let [b, c] = halves.as_slice() else { panic!("{halves:?}") };
    assert!(b.is_beyond() && b.low < 1.0 / 0.88 && 1.0 / 0.88 < b.high && b.blocks == 8, "{b:?}");
    assert!(!c.is_beyond() && c.low < 1.0 && 1.0 < c.high && c.adjusted_low < c.low, "{c:?}");
    let (paragraph, finding) = said(&study, &analysis);
    let finding = finding.unwrap();
    assert!(
        finding.starts_with("Warm-up is too short for b: second halves of its slices are 14%"),
        "{finding}"
    );
    assert!(finding.contains("faster than first halves, relative to the baseline"), "{finding}");
    assert!(finding.contains("its ratio is too low by about half of that"), "{finding}");
    assert!(paragraph.contains("the largest of 2 treatments"), "{paragraph}");
    // A baseline that is slow at first shows the other way round.
    let analysis = analyse(&study, &runs(&study, 1.1), 1.0);
    let finding = said(&study, &analysis).1.unwrap();
    assert!(finding.contains("slower") && finding.contains("too high"), "{finding}");
}

#[test]
fn equal_halves_give_a_line_and_no_finding() {
    let study = study();
    let analysis = analyse(&study, &runs(&study, 1.0), 1.0);
    let (paragraph, finding) = said(&study, &analysis);
    assert_eq!(finding, None);
    assert!(paragraph.contains("no warm-up is shown to be too short"), "{paragraph}");
}

#[test]
fn what_slows_all_alike_is_no_difference() {
    let study = study();
    let mut all = runs(&study, 1.0);
    for session in all.iter_mut().flat_map(|run| &mut run.slices).flat_map(|slice| &mut slice.sessions) {
        let first = session.counters.get_mut(ROWS_FIRST_HALF).unwrap();
        (session.rows, *first) = (session.rows - *first / 2, *first / 2);
    }
    let analysis = analyse(&study, &all, 1.0);
    let halves = &found(&analysis).estimates;
    assert!(halves.iter().all(|one| !one.ratio.is_beyond() && one.ratio.low < 1.0 && one.ratio.high > 1.0));
}

#[test]
fn halves_without_a_row_were_recorded() {
    let study = study();
    let mut all = runs(&study, 1.0);
    for run in all.iter_mut().filter(|run| run.treatment == "A") {
        for slice in &mut run.slices {
            slice.sessions[0].counters.insert(ROWS_FIRST_HALF.to_owned(), 0);
        }
    }
    let analysis = analyse(&study, &all, 1.0);
    assert_eq!(
        (found(&analysis).estimates.len(), found(&analysis).gap.as_deref()),
        (0, Some(super::NO_BLOCK))
    );
    assert_eq!(said(&study, &analysis).0, "Halves of slices are not compared: no block has both.");
}

#[test]
fn what_was_not_recorded_is_said_so() {
    let mut study = study();
    let mut all = runs(&study, 0.5);
    for run in all.iter_mut().filter(|run| run.treatment == "A") {
        run.slices[3].sessions[0].counters.remove(ROWS_FIRST_HALF);
    }
    let analysis = analyse(&study, &all, 1.0);
    let halves = found(&analysis);
    assert_eq!((halves.estimates.len(), halves.gap.as_deref()), (0, Some("they were not recorded")));
    let (paragraph, finding) = said(&study, &analysis);
    assert_eq!(
        (paragraph.as_str(), finding),
        ("Halves of slices are not compared: they were not recorded.", None)
    );
    study.workload = "command".into();
    assert_eq!(analyse(&study, &[], 1.0).found("halves"), None);
}

#[test]
fn a_session_without_rows_has_none_in_either_half() {
    let mut slice = fixtures::run(0, "A", &[5]).slices.remove(0);
    assert_eq!(slice.rows_first_half(), None);
    slice.sessions[0].counters.insert(ROWS_FIRST_HALF.to_owned(), 2);
    slice.sessions.push(Default::default());
    assert_eq!(slice.rows_first_half(), Some(2));
}
