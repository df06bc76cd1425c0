//! What is reported of waits, locks, clients, fixed work and inserts.

use super::*;
use crate::FindingKind;
use threadwise_study::{Counters, Note, NoteCode};

/// Gives every run of a treatment counters of no session, with a little wobble from block to block.
fn with_counters(runs: &mut [Run], treatment: &str, named: &[(&str, u64)]) {
    for run in runs.iter_mut().filter(|run| run.treatment == treatment) {
        let block = u64::from(run.block % 3);
        for slice in &mut run.slices {
            slice.counters = named.iter().map(|(name, value)| ((*name).to_owned(), value + block)).collect();
        }
    }
}

fn insert_study() -> (Study, Vec<Run>) {
    let (mut study, runs) = small_study();
    study.workload = "insert".into();
    study.engine = "postgres".to_owned();
    (study, runs)
}

fn verdict_of(study: &Study, runs: &[Run]) -> Vec<Finding> {
    let topology = machine(1, 2, 1);
    plain_verdict(study, &topology, &analyse_on(study, Some(&topology), runs, 1.0))
}

#[test]
fn inserts_are_not_called_reads() {
    let (mut study, mut runs) = insert_study();
    let findings = verdict_of(&study, &runs);
    assert_eq!(
        of_kind(&findings, FindingKind::Scaling),
        "Two sessions on two cores do 1.94x [1.94, 1.94] one session's inserts."
    );
    assert_eq!(
        of_kind(&findings, FindingKind::Scope),
        "Scope: engine postgres, workload insert, inserts are rows of committed transactions. \
         Left out: same-core and cross-package."
    );
    assert!(findings.iter().all(|finding| !finding.text().contains("read")), "{findings:#?}");
    for treatment in &mut study.treatments {
        let relaxed = OptionValue::Text("relaxed".to_owned());
        treatment.options.insert("durability".to_owned(), relaxed);
    }
    assert!(
        of_kind(&verdict_of(&study, &runs), FindingKind::Scope)
            .contains("transactions, commits do not wait for the disk.")
    );
    for run in &mut runs {
        for slice in &mut run.slices {
            slice.sessions[0].latency.clear();
            slice.sessions[0].counters.insert("client_cpu_ns".to_owned(), 1_000_000);
        }
    }
    let findings = verdict_of(&study, &runs);
    assert!(
        of_kind(&findings, FindingKind::Scope)
            .contains(", no step latencies: the loop runs inside the server."),
        "{findings:#?}"
    );
    assert!(
        of_kind(&findings, FindingKind::ClientCpu)
            .starts_with("The client's share of the CPU time was above 5% on average with 3 of 5 treatments"),
        "{findings:#?}"
    );
}

#[test]
fn a_client_that_takes_next_to_nothing_is_not_reported() {
    let (study, mut runs) = insert_study();
    for run in &mut runs {
        run.slices[0].sessions[0].counters.insert("client_cpu_ns".to_owned(), 1000);
    }
    assert!(verdict_of(&study, &runs).iter().all(|finding| finding.kind != FindingKind::ClientCpu));
}

#[test]
fn waits_are_reported_with_what_changed() {
    let (study, mut runs) = insert_study();
    let waits =
        |wal: u64| [("waits/running", 1000 - wal), ("waits/LWLock:WALWrite", wal), ("waits_sampled", 1002)];
    for (name, wal) in [("A", 100), ("A'", 100), ("O", 100), ("P", 400), ("S3", 402)] {
        with_counters(&mut runs, name, &waits(wal));
    }
    let findings = verdict_of(&study, &runs);
    let waits = findings.iter().find(|finding| finding.kind == FindingKind::Waits).unwrap();
    assert_eq!(
        waits.text(),
        "Waits, shares of samples: A most for LWLock:WALWrite 10% [10, 10], running 90% [90, 90]. \
         Against the baseline: P LWLock:WALWrite 40% [40, 40], +30 points [30, 30]; \
         S3 LWLock:WALWrite 40% [40, 40], +30 points [30, 30]. Intervals of changes hold for all 9 together."
    );
    assert_eq!(waits.evidence, ["P", "S3"], "what did not change is not reported");
}

#[test]
fn few_samples_tell_nothing() {
    let (study, mut runs) = insert_study();
    runs.retain(|run| run.block < 8);
    with_counters(&mut runs, "P", &[("waits/running", 1), ("waits_sampled", 2)]);
    runs.iter_mut().for_each(|run| run.slices.truncate(1));
    let findings = verdict_of(&study, &runs);
    assert_eq!(
        of_kind(&findings, FindingKind::Waits),
        "Waits: too few samples: at most 23 of a treatment in 8 blocks, and 100 in 2 blocks are needed."
    );
}

#[test]
fn spins_are_reported_with_the_gap_of_their_clock() {
    let (study, mut runs) = insert_study();
    for run in &mut runs {
        run.slices[0].counters.insert("spins".to_owned(), 0);
    }
    assert!(
        verdict_of(&study, &runs).iter().all(|finding| finding.kind != FindingKind::Locks),
        "no session spun"
    );
    runs.iter_mut().for_each(|run| run.slices[0].counters.clear());
    for (name, spins) in [("A", 1_000), ("A'", 1_000), ("P", 1_000_000)] {
        with_counters(&mut runs, name, &[("spins", spins)]);
    }
    assert_eq!(
        of_kind(&verdict_of(&study, &runs), FindingKind::Locks),
        "Spins per row: A 0.01001 [0.01000, 0.01002]; P 5.156 [5.151, 5.161]. Against the baseline: P 515.1x [514.3, \
         516.0]. Cycles per spin: unknown, the clock was not measured: the study has no probe."
    );
}

/// As published: spins grow 59 times, the rate falls by 43%, and spinning is a fraction of a percent of the time.
#[test]
fn spins_that_grew_and_cost_little_do_not_explain_a_loss() {
    let said = |spin_ns_share: f64| {
        let (study, mut runs) = insert_study();
        for run in &mut runs {
            let is_slow = run.treatment == "P";
            for slice in &mut run.slices {
                let window_ns = slice.window_ns;
                for session in &mut slice.sessions {
                    session.rows = if is_slow { session.rows / 4 } else { session.rows };
                    let spins = if is_slow { 59_000 } else { 4_000 };
                    let spin_ns = (spin_ns_share * window_ns as f64) as u64;
                    session.counters.insert("spins".to_owned(), spins);
                    session.counters.insert("spin_ns".to_owned(), spin_ns);
                }
            }
        }
        of_kind(&verdict_of(&study, &runs), FindingKind::Locks).to_owned()
    };
    let little = said(0.002);
    assert!(little.contains("Spins do not explain it: P spent at most 0.2"), "{little}");
    let much = said(0.3);
    assert!(!much.contains("do not explain"), "{much}");
}

#[test]
fn fixed_work_has_elapsed() {
    let (study, mut runs) = insert_study();
    for run in &mut runs {
        for slice in &mut run.slices {
            slice.sessions[0].finished_ns = Some(slice.window_ns);
        }
    }
    let findings = verdict_of(&study, &runs);
    assert_eq!(
        of_kind(&findings, FindingKind::Elapsed),
        "Fixed work, elapsed: A 1.000 s [1.000, 1.000]; O 1.000 s [1.000, 1.000]; P 1.000 s \
         [1.000, 1.000]; S3 1.000 s [1.000, 1.000]."
    );
}

#[test]
fn a_server_that_was_not_pinned_is_reported_first() {
    let (study, runs) = insert_study();
    let topology = machine(1, 2, 1);
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let notes = [
        Note::new(NoteCode::NotPlaced, "server not pinned: it runs on another machine"),
        Note::from("loaded 200000 rows"),
        Note::new(
            NoteCode::MemoryPlacedEarlier,
            "memory placed earlier: one server for the study (restart=study)",
        ),
    ];
    let noted = |notes: &[Note]| verdict(&Facts { notes, ..Facts::new(&study, &topology, &analysis) });
    let findings = noted(&notes);
    assert_eq!(
        findings[0].text(),
        "Trust: server not pinned: it runs on another machine, so placements say nothing about the server: ratios \
         between them are due to its clients or to chance. Memory placed earlier: one server for the study \
         (restart=study), so ratios show where threads run, on memory that was placed before."
    );
    assert_eq!(noted(&notes[1..2])[0].kind, FindingKind::Advice);
}

#[test]
fn nothing_is_reported_where_nothing_was_counted() {
    let (study, mut runs) = small_study();
    runs.iter_mut().flat_map(|run| &mut run.slices).for_each(|slice| slice.counters = Counters::new());
    let findings = verdict_of(&study, &runs);
    let kinds = [FindingKind::Elapsed, FindingKind::Waits, FindingKind::Locks, FindingKind::ClientCpu];
    assert!(findings.iter().all(|finding| !kinds.contains(&finding.kind)), "{findings:#?}");
}

#[test]
fn waiting_for_a_disk_is_not_half_busy() {
    let mut study = study(&[""], &["O one-cpu 2", "C same-core 2"]);
    study.comparisons.push(comparison("C", &["O"], "smt-yield"));
    let runs = |busy: u64| {
        let mut all = runs(8, &[("O", 1.0), ("C", 1.3)]);
        for run in &mut all {
            run.slices.iter_mut().for_each(|slice| slice.cpu_times = vec![cpu_times(0, busy, 0)]);
        }
        all
    };
    let topology = machine(1, 2, 2);
    let verdict_of = |study: &Study, busy: u64| {
        let findings = plain_verdict(study, &topology, &analyse_on(study, Some(&topology), &runs(busy), 1.0));
        findings.iter().any(|finding| finding.kind == FindingKind::Capacity)
    };
    assert!(verdict_of(&study, 30), "cached reads never wait");
    study.workload = "insert".into();
    assert_eq!((verdict_of(&study, 30), verdict_of(&study, 97)), (false, true));
}
