//! Ratios of arms on made-up studies.

use super::*;
use crate::fixtures;
use std::collections::BTreeSet;
use threadwise_document::Answer;
use threadwise_study::External;

fn study() -> Study {
    let mut study = fixtures::study(&[""], &["no-smt no-smt 2", "all all 4"]);
    study.design.rounds = 1;
    study.external = Some(External {
        arms: vec!["on".to_owned(), "off".to_owned()],
        boots: 4,
        blocks: 2,
        expect: BTreeMap::new(),
        switch: BTreeMap::new(),
        session_per_cpu: BTreeSet::new(),
        optional: BTreeSet::new(),
        treatments: 4,
    });
    study
}

fn boot(number: u32, arm: &str) -> Boot {
    Boot {
        number,
        boot_id: Some(number.to_string()),
        machine_hash: Some("m".to_owned()),
        started_utc: "2026-01-01T00:00:00Z".to_owned(),
        arm: Some(arm.to_owned()),
        kernel: Some(if number < 3 { "6.1" } else { "6.2" }.to_owned()),
        microcode: None,
        smt_active: Some(arm == "on"),
        smt_control: None,
        online_cpus: Some(if arm == "on" { 4 } else { 2 }),
        engine_version: "1".to_owned(),
        instance_type: None,
        parameters: Some(String::new()),
    }
}

/// Two blocks of each boot; `all` runs with SMT on alone.
fn runs(arms: &[&str], rows: impl Fn(u32, &str) -> u64) -> (Vec<Run>, Vec<Boot>, Vec<(u32, u32)>) {
    let (mut runs, mut boots, mut of_blocks) = (Vec::new(), Vec::new(), Vec::new());
    for (number, arm) in (1..).zip(arms) {
        boots.push(boot(number, arm));
        for block in [2 * (number - 1), 2 * (number - 1) + 1] {
            of_blocks.push((block, number));
            for treatment in ["A", "A'", "no-smt", "all"] {
                if treatment != "all" || *arm == "on" {
                    runs.push(fixtures::run(block, treatment, &[rows(block, treatment)]));
                }
            }
        }
    }
    (runs, boots, of_blocks)
}

fn analysed(arms: &[&str], rows: impl Fn(u32, &str) -> u64) -> ExternalArms {
    let (runs, boots, of_blocks) = runs(arms, rows);
    super::external_arms(&study(), None, &runs, Boots { boots: &boots, of_blocks: &of_blocks }, 1.0).unwrap()
}

#[test]
fn boots_are_the_unit_and_the_fastest_of_each_arm_are_compared() {
    // Blocks of a boot differ by nothing, boots of an arm by 1%, arms by 20%; `all` is half as fast again.
    let rate = |block: u32, treatment: &str| {
        let (boot, is_off) = (block / 2, [1, 2].contains(&(block / 2)));
        let base = if is_off { 120_000 } else { 100_000 } + if boot > 1 { 1000 } else { 0 };
        if treatment == "all" { base * 3 / 2 } else { base }
    };
    let arms = analysed(&["on", "off", "off", "on"], rate);
    let named: Vec<(&str, &str, u32, u32, bool)> = arms
        .ratios
        .iter()
        .map(|one| (&*one.treatment, &*one.baseline_treatment, one.boots, one.baseline_boots, one.fastest))
        .collect();
    assert_eq!(
        named,
        [("A", "A", 2, 2, false), ("no-smt", "no-smt", 2, 2, false), ("A", "all", 2, 2, true)]
            .map(|(top, below, n, m, fastest)| (if fastest { "no-smt" } else { top }, below, n, m, fastest))
    );
    // The means of ln over two boots each.
    let wanted = ((120_000f64 * 121_000.0) / (100_000.0 * 101_000.0)).sqrt();
    let ratio = &arms.ratios[1].ratio;
    assert!((ratio.value - wanted).abs() < 1e-9 && ratio.answer == Answer::Larger, "{ratio:?}");
    assert!((arms.ratios[2].ratio.value - wanted / 1.5).abs() < 1e-5);
    // As many blocks as there are do not narrow it: of 2 and 2 boots with 1% and 0.83% the interval is that of Welch.
    let (a, b) = (1.01f64.ln(), (121.0f64 / 120.0).ln());
    let half = threadwise_statistics::welch(&[0.0, b], &[0.0, a]).unwrap().half_width(0.05);
    assert!(((ratio.high / ratio.low).ln() / 2.0 - half).abs() < 1e-9);
    assert_eq!(arms.treatments[3].absent, ["off"]);
    assert_eq!(arms.differing, ["kernel: 6.1 (boots 1, 2), 6.2 (boots 3, 4)"]);
    assert_eq!(arms.boots.iter().map(|boot| boot.blocks).collect::<Vec<_>>(), [2; 4]);
}

#[test]
fn one_boot_of_an_arm_gives_no_interval() {
    let arms = analysed(&["on", "off", "off"], |_, _| 1000);
    assert!(!arms.ratios.is_empty());
    for ratio in &arms.ratios {
        assert!(!ratio.has_interval() && !ratio.ratio.has_ends(), "{ratio:?}");
        assert_eq!(ratio.ratio.answer, Answer::Undecided);
    }
    assert!(analysed(&["on"], |_, _| 1000).ratios.is_empty());
}

#[test]
fn blocks_of_unknown_boots_are_in_no_rate() {
    let (runs, boots, mut of_blocks) =
        runs(&["on", "off", "off", "on"], |block, _| if block == 0 { 9 } else { 1000 });
    of_blocks.remove(0);
    let stored = Boots { boots: &boots, of_blocks: &of_blocks };
    let arms = super::external_arms(&study(), None, &runs, stored, 1.0).unwrap();
    assert_eq!((arms.blocks_of_unknown_boots, arms.boots[0].blocks), (1, 1));
    assert!((arms.boots[0].rates[0].rows_per_s - 1000.0).abs() < 1e-9);
    let plain = Study { external: None, ..study() };
    assert_eq!(super::external_arms(&plain, None, &runs, stored, 1.0), None);
}
