//! Verdicts of small studies, as a reader sees them.

use super::*;
use crate::fixtures::{comparison, cpu_times, latency, machine, run, study};
use crate::{Facts, Finding, FindingKind, analyse_on, kinds, plain_verdict, verdict};
use threadwise_machine::Topology;
use threadwise_study::engine::Properties;
use threadwise_study::{OptionValue, Run, RunStatus, Study};

mod activity;
mod looks;
mod own;
mod probed;
mod quota;
mod yields;

/// Rows of a slice in a block: A wobbles by ±0.2%, and so does everything else, out of step.
fn wobble(rows: f64, block: u32, salt: u32) -> u64 {
    let step = f64::from((block * 7 + salt * 5) % 9) - 4.0;
    (rows * (1.0 + 0.0005 * step)).round() as u64
}

/// `blocks` blocks of two rounds in which each treatment does its ratio of 100,000 rows.
fn runs(blocks: u32, ratios: &[(&str, f64)]) -> Vec<Run> {
    let mut all = Vec::new();
    for block in 0..blocks {
        for (salt, (name, ratio)) in [("A", 1.0), ("A'", 1.0)].iter().chain(ratios).enumerate() {
            let rows = wobble(100_000.0 * ratio, block, salt as u32);
            all.push(run(block, name, &[rows, rows]));
        }
    }
    all
}

/// Gives every run of a treatment latencies: a median and a tail.
fn with_latency(runs: &mut [Run], treatment: &str, p50_ns: u64, p99_ns: u64) {
    for run in runs.iter_mut().filter(|run| run.treatment == treatment) {
        let wobble = u64::from(run.block % 3) * p99_ns / 200;
        for slice in &mut run.slices {
            slice.sessions[0].latency = latency(300, &[p50_ns, p50_ns, p50_ns, p99_ns + wobble]);
        }
    }
}

fn texts(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(Finding::text).collect()
}

fn of_kind(findings: &[Finding], kind: FindingKind) -> String {
    let found = findings.iter().find(|finding| finding.kind == kind);
    found.map_or_else(|| panic!("no {kind:?} in {findings:#?}"), Finding::text)
}

/// The small machine: two logical CPUs, no siblings, a sweep of 1, 2, 3.
fn small_study() -> (Study, Vec<Run>) {
    let mut study = study(&[""], &["O one-cpu 2", "P same-package 2", "S3 spread:2 3"]);
    study.comparisons.push(comparison("S3", &["P"], "sweep-step"));
    study.left_out = vec!["same-core: no SMT".to_owned(), "cross-package: one package".to_owned()];
    let mut runs = runs(8, &[("O", 1.0), ("P", 1.94), ("S3", 1.941)]);
    for (name, p50, p99) in [("A", 2000, 3000), ("A'", 2000, 3000), ("P", 2100, 3200), ("S3", 2200, 5120)] {
        with_latency(&mut runs, name, p50, p99);
    }
    (study, runs)
}

#[test]
fn a_small_guest_without_siblings() {
    let (study, runs) = small_study();
    let mut topology = machine(1, 2, 1);
    topology.identity.hypervisor = Some("KVM".to_owned());
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let findings = plain_verdict(&study, &topology, &analysis);
    assert_eq!(
        texts(&findings),
        [
            "Busy sessions to run: two (up to three do as much), the fewest that are shown to be within 3% of the best of one to three; 1.94x [1.94, 1.94] of one.",
            "Two sessions on two cores do 1.94x [1.94, 1.94] one session's reads.",
            "Three sessions add nothing to two (1.00x [1.00, 1.00], the same within 3%; 1.94x [1.94, 1.95] of one alone); each waits longer: p99 +60% [60, 60]. Intervals here are adjusted for all comparisons.",
            "SMT yield: not measurable here (no core is declared with two logical CPUs, but a hypervisor may hide siblings); that does not mean none.",
            "KVM guest, declared as 2 logical CPUs on 2 cores of 1 package, SMT undeclared, 1 NUMA node.",
            "Trust: noise floor ±0.2%; 8 blocks; no steal seen; enough to decide ±3% with this noise.",
            "Scope: engine sqlite, workload logical-io, reads are rows read from the engine's cache, no writes. Left out: same-core and cross-package.",
        ]
    );
    let sweep = findings.iter().find(|finding| finding.kind == FindingKind::Sweep).unwrap();
    assert_eq!(sweep.evidence, ["P : A+A'", "S3 : A+A'", "S3 : P"]);
}

#[test]
fn siblings_cost_each_session_something() {
    let mut study = study(&["data=l2", "data=memory"], &["O one-cpu 2", "C same-core 2", "P same-package 2"]);
    for group in ["data=l2", "data=memory"] {
        study.comparisons.push(comparison(&format!("C/{group}"), &[&format!("O/{group}")], "smt-yield"));
    }
    let mut all = Vec::new();
    for (group, yielded) in [("data=l2", 1.0), ("data=memory", 1.27)] {
        for mut one in runs(8, &[("O", 1.0), ("C", yielded), ("P", 1.9)]) {
            if one.treatment == "C" {
                one.slices
                    .iter_mut()
                    .for_each(|slice| slice.sessions[0].cpu_ns = slice.sessions[0].cpu_ns * 157 / 100);
            }
            one.treatment = format!("{}/{group}", one.treatment);
            all.push(one);
        }
    }
    let topology = machine(1, 8, 2);
    let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &all, 1.0));
    assert_eq!(
        of_kind(&findings, FindingKind::Machine),
        "Declared as 1 package x 8 cores x 2 threads, SMT on, 1 NUMA node."
    );
    assert_eq!(
        of_kind(&findings, FindingKind::SmtYield),
        "SMT yield, two sessions on a core's two siblings against the same two on one of them: \
         1.00x [1.00, 1.00], the same within 3% inside L2; 1.27x [1.27, 1.27] beyond the LLC. \
         Each session against one alone: 0.50x [0.50, 0.50], CPU per read +57% [57, 57] inside L2; \
         0.63x [0.63, 0.64], CPU per read +57% [57, 57] beyond the LLC."
    );
    assert_eq!(
        of_kind(&findings, FindingKind::Capacity),
        "With one sibling of each core busy, \"50% busy\" is: no yield is shown on one core, so the capacity left is unknown inside L2; 79% [79, 79] of what one core did beyond the LLC."
    );
    assert!(of_kind(&findings, FindingKind::Scope).contains("data inside L2 and beyond the LLC"));
    assert!(of_kind(&findings, FindingKind::Scope).ends_with("Next: `threadwise run session-sweep`."));
}

#[test]
fn a_sweep_over_siblings_tells_latency_from_throughput() {
    let mut study = study(&[""], &["S2 spread:2 2", "S4 spread:4 4", "S8 spread:8 8", "S10 spread:8 10"]);
    for (top, below) in [("S4", "S2"), ("S8", "S4"), ("S10", "S8")] {
        study.comparisons.push(comparison(top, &[below], "sweep-step"));
    }
    let mut all = runs(8, &[("S2", 1.95), ("S4", 3.8), ("S8", 4.7), ("S10", 4.6)]);
    for (name, p99) in [("A", 3000), ("A'", 3000), ("S2", 3000), ("S4", 3030), ("S8", 4848), ("S10", 9000)] {
        with_latency(&mut all, name, 2000, p99);
    }
    let topology = machine(1, 4, 2);
    let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &all, 1.0));
    assert_eq!(
        of_kind(&findings, FindingKind::Scaling),
        "Two sessions on two cores do 1.95x [1.95, 1.96] one session's reads."
    );
    assert!(of_kind(&findings, FindingKind::Sweep).starts_with(
        "Ten sessions add nothing to eight (0.98x [0.98, 0.98], a difference of less than 3%; 4.60x"
    ));
    assert_eq!(
        of_kind(&findings, FindingKind::Advice),
        "Busy sessions to run: eight (up to ten do as much), the fewest that are shown to be within 3% of the best of one to ten; 4.70x [4.69, 4.71] of one; \
         for latency four (p99 +60% [60, 60]); from ten on p99 is over twice that of one: 3.00x [3.00, 3.00]."
    );
    assert_eq!(
        of_kind(&findings, FindingKind::Capacity),
        "With one sibling of each core busy, \"50% busy\" is: 81% [81, 81] of what all cores did."
    );
    assert_eq!(
        of_kind(&findings, FindingKind::NotMeasurable),
        "SMT yield: not part of this study, although the machine has cores with siblings."
    );
}

#[test]
fn a_sweep_that_ends_too_early_asks_for_more() {
    let mut study = study(&[""], &["S2 spread:2 2", "S4 spread:4 4"]);
    study.comparisons.push(comparison("S4", &["S2"], "sweep-step"));
    let topology = machine(1, 4, 1);
    let all = runs(8, &[("S2", 1.95), ("S4", 3.8)]);
    let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &all, 1.0));
    assert_eq!(
        of_kind(&findings, FindingKind::Sweep),
        "Throughput still grows at four sessions (3.80x [3.79, 3.81] of one), the largest number tested. \
         Intervals here are adjusted for all comparisons."
    );
    assert_eq!(
        of_kind(&findings, FindingKind::Advice),
        "Busy sessions to run: four or more, the largest number tested; 3.80x [3.79, 3.81] of one; more may do more, \
         so that there is no line to paste: measure with `--sessions 4,8`."
    );
}

#[test]
fn a_sweep_of_one_group_names_it_and_may_pass_through_a_named_placement() {
    let mut study = study(&["data=l2", "data=memory"], &["X cross-package 2", "S3 spread:2 3"]);
    study.treatments.retain(|t| t.name != "S3/data=l2");
    study.comparisons.retain(|c| c.treatment != "S3/data=l2");
    study.comparisons.push(comparison("S3/data=memory", &["X/data=memory"], "sweep-step"));
    let mut all = Vec::new();
    for group in ["data=l2", "data=memory"] {
        for mut one in runs(8, &[("X", 1.9), ("S3", 1.9)]) {
            one.treatment = format!("{}/{group}", one.treatment);
            all.push(one);
        }
    }
    all.retain(|run| run.treatment != "S3/data=l2");
    let topology = machine(2, 1, 1);
    let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &all, 1.0));
    assert!(
        of_kind(&findings, FindingKind::Sweep)
            .starts_with("Three sessions beyond the LLC add nothing to two (1.00x"),
        "{findings:?}"
    );
    assert_eq!(
        of_kind(&findings, FindingKind::Advice),
        "Busy sessions to run beyond the LLC: two (up to three do as much), the fewest that are shown to be within 3% of the best of one to three; \
         1.90x [1.90, 1.90] of one."
    );
}

#[test]
fn two_packages() {
    let mut study = study(&[""], &["P same-package 2", "X cross-package 2"]);
    study.comparisons.push(comparison("X", &["P"], "packages"));
    let topology = machine(2, 2, 1);
    let all = runs(8, &[("P", 1.95), ("X", 1.951)]);
    let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &all, 1.0));
    assert_eq!(
        of_kind(&findings, FindingKind::Packages),
        "Two sessions on two packages against two cores of one: 1.00x [1.00, 1.00], the same within 3%. \
         Fewer NUMA nodes than packages are declared, so this says nothing about local and remote memory."
    );
}

#[test]
fn that_most_blocks_are_flagged_says_what_that_means() {
    let study = study(&[""], &["P same-package 2"]);
    let said = |flagged: u32| {
        let mut all = runs(12, &[("P", 1.95)]);
        for one in all.iter_mut().filter(|run| run.block < flagged) {
            one.slices[0].cpu_times = vec![cpu_times(0, 90, 4)];
        }
        let topology = machine(1, 2, 1);
        let analysis = analyse_on(&study, Some(&topology), &all, 1.0);
        of_kind(&plain_verdict(&study, &topology, &analysis), FindingKind::Trust)
    };
    assert!(
        said(6).contains("; 6 blocks flagged (steal above 1%): trust ratios, not rates; enough"),
        "{}",
        said(6)
    );
    for (flagged, which) in [
        (
            7,
            "7 of 12 blocks flagged (steal above 1%): trust ratios, not rates; the report has ratios of the other 5",
        ),
        (
            9,
            "9 of 12 blocks flagged (steal above 1%): trust ratios, not rates; the other 3 are too few to compare",
        ),
        (
            11,
            "11 of 12 blocks flagged (steal above 1%): trust ratios, not rates; the other one is too few to compare",
        ),
        (12, "all blocks flagged (steal above 1%): trust ratios, not rates"),
    ] {
        assert!(said(flagged).contains(&format!("; {which}; enough to decide")), "{}", said(flagged));
    }
}

#[test]
fn trust_tells_what_disturbed_and_what_is_open() {
    let study = study(&[""], &["P same-package 2"]);
    let mut all = runs(9, &[]);
    for block in 0..9 {
        let ratio = if block % 2 == 0 { 1.7 } else { 2.1 };
        all.push(run(block, "P", &[(100_000.0 * ratio) as u64]));
    }
    for one in all.iter_mut().filter(|run| run.block == 3) {
        one.slices[0].cpu_times = vec![cpu_times(0, 90, 4), cpu_times(1, 30, 0)];
    }
    all[0].status = RunStatus::Failed { kind: "crash".to_owned(), message: "worker ended".to_owned() };
    let topology = machine(1, 2, 1);
    let analysis = analyse_on(&study, Some(&topology), &all, 1.0);
    let findings = plain_verdict(&study, &topology, &analysis);
    assert_eq!(
        of_kind(&findings, FindingKind::Trust),
        "Trust: noise floor ±0.2%; 8 blocks, 1 run failed, 2 runs excluded; steal 4.0%, at most 4.0% in a block; \
         other CPUs were busy 30%; 1 block flagged (steal above 1% or CPUs that the study left free busy above 10%): \
         trust ratios, not rates; enough to decide ±14% with this noise; ±3% needs 127 blocks (P : A+A'). Left out: \
         block 0: baseline A failed (crash: worker ended)."
    );
    assert_eq!(
        findings[0].text(),
        "Validity: of 27 runs 1 failed and 2 were left out, more than a tenth. The rest is based on the other runs."
    );
    assert_eq!(
        of_kind(&findings, FindingKind::Scaling),
        "Two sessions on two cores do 1.89x [1.69, 2.12] one session's reads.",
        "wide, and beyond the margin all the same"
    );
}

#[test]
fn nothing_can_be_said() {
    let (study, mut runs) = small_study();
    let topology = machine(1, 2, 1);
    let verdict_text = |runs: &[Run]| {
        let analysis = analyse_on(&study, Some(&topology), runs, 1.0);
        let findings = plain_verdict(&study, &topology, &analysis);
        assert_eq!(
            findings.iter().map(|f| f.kind).collect::<Vec<_>>(),
            [FindingKind::Nothing, FindingKind::Machine, FindingKind::Scope]
        );
        findings[0].text()
    };
    assert_eq!(verdict_text(&[]), "Nothing can be said: no run is finished.");
    for one in runs.iter_mut().filter(|run| run.treatment == "A") {
        one.status = RunStatus::Invalid { kind: "lost-pin".to_owned(), message: "mask was 0-1".to_owned() };
    }
    assert_eq!(
        verdict_text(&runs),
        "Nothing can be said: no block has a usable baseline (0 runs failed, 40 left out). \
         Left out: block 0: baseline A invalid (lost-pin: mask was 0-1); \
         block 1: baseline A invalid (lost-pin: mask was 0-1); \
         block 2: baseline A invalid (lost-pin: mask was 0-1); and 5 more."
    );
}

#[test]
fn one_block_has_values_and_no_claims() {
    let (study, runs) = small_study();
    let first: Vec<Run> = runs.into_iter().filter(|run| run.block == 0).collect();
    let topology = machine(1, 2, 1);
    let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &first, 1.0));
    assert_eq!(
        of_kind(&findings, FindingKind::Scaling),
        "Reads of two sessions on two cores against one session alone: 1.94x (1 block, no interval)."
    );
    let trust = of_kind(&findings, FindingKind::Trust);
    assert!(
        trust.starts_with("Trust: noise floor unknown; 1 block, fewer than the 8 that a study needs"),
        "{trust}"
    );
    assert!(findings.iter().all(|f| !f.text().contains("inf") && !f.text().contains("NaN")), "{findings:?}");
}

#[test]
fn a_model_is_called_a_model_first() {
    let (mut study, runs) = small_study();
    study.engine_properties = Some(Properties { simulated: true, ..Properties::default() });
    let topology = machine(1, 2, 1);
    let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &runs, 1.0));
    assert_eq!(findings[0].text(), "SIMULATED: from a model, not from a machine");
    assert!(
        of_kind(&findings, FindingKind::Scope)
            .ends_with("Next: `threadwise run`, on the machine that the answer is for.")
    );
}

#[test]
fn an_emulated_machine_is_called_one_first() {
    let (study, runs) = small_study();
    let mut topology = machine(1, 2, 1);
    topology.identity.hypervisor = Some("QEMU TCG".to_owned());
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let findings = plain_verdict(&study, &topology, &analysis);
    assert_eq!(findings[0].kind, FindingKind::Emulated, "{findings:#?}");
    topology.identity.hypervisor = Some("KVM".to_owned());
    let findings = plain_verdict(&study, &topology, &analysis);
    assert!(!findings.iter().any(|finding| finding.kind == FindingKind::Emulated));
}

#[test]
fn why_there_is_no_yield() {
    let study = study(&[""], &["P same-package 2"]);
    let all = runs(8, &[("P", 1.9)]);
    let verdict_text = |topology: &Topology| {
        let analysis = analyse_on(&study, Some(topology), &all, 1.0);
        of_kind(&plain_verdict(&study, topology, &analysis), FindingKind::NotMeasurable)
    };
    let mut bare = machine(1, 2, 1);
    assert!(verdict_text(&bare).contains("(no core has two logical CPUs); that does not mean none"));
    bare.identity.smt_control = Some("off".to_owned());
    assert!(verdict_text(&bare).contains("(SMT is switched off)"));
    let mut penned = machine(1, 2, 2);
    for (core, keep) in [(0usize, 0u32), (1, 2)] {
        penned.cores[core].cpus = [keep].into_iter().collect();
        penned.logical_cpus[keep as usize + 1].allowed = false;
    }
    assert!(verdict_text(&penned).contains("(the machine has siblings, but they are not allowed)"));
}

#[test]
fn updates_are_said() {
    let (mut study, runs) = small_study();
    study.treatments[0].options.insert("update_percent".to_owned(), OptionValue::Integer(20));
    let topology = machine(1, 2, 1);
    let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &runs, 1.0));
    assert!(of_kind(&findings, FindingKind::Scope).contains("with updates"));
}

#[test]
fn uneven_and_limited_machines() {
    let mut topology = machine(1, 3, 2);
    topology.cores[2].cpus = [4].into_iter().collect();
    topology.logical_cpus[5].online = false;
    topology.limits.quota_cpus = Some(1.5);
    topology.identity.cpu_model = Some("Some CPU".to_owned());
    topology.packages.clear();
    let text = machine::machine(&topology, None).text();
    assert_eq!(
        text,
        "Some CPU, declared as 5 logical CPUs on 3 cores, no package, SMT on, 1 NUMA node, 1 logical CPU offline, \
         a quota of 1.5 CPUs."
    );
}

#[test]
fn better_than_linear_is_said_and_not_explained() {
    let study = study(&[""], &["P same-package 2"]);
    let topology = machine(1, 2, 1);
    let verdict_text = |ratio: f64| {
        let all = runs(8, &[("P", ratio)]);
        let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &all, 1.0));
        of_kind(&findings, FindingKind::Scaling)
    };
    assert!(
        verdict_text(2.2).contains(" Better than linear: each session does 1.10x [1.10, 1.10] of one alone"),
        "{}",
        verdict_text(2.2)
    );
    assert!(!verdict_text(1.9).contains("Better than linear"), "{}", verdict_text(1.9));
}

#[test]
fn reads_and_inserts_lead_with_validity_or_the_answer() {
    let (study, runs) = small_study();
    crate::fixtures::assert_leads(&study, &machine(1, 2, 1), &runs, FindingKind::Advice);
    let mut inserts = study.clone();
    inserts.workload = "insert".into();
    crate::fixtures::assert_leads(&inserts, &machine(1, 2, 1), &runs, FindingKind::Advice);
    // A study that only sweeps is about the knee.
    let mut sweep = study;
    sweep.treatments.retain(|treatment| treatment.name != "O");
    sweep.comparisons.retain(|comparison| comparison.treatment != "O");
    let runs: Vec<Run> = runs.into_iter().filter(|run| run.treatment != "O").collect();
    crate::fixtures::assert_leads(&sweep, &machine(1, 2, 1), &runs, FindingKind::Advice);
}
