//! Verdicts of studies that a user wrote or that went badly.

use super::*;
use crate::FindingKind;
use threadwise_machine::Pin;

fn verdict_of(study: &Study, topology: &Topology, runs: &[Run]) -> Vec<Finding> {
    plain_verdict(study, topology, &analyse_on(study, Some(topology), runs, 1.0))
}

/// Two sessions on `2c1t` under the name `two` as the baseline.
fn with_own_baseline(study: &mut Study) {
    for treatment in study.treatments.iter_mut().filter(|t| t.role != threadwise_study::Role::Compared) {
        treatment.name = treatment.name.replace('A', "two");
        treatment.placement = "2c1t".parse().unwrap();
        treatment.sessions = 2;
    }
    for name in study.comparisons.iter_mut().flat_map(|comparison| &mut comparison.baseline) {
        *name = name.replace('A', "two");
    }
}

fn renamed(mut runs: Vec<Run>) -> Vec<Run> {
    runs.iter_mut().for_each(|run| run.treatment = run.treatment.replace('A', "two"));
    runs
}

/// Blocks in which a treatment's ratio goes up and down by this factor.
fn noisy(name: &str, ratio: f64, factor: f64) -> Vec<Run> {
    let of_block = |block: u32| if block.is_multiple_of(2) { ratio / factor } else { ratio * factor };
    (0..8).map(|block| run(block, name, &[(100_000.0 * of_block(block)) as u64])).collect()
}

#[test]
fn a_baseline_of_its_own_is_named() {
    let mut study = study(&[""], &["O one-cpu 2", "P same-package 2", "C same-core 2", "S4 spread:4 4"]);
    study.comparisons.push(comparison("C", &["O"], "smt-yield"));
    with_own_baseline(&mut study);
    let all = renamed(runs(8, &[("O", 0.5), ("P", 1.01), ("C", 0.6), ("S4", 1.9)]));
    let findings = verdict_of(&study, &machine(1, 4, 2), &all);
    assert_eq!(
        of_kind(&findings, FindingKind::Scaling),
        "Reads of two sessions on two cores against two (2 sessions on 2c1t): 1.01x [1.01, 1.01], a difference of less than 3%."
    );
    assert_eq!(
        of_kind(&findings, FindingKind::OneCpu),
        "Two sessions taking turns on one logical CPU against two (2 sessions on 2c1t): 0.50x [0.50, 0.50]."
    );
    assert!(
        of_kind(&findings, FindingKind::SmtYield)
            .contains("Each session against each of two (2 sessions on 2c1t): 0.60x"),
        "{findings:#?}"
    );
    assert!(findings.iter().all(|finding| !finding.text().contains("alone")), "{findings:#?}");
}

#[test]
fn a_sweep_past_a_baseline_of_two_sessions() {
    let mut study = study(&[""], &["S1 spread:1 1", "S4 spread:4 4"]);
    with_own_baseline(&mut study);
    study.comparisons.push(comparison("two", &["S1"], "sweep-step"));
    let all = renamed(runs(8, &[("S1", 0.5), ("S4", 1.9)]));
    let findings = verdict_of(&study, &machine(1, 4, 1), &all);
    assert_eq!(
        of_kind(&findings, FindingKind::Sweep),
        "Throughput still grows at four sessions (1.90x [1.90, 1.90] of two (2 sessions on 2c1t)), the largest number tested. \
         Intervals here are adjusted for all comparisons."
    );
}

#[test]
fn an_inconclusive_step_decides_nothing() {
    let mut study = study(&[""], &["P same-package 2", "S3 spread:2 3"]);
    study.comparisons.push(comparison("S3", &["P"], "sweep-step"));
    let mut all = runs(8, &[]);
    all.extend(noisy("P", 1.63, 2.5));
    all.extend(noisy("S3", 1.63, 2.5));
    let findings = verdict_of(&study, &machine(1, 2, 1), &all);
    assert_eq!(
        of_kind(&findings, FindingKind::Sweep),
        "Whether two sessions do more than one is not decided (1.63x [0.46, 5.74], undecided). \
         Intervals here are adjusted for all comparisons."
    );
    assert_eq!(
        of_kind(&findings, FindingKind::Advice),
        "Not enough data to show how many busy sessions to run: best guess two, probability 90% that it is within 3% of the best; \
         if it is not, 20% less on average."
    );
}

#[test]
fn comparisons_that_were_asked_for_are_reported() {
    let mut study = study(&[""], &["X 2c1t 2", "Y 2c1t 2"]);
    study.comparisons.push(comparison("X", &["Y"], "named"));
    let all = runs(8, &[("X", 1.9), ("Y", 1.0)]);
    let findings = verdict_of(&study, &machine(1, 2, 1), &all);
    assert_eq!(of_kind(&findings, FindingKind::Asked), "As asked: X : Y: 1.90x [1.89, 1.91].");
    for number in 0..7 {
        let mut more = comparison("Y", &["X"], "mine");
        more.name = format!("Y{number}");
        study.comparisons.push(more);
    }
    let findings = verdict_of(&study, &machine(1, 2, 1), &all);
    assert!(
        of_kind(&findings, FindingKind::Asked).ends_with("Y4: 0.53x [0.52, 0.53]; and 2 more."),
        "{findings:#?}"
    );
}

#[test]
fn own_treatments_go_by_their_names() {
    let lines = ["W 2c1t 2", "2c1t 2c1t 2", "P same-package 2", "F same-package 2", "X 2c1t 2", "Y 2c1t 2"];
    let mut study = study(&["data=l2", "data=memory"], &lines);
    study.treatments.iter_mut().filter(|t| t.name.starts_with('F')).for_each(|t| t.pin = Pin::Set);
    let ratios: Vec<(&str, f64)> = lines.iter().map(|line| (line.split(' ').next().unwrap(), 1.7)).collect();
    let mut all = Vec::new();
    for group in ["data=l2", "data=memory"] {
        for mut one in runs(8, &ratios) {
            one.treatment = format!("{}/{group}", one.treatment);
            all.push(one);
        }
    }
    let findings = verdict_of(&study, &machine(1, 2, 1), &all);
    let scaling = findings.iter().rfind(|finding| finding.kind == FindingKind::Scaling).unwrap();
    assert!(
        scaling.text().starts_with(
            "Against one session alone: W (2c1t, 2 sessions) 1.70x [1.70, 1.70], 2c1t (2 sessions) 1.70x [1.70, 1.70], \
             F (same-package, 2 sessions, pin=set) 1.70x [1.70, 1.70], X (2c1t, 2 sessions) 1.70x [1.70, 1.70], \
             and 1 more in the table inside L2; W"
        ),
        "{}",
        scaling.text()
    );
    assert_eq!(scaling.evidence.len(), 10);
}

#[test]
fn turns_on_one_logical_cpu_are_reported_where_there_is_nothing_else() {
    let study = study(&[""], &["O one-cpu 2"]);
    let findings = verdict_of(&study, &machine(1, 1, 1), &runs(8, &[("O", 1.0)]));
    assert_eq!(
        of_kind(&findings, FindingKind::OneCpu),
        "Two sessions taking turns on one logical CPU against one alone: 1.00x [1.00, 1.00], the same within 3%."
    );
}

#[test]
fn treatments_without_a_run_are_named_with_the_reason() {
    let study = study(&[""], &["P same-package 2", "W 2c1t 2", "Z 2c1t 2"]);
    let mut all = runs(8, &[("P", 1.9), ("W", 1.9)]);
    for one in all.iter_mut().filter(|run| run.treatment == "W") {
        one.status = RunStatus::Failed { kind: "crash".to_owned(), message: format!("signal {}", one.block) };
    }
    let findings = verdict_of(&study, &machine(1, 2, 1), &all);
    assert_eq!(
        findings[0].text(),
        "Validity: of 32 runs 8 failed, more than a tenth; no data for W (crash: signal 0); Z (no run is finished). \
         The rest is based on the other runs."
    );
}

#[test]
fn a_lost_baseline_is_the_reason_for_its_group() {
    let study = study(&["data=l2", "data=memory"], &["P same-package 2"]);
    let mut all = Vec::new();
    for group in ["data=l2", "data=memory"] {
        for mut one in runs(8, &[("P", 1.9)]) {
            one.treatment = format!("{}/{group}", one.treatment);
            if one.treatment == "A/data=memory" {
                let message = "hit ratio 0.2".to_owned();
                one.status = RunStatus::Invalid { kind: "not-cached".to_owned(), message };
            }
            all.push(one);
        }
    }
    let findings = verdict_of(&study, &machine(1, 2, 1), &all);
    let validity = of_kind(&findings, FindingKind::Validity);
    assert!(
        validity.contains(
            "no data for A/data=memory (not-cached: hit ratio 0.2); \
             A'/data=memory (baseline A/data=memory invalid (not-cached: hit ratio 0.2)); \
             P/data=memory (baseline A/data=memory invalid (not-cached: hit ratio 0.2))"
        ),
        "{validity}"
    );
}

#[test]
fn a_quota_is_to_be_taken_away() {
    let study = study(&[""], &["P same-package 2"]);
    let mut all = runs(8, &[("P", 1.9)]);
    let throttle = |run: &mut Run| {
        let message = "a CPU quota throttled it in 3 periods".to_owned();
        run.status = RunStatus::Invalid { kind: "throttled".to_owned(), message };
    };
    all.iter_mut().filter(|run| run.block > 2 && run.treatment != "A").for_each(throttle);
    let next = " Next: remove the CPU quota or use a cpuset.";
    let findings = verdict_of(&study, &machine(1, 2, 1), &all);
    assert!(of_kind(&findings, FindingKind::Scope).ends_with(next), "{findings:#?}");
    all.iter_mut().for_each(throttle);
    assert!(of_kind(&verdict_of(&study, &machine(1, 2, 1), &all), FindingKind::Scope).ends_with(next));
}

#[test]
fn a_floor_above_everything_is_said_in_words() {
    let study = study(&[""], &["P same-package 2"]);
    let mut all = runs(8, &[("P", 1.9)]);
    all.retain(|run| run.treatment != "A'");
    all.extend(noisy("A'", 1.0, 4.0));
    let findings = verdict_of(&study, &machine(1, 2, 1), &all);
    let trust = of_kind(&findings, FindingKind::Trust);
    assert!(
        trust.starts_with("Trust: noise floor above ±100%: no treatments can be distinguished; 8 blocks;"),
        "{trust}"
    );
}

#[test]
fn only_data_is_called_data() {
    let groups = ["data=l2,update_pct=0,work_unit=16", "data=l2,update_pct=20,work_unit=16"];
    let study = study(&groups, &["P same-package 2"]);
    let (topology, analysis) = (machine(1, 2, 1), analyse_on(&study, None, &[], 1.0));
    let scope = trust::scope(&Facts::new(&study, &topology, &analysis), kinds::of(&study), &[]);
    assert!(
        scope
            .text()
            .contains("workload logical-io, data inside L2, with update_pct=0 and 20, work_unit=16, reads"),
        "{}",
        scope.text()
    );
}
