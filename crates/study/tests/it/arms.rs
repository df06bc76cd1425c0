//! Arms: factors that switch the machine, and phases of blocks.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::{machine, small_guest};
use std::collections::BTreeMap;
use threadwise_machine::Topology;
use threadwise_study::load::{LoadError, Overrides, StudyFile, from_toml, to_toml};
use threadwise_study::{BlockPlan, OptionValue, Study, plan_block};

fn levels(factors: &[(&str, &str)]) -> BTreeMap<String, Vec<OptionValue>> {
    let list = |levels: &str| levels.split(',').map(|level| OptionValue::Text(level.to_owned())).collect();
    factors.iter().map(|(factor, levels)| ((*factor).to_owned(), list(levels))).collect()
}

fn resolved(preset: &str, topology: &Topology, arms: &[(&str, &str)]) -> Result<Study, LoadError> {
    let overrides = Overrides { factors: levels(arms), ..Overrides::default() };
    StudyFile::preset(preset).unwrap().resolve(topology, &overrides)
}

/// Two packages of two cores of two threads; siblings are 0 and 4, 1 and 5 and so on.
fn eight() -> Topology {
    machine(2, 2, 2, Some(1 << 20), Some(8 << 20))
}

fn names(study: &Study) -> Vec<&str> {
    study.treatments.iter().map(|treatment| treatment.name.as_str()).collect()
}

/// Arms of a block's phases, by their first letters of `smt`: `m` as found, `s` system, `o` offline.
fn arms_of(plan: &BlockPlan) -> String {
    plan.phases.iter().map(|phase| &phase.arm.smt.word()[..1]).collect()
}

#[test]
fn smt_off_has_the_arms_in_which_each_treatment_can_be() {
    let study = resolved("smt-off", &eight(), &[]).unwrap();
    let wanted = [
        "alone/mask",
        "alone'/mask",
        "same-core/mask",
        "no-smt/mask",
        "all/mask",
        "alone/system",
        "alone'/system",
        "no-smt/system",
    ];
    assert_eq!(names(&study), wanted);
    let left_out = [
        "same-core with smt=system: it needs both threads of a core",
        "all with smt=system: it needs both threads of a core",
    ];
    assert_eq!(study.left_out[..2], left_out);
    let compared: Vec<String> = study
        .comparisons
        .iter()
        .filter(|one| one.kind.word().starts_with("smt-"))
        .map(|one| format!("{}: {} / {}", one.kind, one.treatment, one.baseline.join("+")))
        .collect();
    let wanted = [
        "smt-whole: all/mask / no-smt/mask",
        "smt-way: alone/system / alone/mask+alone'/mask",
        "smt-way: no-smt/system / no-smt/mask",
        "smt-off: same-core/mask / alone/system+alone'/system",
        "smt-off: all/mask / no-smt/system",
    ];
    assert_eq!(compared, wanted);
    assert!(study.switches() && study.takes_siblings());
    assert_eq!(from_toml(&to_toml(&study)).unwrap(), study);
}

#[test]
fn a_block_has_each_arm_twice_in_an_order_and_its_reverse() {
    let topology = eight();
    let study = resolved("smt-off", &topology, &[("smt", "mask,offline,system")]).unwrap();
    let mut seen = Vec::new();
    for block in 0..64 {
        let plan = plan_block(&study, &topology, block).unwrap();
        let arms = arms_of(&plan);
        assert_eq!(arms.len(), 5, "the one in the middle is entered once: {arms}");
        assert_eq!(arms, arms.chars().rev().collect::<String>());
        // Every slice of every round once, in the order that its round has within its arm.
        let mut slices: Vec<(u32, usize)> =
            plan.phases.iter().flat_map(|phase| phase.slices.clone()).collect();
        for phase in &plan.phases {
            assert!(phase.slices.iter().all(|(_, at)| study.treatments[*at].arm == phase.arm));
            let places = phase
                .slices
                .iter()
                .map(|&(round, at)| (round, plan.rounds[round as usize].iter().position(|one| *one == at)));
            assert!(places.is_sorted());
        }
        slices.sort_unstable();
        let all = (0..20).flat_map(|round| (0..study.treatments.len()).map(move |at| (round, at)));
        assert_eq!(slices, all.collect::<Vec<_>>());
        seen.push(arms);
    }
    for pair in seen.chunks(2) {
        assert_eq!(pair[0][..3], pair[1][..3].chars().rev().collect::<String>(), "ABBA over two blocks");
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 6, "each order is drawn: {seen:?}");
}

#[test]
fn a_round_of_whole_runs_has_each_arm_once() {
    let topology = eight();
    let text = "version = 1\nname = \"mine\"\nengine = \"command\"\nworkload = \"command\"\n\
        [options]\ncommand = \"true\"\n[factors]\nsmt = [\"mask\", \"system\"]\n\
        [[treatment]]\nplacement = \"no-smt\"\n";
    let study = StudyFile::parse(text, "mine.toml").unwrap().resolve(&topology, &Overrides::default());
    let study = study.unwrap();
    let arms: Vec<String> =
        (0..8).map(|block| arms_of(&plan_block(&study, &topology, block).unwrap())).collect();
    assert!(arms.chunks(2).all(|pair| pair == ["ms", "sm"] || pair == ["sm", "ms"]), "{arms:?}");
}

#[test]
fn one_thread_of_a_core_is_the_first_one_in_all_arms() {
    let topology = eight();
    let study = resolved("smt-off", &topology, &[]).unwrap();
    for block in 0..32 {
        let plan = plan_block(&study, &topology, block).unwrap();
        let cpus = |name: &str| plan.placements[study.treatment(name).unwrap().0].set().to_string();
        assert_eq!(cpus("no-smt/mask"), "0-3");
        assert_eq!(cpus("no-smt/system"), "0-3");
        assert_eq!(cpus("alone/mask"), cpus("alone/system"));
        assert_eq!(cpus("all/mask"), "0-7");
    }
    let mask = resolved("smt-off", &topology, &[("smt", "mask")]).unwrap();
    assert!(!mask.switches(), "a mask alone switches nothing");
    let both: Vec<u32> = (0..32)
        .flat_map(|block| plan_block(&mask, &topology, block).unwrap().placements[0].cpus.clone())
        .collect();
    assert!(both.iter().any(|cpu| *cpu > 3), "and draws either thread");
}

#[test]
fn clock_arms_cross_with_everything_and_are_compared_with_the_first() {
    let topology = eight();
    let arms = [("turbo", "on,off"), ("governor", "performance")];
    let study = resolved("concurrent-inserts", &topology, &arms).unwrap();
    let (_, treatment) = study.treatment("all/random,turbo=off").unwrap();
    assert_eq!(treatment.arm.to_string(), "turbo=off, governor=performance");
    assert_eq!(treatment.factors["turbo"], "off");
    assert!(!treatment.options.contains_key("turbo"), "it is no option of the workload");
    let turbo = study.comparisons.iter().find(|one| one.kind.word() == "turbo").unwrap();
    assert_eq!(turbo.name, "alone/random,turbo=off : turbo=on".replace("random", "sequential"));
    let plan = plan_block(&study, &topology, 0).unwrap();
    assert_eq!(plan.phases.len(), 3);
    assert!(!study.takes_siblings());
}

#[test]
fn levels_that_are_none_are_refused() {
    let topology = eight();
    for (arms, words) in [
        ([("smt", "forceoff")], "--smt: smt is 'forceoff'; mask, offline and system are allowed"),
        ([("turbo", "on,on")], "--turbo: level 'on' of factor 'turbo' appears twice"),
        ([("governor", "a b")], "--governor: governor is 'a b'"),
    ] {
        let why = resolved("placement", &topology, &arms).unwrap_err().to_string();
        assert!(why.contains(words), "{why}");
    }
    let text = "version = 1\nname = \"mine\"\nengine = \"sqlite\"\nworkload = \"logical-io\"\n\
        [factors]\nturbo = [true]\n[[treatment]]\nplacement = \"no-smt\"\n";
    let why = StudyFile::parse(text, "mine.toml").unwrap_err().to_string();
    assert!(why.starts_with("mine.toml:6:10: turbo is 'true'; on and off are allowed"), "{why}");
}

#[test]
fn a_sibling_that_service_threads_need_cannot_be_taken_away() {
    let topology = eight();
    let text = "version = 1\nname = \"mine\"\nengine = \"native\"\nworkload = \"log-buffer\"\n\
        [factors]\nsmt = [\"mask\", \"offline\"]\n[baseline]\nplacement = \"0\"\n\
        [[treatment]]\nplacement = \"1\"\nservice = \"5\"\n";
    let overrides = Overrides {
        engine_properties: threadwise_study::engine::Properties {
            service_threads: true,
            ..Default::default()
        },
        ..Overrides::default()
    };
    let study = StudyFile::parse(text, "mine.toml").unwrap().resolve(&topology, &overrides).unwrap();
    let why = plan_block(&study, &topology, 0).unwrap_err().to_string();
    let wanted = "treatment '1/offline' needs logical CPUs 1,5, two of which are on one core, and smt=offline leaves one";
    assert_eq!(why, wanted);
}

#[test]
fn without_siblings_nothing_but_the_arms_differs() {
    let study = resolved("smt-off", &small_guest(), &[]).unwrap();
    assert_eq!(
        names(&study),
        ["alone/mask", "alone'/mask", "no-smt/mask", "alone/system", "alone'/system", "no-smt/system"]
    );
}
