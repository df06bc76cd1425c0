//! Verdicts and the section of studies under a CPU quota.

use super::*;
use crate::FindingKind;
use threadwise_document::Block;
use threadwise_study::{Quota, Reading};

const QUOTA: Quota = Quota { cpus: 1.5, period_ns: 100_000_000, burst_ns: 0 };

fn reading(metric: &str, value: f64) -> Reading {
    Reading {
        sampler: "quota".to_owned(),
        metric: metric.to_owned(),
        cpu: None,
        start_ns: 0,
        end_ns: 1,
        value: Some(value),
        gap: None,
    }
}

/// Two sessions on two logical CPUs, stopped in nine periods of ten for 24% of their time, and on one.
fn under_quota() -> (Study, Vec<Run>) {
    let mut study = study(&[""], &["O one-cpu 2", "P same-package 2"]);
    study.quota = Some(QUOTA);
    study.comparisons.push(comparison("P", &["O"], "quota"));
    let mut runs = runs(8, &[("O", 1.0), ("P", 1.5)]);
    for run in &mut runs {
        let is_beyond = run.treatment == "P";
        run.cpus = if is_beyond { vec![0, 1] } else { vec![0] };
        let (periods, stopped_ns) = if is_beyond { (9.0, 0.48e9) } else { (0.0, 0.0) };
        run.readings.extend([
            reading("throttled_periods", periods),
            reading("throttled_ns", stopped_ns),
            reading("window_ns", 1e9),
        ]);
    }
    for (name, longest) in [("A", 1_000_000), ("A'", 1_000_000), ("O", 4_000_000), ("P", 50_000_000)] {
        with_latency(&mut runs, name, 2000, longest);
    }
    (study, runs)
}

fn verdict_of(study: &Study, runs: &[Run]) -> Vec<Finding> {
    plain_verdict(study, &machine(1, 2, 1), &analyse_on(study, Some(&machine(1, 2, 1)), runs, 1.0))
}

#[test]
fn the_answer_is_what_the_quota_holds_and_what_it_costs_beyond() {
    let (study, runs) = under_quota();
    let findings = verdict_of(&study, &runs);
    assert_eq!(
        (findings[0].kind, findings[1].kind),
        (FindingKind::Advice, FindingKind::Quota),
        "{findings:#?}"
    );
    let text = of_kind(&findings, FindingKind::Quota);
    let wanted = "The quota of 1.5 CPUs holds one session that is always busy; rates of more show the quota, not the \
                  hardware. Above it, P (two sessions) was stopped in 90% [90, 90] of the periods, for 24% [24, 24] \
                  of the time of its logical CPUs; its longest step took 50";
    assert!(text.starts_with(wanted), "{text}");
    assert!(text.contains("that of A 1.0"), "{text}");
    let whole = "Its rate against the same sessions on one whole CPU (O), which were never stopped: 1.50x";
    assert!(text.contains(whole), "{text}");
    assert!(!findings.iter().any(|finding| finding.kind == FindingKind::Asked), "said once");
}

#[test]
fn a_quota_of_less_than_one_cpu_holds_nobody_and_a_whole_one_leaves_one_free() {
    let (mut study, runs) = under_quota();
    let mut holds = |cpus: f64| {
        study.quota = Some(Quota { cpus, ..QUOTA });
        of_kind(&verdict_of(&study, &runs), FindingKind::Quota).split(';').next().unwrap().to_owned()
    };
    assert_eq!(holds(0.5), "The quota of 0.5 CPUs holds no session that is always busy");
    assert_eq!(holds(1.0), "The quota of 1 CPU holds no session that is always busy");
    assert_eq!(holds(4.0), "The quota of 4 CPUs holds three sessions that are always busy");
}

#[test]
fn whole_cpus_that_a_whole_quota_stopped_are_not_called_free_of_it() {
    let (mut study, mut runs) = under_quota();
    study.quota = Some(Quota { cpus: 1.0, ..QUOTA });
    let one_cpu = runs.iter_mut().filter(|run| run.treatment == "O").flat_map(|run| &mut run.readings);
    let periods = one_cpu.filter(|reading| reading.metric == "throttled_periods");
    periods.for_each(|reading| reading.value = Some(2.0));
    // The verdict is about the one with the fewest sessions.
    study.treatments.iter_mut().filter(|one| one.name == "O").for_each(|one| one.sessions = 3);
    let text = of_kind(&verdict_of(&study, &runs), FindingKind::Quota);
    assert!(text.contains("(O), which were stopped in 20% [20, 20] of the periods: 1.50x"), "{text}");
}

#[test]
fn without_a_quota_there_is_no_word_of_one() {
    let (mut study, runs) = under_quota();
    study.quota = None;
    let analysis = analyse_on(&study, Some(&machine(1, 2, 1)), &runs, 1.0);
    assert!(!analysis.treatments[3].metrics.contains_key("throttled_share"));
    let topology = machine(1, 2, 1);
    let document = crate::document(&Facts::new(&study, &topology, &analysis));
    assert!(document.section("quota").is_none());
    assert!(!document.verdict.iter().any(|finding| finding.kind == FindingKind::Quota));
}

#[test]
fn the_section_has_every_treatment_and_says_how_it_was_measured() {
    let (mut study, runs) = under_quota();
    study.quota = Some(Quota { burst_ns: 50_000_000, ..QUOTA });
    let (topology, design) = (machine(1, 2, 1), &mut study.design);
    (design.slice_ns, design.rewarm_ns) = (1_000_000_000, Some(200_000_000));
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let document = crate::document(&Facts::new(&study, &topology, &analysis));
    let section = document.section("quota").unwrap();
    let [Block::Text(about, _), Block::Table(table)] = &section.blocks[..] else { panic!("{section:#?}") };
    let about = about.to_string();
    assert!(about.contains("50.0 ms of CPU time may be saved up"), "{about}");
    assert!(about.contains("Slices are 10 periods long; before each nothing runs for 3 periods"), "{about}");
    assert_eq!(table.cells().count(), 4);
}
