//! Verdicts of studies whose hardware was probed.

use super::*;
use crate::hardware::compare;
use threadwise_study::Reading;
use threadwise_study::probe::{PairSharing, Probe, Sharing, Slowdown};

fn probe(sharing: Sharing, wide: f64) -> Probe {
    let slowdown = |median| Some(Slowdown { median, low: median, high: median });
    let pair = PairSharing {
        a: 0,
        b: 1,
        sharing,
        wide: slowdown(wide),
        chain: slowdown(1.01),
        load_store: None,
        on_cpu_share: None,
        rounds_used: 30,
        rounds: 30,
        why: String::new(),
    };
    Probe { cpus: [0, 1].into_iter().collect(), pairs: vec![pair], ..Probe::default() }
}

#[test]
fn measured_stands_beside_declared() {
    let (study, runs) = small_study();
    let topology = machine(1, 2, 1);
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let text_of = |probe: &Probe| {
        let hardware = compare(&topology, probe);
        let findings =
            verdict(&Facts { hardware: Some(&hardware), ..Facts::new(&study, &topology, &analysis) });
        let machine = of_kind(&findings, FindingKind::Machine);
        (findings[0].kind, findings[0].text(), machine)
    };
    let as_declared = text_of(&probe(Sharing::DifferentCores, 1.04));
    assert_eq!(
        as_declared.2,
        "Declared as 2 logical CPUs on 2 cores of 1 package, no SMT, 1 NUMA node; \
         measured: two cores (independent adds 1.04x, dependent adds 1.01x as long together)."
    );
    assert_eq!(as_declared.0, FindingKind::Advice);
    let otherwise = text_of(&probe(Sharing::SameCore, 1.98));
    assert!(
        otherwise.2.ends_with(
            "; measured: one core (independent adds 1.98x, dependent adds 1.01x as long together)."
        )
    );
    assert_eq!(
        (otherwise.0, otherwise.1),
        (
            FindingKind::DeclaredWrongly,
            "Trust: the machine is not what it declares: CPUs 0-1 are one core, declared as two cores: independent \
             adds (WIDE) slowed 1.98x together, dependent adds (CHAIN) 1.01x. Placements are made from the \
             declaration: keep that in mind for everything below about cores and siblings."
                .to_owned()
        )
    );
    let masked = text_of(&probe(Sharing::Masked, 1.3));
    assert_eq!(masked.0, FindingKind::Advice, "no answer is no wrong declaration");
}

#[test]
fn neighbours_and_the_cost_of_telemetry_are_reported() {
    let (study, mut runs) = small_study();
    for one in &mut runs {
        let reading = |sampler: &str, metric: &str, cpu, value| Reading {
            sampler: sampler.to_owned(),
            metric: metric.to_owned(),
            cpu,
            start_ns: 0,
            end_ns: 1,
            value: Some(value),
            gap: None,
        };
        let busy = if one.block == 2 && one.treatment == "P" { 0.42 } else { 0.02 };
        one.readings = vec![
            reading("neighbour", "before_busy_share", Some(0), busy),
            reading("neighbour", "after_busy_share", Some(0), busy),
            reading("telemetry", "own_cpu_ns", None, 1e7),
            reading("telemetry", "window_ns", None, 1e9),
        ];
    }
    let topology = machine(1, 2, 1);
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let findings = plain_verdict(&study, &topology, &analysis);
    let trust = of_kind(&findings, FindingKind::Trust);
    assert!(
        trust.contains(
            "; no steal seen; the mean logical CPU had a neighbour in 3.0% of the looks of its runs, at most 42% in a run; telemetry \
             took 1.0% of one CPU; 1 block flagged (a neighbour above 10%): trust ratios, not rates;"
        ),
        "{trust}"
    );

    let busy_shares =
        runs.iter_mut().flat_map(|one| &mut one.readings).filter(|one| one.sampler == "neighbour");
    busy_shares.for_each(|reading| reading.value = Some(0.0));
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let findings = plain_verdict(&study, &topology, &analysis);
    assert!(
        of_kind(&findings, FindingKind::Trust)
            .contains("; no steal seen; no neighbour seen on the study's cores; telemetry")
    );
}
