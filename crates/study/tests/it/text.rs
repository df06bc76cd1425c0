//! The stored text of a resolved study gives the same study back.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::{default_study, server, small_guest};
use proptest::prelude::*;
use std::collections::BTreeMap;
use threadwise_machine::{Memory, Pin, Placement};
use threadwise_study::Quota;
use threadwise_study::engine::Properties;
use threadwise_study::load::{from_toml, to_toml};
use threadwise_study::plan::long::MOST_BLOCKS;
use threadwise_study::{
    Arm, Comparison, Design, Instance, LongWindows, OptionValue, Options, Role, SmtWay, Stopping, Study,
    Treatment,
};

#[test]
fn presets_come_back_as_they_were() {
    for topology in [small_guest(), server()] {
        let study = default_study(&topology);
        assert_eq!(from_toml(&to_toml(&study)).unwrap(), study);
    }
}

#[test]
fn other_texts_are_refused_with_their_place() {
    let text = to_toml(&default_study(&small_guest()));
    let newer = text.replace("version = 1\n", "version = 2\n");
    assert_eq!(
        from_toml(&newer).unwrap_err().to_string(),
        "stored study:1:1: version is 2, but this program reads version 1"
    );
    let damaged = text.replace("level = 0.95", "level = \"high\"");
    assert!(from_toml(&damaged).unwrap_err().to_string().contains("expected f64"));
    let placed = text.replace("placement = \"one-cpu\"", "placement = \"nowhere\"");
    let error = from_toml(&placed).unwrap_err().to_string();
    assert!(error.contains("'nowhere' is not a placement: no such name"), "{error}");
    assert!(from_toml("").unwrap_err().to_string().starts_with("stored study:1:1: missing field"));
}

fn placement() -> impl Strategy<Value = Placement> {
    let texts =
        ["one-cpu", "same-core@efficient", "3c1t + 1c2t", "all@p0", "0-3, 8", "package:0.core:1-3.pu:0"];
    prop::sample::select(texts.to_vec()).prop_map(|text| text.parse().unwrap())
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-z'\"/ =\\\\\n\t#é\u{1}\u{7f}-]{1,12}"]
}

fn option() -> impl Strategy<Value = OptionValue> {
    prop_oneof![
        words().prop_map(OptionValue::Text),
        any::<i64>().prop_map(OptionValue::Integer),
        (-1e300_f64..1e300).prop_map(OptionValue::Number),
        (0_i32..5).prop_map(|whole| OptionValue::Number(f64::from(whole))),
        any::<bool>().prop_map(OptionValue::Flag),
    ]
}

fn options() -> impl Strategy<Value = BTreeMap<String, OptionValue>> {
    prop::collection::btree_map(words(), option(), 0..4)
}

fn any_treatment() -> impl Strategy<Value = Treatment> {
    let role = prop::sample::select(vec![Role::Baseline, Role::BaselineTwin, Role::Compared]);
    let pin = prop::sample::select(vec![Pin::Each, Pin::Set]);
    let memory = prop::sample::select(vec![
        Memory::Local,
        Memory::Remote,
        Memory::Interleave,
        Memory::Nodes(vec![0]),
        Memory::Nodes(vec![1, 2, 4]),
    ]);
    let factors = prop::collection::btree_map(words(), words(), 0..3);
    (words(), words(), role, placement(), 0..1_u32 << 20, (pin, memory), options(), factors).prop_map(
        |(name, group, role, placement, sessions, (pin, memory), options, factors)| Treatment {
            name,
            group,
            role,
            placement,
            sessions,
            pin,
            service: (sessions % 3 == 0).then(|| "far".parse().unwrap()),
            memory,
            arm: arm(sessions),
            instance: instance(sessions, &options),
            options,
            factors,
        },
    )
}

/// Some instance, the study's own in one of four.
fn instance(number: u32, options: &Options) -> Instance {
    Instance {
        options: if number.is_multiple_of(2) { options.clone() } else { Options::new() },
        device: (number % 4 > 1).then(|| "/mnt/a".to_owned()),
    }
}

/// Some arm, as found in one of six.
fn arm(number: u32) -> Arm {
    Arm {
        smt: [SmtWay::Mask, SmtWay::Offline, SmtWay::System][number as usize % 3],
        turbo: [None, Some(true), Some(false)][number as usize / 3 % 3],
        governor: number.is_multiple_of(2).then(|| "powersave".to_owned()),
    }
}

fn any_comparison() -> impl Strategy<Value = Comparison> {
    (words(), words(), prop::collection::vec(words(), 0..3), words()).prop_map(
        |(name, treatment, baseline, kind)| Comparison { name, treatment, baseline, kind: kind.into() },
    )
}

fn any_design() -> impl Strategy<Value = Design> {
    let stopping = prop_oneof![
        (0.0_f64..1e9).prop_map(|budget_s| Stopping::Budget { budget_s }),
        (0.0_f64..1.0, 0.0_f64..1e9)
            .prop_map(|(half_width, budget_s)| Stopping::Until { half_width, budget_s }),
        (0..1_u32 << 20).prop_map(|blocks| Stopping::Blocks { blocks }),
    ];
    let durations = (0..1_u64 << 50, prop::option::of(0..1_u64 << 50));
    let long_windows = prop::option::of(
        (0..=MOST_BLOCKS, 1..1_u64 << 50).prop_map(|(blocks, window_ns)| LongWindows { blocks, window_ns }),
    );
    (0..1_u32 << 20, durations, stopping, 1e-9_f64..1.0, 1e-9_f64..1.0, long_windows).prop_map(
        |(rounds, (slice_ns, rewarm_ns), stopping, level, margin, long_windows)| Design {
            rounds,
            slice_ns,
            rewarm_ns,
            stopping,
            level,
            margin,
            long_windows,
        },
    )
}

fn any_properties() -> impl Strategy<Value = Properties> {
    let flags = any::<[bool; 4]>();
    (flags, 1_u64..1 << 20, prop::option::of("[a-z_-]{1,9}"), [0_u64..1000, 0_u64..1000], 0_u64..1 << 40)
        .prop_map(
            |(
                [simulated, service_threads, reads_files, holds_plans],
                block_bytes,
                dialect,
                [row_bytes, row_memory_bytes],
                tpch_bytes,
            )| {
                Properties {
                    simulated,
                    block_bytes,
                    service_threads,
                    dialect,
                    reads_files,
                    holds_plans,
                    row_bytes,
                    row_memory_bytes,
                    tpch_bytes,
                }
            },
        )
}

#[test]
fn what_an_engine_said_is_kept_and_a_text_from_before_has_none() {
    let said = Properties { block_bytes: 8192, service_threads: false, ..Properties::default() };
    let study = Study { engine_properties: Some(said), ..default_study(&small_guest()) };
    let text = to_toml(&study);
    assert_eq!(from_toml(&text), Ok(study.clone()));
    let (before, rest) = text.split_once("[engine_properties]\n").unwrap();
    let older = format!("{before}{}", rest.split_once("\n\n").unwrap().1);
    assert_eq!(from_toml(&older), Ok(Study { engine_properties: None, ..study }));
    let absurd = text.replace("block_bytes = 8192", "block_bytes = 0");
    assert!(from_toml(&absurd).unwrap_err().to_string().contains("block_bytes is 0"));
}

#[test]
fn what_a_reader_could_not_compute_with_is_refused() {
    let text = to_toml(&default_study(&small_guest()));
    for (from, to, words) in [
        ("pin =", "colour =", "unknown field `colour`"),
        ("level = 0.95", "level = 1.5", "confidence level is not between 0 and 1"),
        ("margin = 0.03", "margin = 0.0", "margin is not between 0 and 1"),
        ("rounds = ", "rounds = 20000", "number of rounds is too large"),
        ("slice_ns = ", "slice_ns = 9999999999", "slices are too long"),
        ("budget_s = ", "budget_s = -", "stopping rule is out of range"),
        ("sessions = ", "sessions = 1000000", "number of sessions is out of range"),
        ("name = \"alone'/l2\"", "name = \"alone/l2\"", "treatments do not have different names"),
        ("baseline = [", "baseline = [\"missing\", ", "comparisons name treatments that it does not have"),
    ] {
        let spoilt = text.replace(from, to);
        assert_ne!(spoilt, text, "{from}");
        let error = from_toml(&spoilt).unwrap_err().to_string();
        assert!(error.contains(words), "{to}: {error}");
    }
}

proptest! {
    #[test]
    fn every_study_comes_back(
        head in (words(), words(), any::<u64>(), words(), words()),
        engine_options in options(),
        treatments in prop::collection::vec(any_treatment(), 0..4),
        comparisons in prop::collection::vec(any_comparison(), 0..4),
        design in any_design(),
        engine_properties in prop::option::of(any_properties()),
        quota in prop::option::of((0.01_f64..1e6, 1..i64::MAX as u64, 0..i64::MAX as u64)),
        left_out in prop::collection::vec(words(), 0..3),
    ) {
        let (name, title, seed, engine, workload) = head;
        let (mut treatments, mut comparisons) = (treatments, comparisons);
        treatments.iter_mut().enumerate().for_each(|(at, one)| one.name.push_str(&format!(" {at}")));
        comparisons.truncate(treatments.len());
        for (comparison, treatment) in comparisons.iter_mut().zip(&treatments) {
            comparison.treatment.clone_from(&treatment.name);
            comparison.baseline = vec![treatments[0].name.clone(); comparison.baseline.len() + 1];
        }
        let quota = quota.map(|(cpus, period_ns, burst_ns)| Quota { cpus, period_ns, burst_ns });
        let study = Study {
            name, title, seed, engine, engine_properties, engine_options, workload: workload.into(), treatments, comparisons,
            design, quota, external: None, left_out,
        };
        let text = to_toml(&study);
        prop_assert_eq!(from_toml(&text), Ok(study), "{}", text);
    }
}
