//! External arms: which definitions are right, the order of boots, and what a study is in each arm.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::{MIB, file, machine, names, small_guest, treatment};
use std::collections::BTreeMap;
use threadwise_machine::{BootFacts, Topology};
use threadwise_study::arm_study::on_machine;
use threadwise_study::external::{BootPart, Expect, External};
use threadwise_study::load::{Overrides, StudyFile, from_toml, to_toml};
use threadwise_study::{Stopping, Study};

const BODY: &str = "[options]\nblocks = 100\n[[treatment]]\nplacement = \"no-smt\"\n[[treatment]]\n\
                    placement = \"all\"\noptional = true\n[[treatment]]\nplacement = \"same-core\"\n";

/// One package of 4 cores, SMT on or off.
fn cores(threads: u32) -> Topology {
    machine(1, 4, threads, Some(MIB), Some(32 * MIB))
}

fn definition(external: &str) -> StudyFile {
    file(&format!("{BODY}{external}")).unwrap()
}

fn seeded(external: &str, topology: &Topology, seed: u64) -> Study {
    let overrides = Overrides { seed: Some(seed), ..Overrides::default() };
    definition(external).resolve(topology, &overrides).unwrap()
}

const TWO: &str = "[external]\narms = [\"on\", \"off\"]\nblocks = 3\n";

fn refusal(lines: &str) -> String {
    file(lines).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    for (external, why) in [
        ("arms = [\"on\"]", "1 arms; 2 to 4 are allowed"),
        ("arms = [\"a\", \"b\", \"a\"]", "arm 'a' appears twice"),
        ("arms = [\"a\", \"b c\"]", "arm 'b c' is not 1 to 40 letters"),
        ("arms = [\"a\", \"b\", \"c\"]\nboots = 2", "boots is 2, and 3 to 100 is allowed"),
        ("arms = [\"a\", \"b\"]\nblocks = 0", "blocks is 0, and 1 to 1000 is allowed"),
        (
            "arms = [\"a\", \"b\"]\n[external.expect]\nc = { smt = \"on\" }",
            "there is no arm 'c'; arms are a, b",
        ),
        ("arms = [\"a\", \"b\"]\n[external.expect]\na = { smt = \"yes\" }", "smt is 'yes'; on and off"),
        ("arms = [\"a\", \"b\"]\n[external.expect]\na = { cpus = 0 }", "cpus is 0"),
        ("arms = [\"a\", \"b\"]\n[external.switch]\nc = [\"x\"]", "there is no arm 'c'"),
        ("arms = [\"a\", \"b\"]\n[external.switch]\na = []", "a list of a program and its arguments"),
        (
            "arms = [\"a\", \"b\"]\n[design]\nblocks = 8",
            "blocks of [design] cannot be combined with [external]",
        ),
        ("arms = [\"a\", \"b\"]\n[design]\nuntil = 0.02", "until cannot be combined with [external]"),
        ("arms = [\"a\", \"b\"]\n[sweep]\n", "[sweep] cannot be combined with [external]"),
    ] {
        let error = refusal(&format!("{BODY}[external]\n{external}\n"));
        assert!(error.contains(why) && error.starts_with("mine.toml:"), "{external}: {error}");
    }
    let overrides = Overrides { blocks: Some(8), ..Overrides::default() };
    let error = definition(TWO).resolve(&cores(2), &overrides).unwrap_err().to_string();
    assert!(error.starts_with("--blocks: a study with external arms"), "{error}");
}

#[test]
fn arms_take_turns_there_and_back() {
    let order = |arms: usize, boots: u32, seed: u64| {
        let external = External {
            arms: (0..arms).map(|arm| arm.to_string()).collect(),
            boots,
            blocks: 2,
            expect: BTreeMap::new(),
            switch: BTreeMap::new(),
            session_per_cpu: Default::default(),
            optional: Default::default(),
            treatments: 1,
        };
        external.order(seed)
    };
    let firsts: Vec<usize> = (0..100).map(|seed| order(2, 4, seed)[0]).collect();
    let reversed = firsts.iter().filter(|first| **first == 1).count();
    assert!((30..=70).contains(&reversed), "{reversed} of 100 seeds begin with the second arm");
    for seed in 0..20 {
        let begin = order(2, 4, seed);
        assert!([[0, 1, 1, 0], [1, 0, 0, 1]].iter().any(|wanted| begin == *wanted), "{begin:?}");
        let three = order(3, 7, seed);
        assert!([[0, 1, 2, 2, 1, 0, 0], [2, 1, 0, 0, 1, 2, 2]].iter().any(|wanted| three == *wanted));
        assert_eq!(order(4, 4, seed).iter().copied().collect::<std::collections::BTreeSet<_>>().len(), 4);
    }
}

#[test]
fn which_part_is_due_follows_from_the_blocks_that_are_done() {
    let study = seeded(TWO, &cores(2), 3);
    let external = study.external.as_ref().unwrap();
    let order: Vec<String> = external.order(3).iter().map(|arm| external.arms[*arm].clone()).collect();
    for done in 0..12 {
        let part = external.due(3, done).unwrap();
        let wanted =
            BootPart { number: done / 3, arm: order[(done / 3) as usize].clone(), blocks_left: 3 - done % 3 };
        assert_eq!(part, wanted);
    }
    assert_eq!(external.due(3, 12), None);
    assert_eq!(study.design.stopping, Stopping::Blocks { blocks: 12 });
    assert_eq!(definition(TWO).first_arm(3), Some(order[0].as_str()));
}

/// The treatments of an arm with their sessions, and what is left out.
fn of_arm(study: &Study, topology: &Topology, number: u32) -> (Vec<(String, u32)>, Vec<String>) {
    let part = BootPart { number, arm: "on".to_owned(), blocks_left: 3 };
    let here = on_machine(study, topology, &part).unwrap();
    assert_eq!(here.study.design.stopping, Stopping::Blocks { blocks: 3 * (number + 1) });
    let treatments = here.study.treatments.iter().map(|one| (one.name.clone(), one.sessions));
    for comparison in &here.study.comparisons {
        assert!(here.study.treatment(&comparison.treatment).is_some(), "{comparison:?}");
    }
    (treatments.collect(), here.left_out)
}

#[test]
fn an_arm_has_what_its_machine_can_do_whichever_arm_was_first() {
    for first in [cores(2), cores(1)] {
        let study = seeded(TWO, &first, 1);
        assert_eq!(names(&study).len(), 5);
        assert_eq!(study.slices_of_round(), 5);
        assert_eq!(study.left_out, Vec::<String>::new(), "it depends on the arm");
        let all = |list: &[(&str, u32)]| -> Vec<(String, u32)> {
            list.iter().map(|(name, sessions)| ((*name).to_owned(), *sessions)).collect()
        };
        let (on, left_out) = of_arm(&study, &cores(2), 0);
        let mut sorted = on.clone();
        sorted.sort();
        assert_eq!(sorted, all(&[("all", 8), ("alone", 1), ("alone'", 1), ("no-smt", 4), ("same-core", 2)]));
        assert_eq!(left_out, Vec::<String>::new());
        let (off, left_out) = of_arm(&study, &cores(1), 1);
        assert_eq!(off, all(&[("alone", 1), ("alone'", 1), ("no-smt", 4)]));
        assert_eq!(left_out.len(), 2, "{left_out:?}");
        assert!(
            left_out.iter().any(|line| line == "all: the same as no-smt on this machine"),
            "{left_out:?}"
        );
        assert!(left_out.iter().any(|line| line.starts_with("same-core: ")), "{left_out:?}");
    }
}

#[test]
fn data_are_those_of_the_first_boot_in_every_arm() {
    let text = TWO.to_owned() + "[factors]\ndata = [\"l2\", \"memory\"]\n";
    let body = BODY.replace("blocks = 100\n", "");
    let definition = file(&format!("{body}{text}")).unwrap();
    for first in [cores(2), cores(1)] {
        let study = definition.resolve(&first, &Overrides::default()).unwrap();
        for level in ["l2", "memory"] {
            let blocks = |name: &str| treatment(&study, &format!("{name}/{level}")).options["blocks"].clone();
            assert_eq!(blocks("alone"), blocks("all"));
            assert_eq!(blocks("alone"), blocks("same-core"));
        }
        let external = study.external.as_ref().unwrap();
        assert!(external.optional.iter().eq(["all/l2", "all/memory"]), "{:?}", external.optional);
        assert_eq!(external.session_per_cpu.len(), 6);
    }
}

#[test]
fn the_text_of_a_study_keeps_its_arms() {
    let external = "[external]\narms = [\"on\", \"off\"]\nboots = 6\n[external.expect]\non = { smt = \"on\", cpus = 8 }\n\
                    off = { kernel = \"6.1\" }\n[external.switch]\noff = [\"/bin/true\", \"a b\"]\n";
    let study = seeded(external, &cores(2), 1);
    let text = to_toml(&study);
    assert_eq!(from_toml(&text), Ok(study.clone()));
    let external = study.external.unwrap();
    assert_eq!((external.boots, external.blocks), (6, 8));
    assert_eq!(external.switch["off"], ["/bin/true", "a b"]);
    // A stored text may have anything.
    for (from, to) in [
        ("boots = 6", "boots = 4000000000"),
        ("blocks = 8", "blocks = 0"),
        ("treatments = 5", "treatments = 9"),
    ] {
        assert!(text.contains(from), "{text}");
        let error = from_toml(&text.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains("external"), "{error}");
    }
}

#[test]
fn what_an_arm_asks_for_is_checked() {
    let facts = BootFacts {
        kernel: Some("6.1.0-28-amd64".to_owned()),
        smt_active: Some(true),
        online_cpus: Some(8),
        ..BootFacts::default()
    };
    let unmet = |expect: Expect, facts: &BootFacts| {
        let study = seeded(TWO, &cores(2), 1);
        let expect = BTreeMap::from([("on".to_owned(), expect)]);
        External { expect, ..study.external.unwrap() }.unmet("on", facts)
    };
    let kernel = |text: &str| Expect { kernel: Some(text.to_owned()), ..Expect::default() };
    let met = Expect { smt: Some(true), cpus: Some(8), ..kernel("6.1") };
    assert_eq!(unmet(met.clone(), &facts), Vec::<String>::new());
    assert_eq!(unmet(kernel("6.1.0-28-amd64"), &facts), Vec::<String>::new());
    assert_eq!(unmet(kernel("6"), &facts), Vec::<String>::new());
    assert_eq!(unmet(kernel("6.1.0-2"), &facts).len(), 1, "28 does not begin with 2");
    let other = Expect { smt: Some(false), cpus: Some(4), ..kernel("6.2") };
    assert_eq!(
        unmet(other, &facts),
        [
            "SMT is on and must be off",
            "the kernel is 6.1.0-28-amd64 and must be 6.2",
            "the number of online logical CPUs is 8 and must be 4"
        ]
    );
    assert_eq!(unmet(met, &BootFacts::default()).len(), 3, "what is unknown is not met");
}

#[test]
fn the_preset_can_be_had_on_a_machine_without_siblings() {
    let study =
        StudyFile::preset("smt-boots").unwrap().resolve(&small_guest(), &Overrides::default()).unwrap();
    assert_eq!(study.external.as_ref().unwrap().arms, ["smt-on", "smt-off"]);
    assert_eq!(study.treatments.len(), 8);
}
