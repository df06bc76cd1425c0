//! Long windows: which studies have them, how many, when each is due, and what a block of them does.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::{default_study, server, small_guest};
use std::collections::BTreeSet;
use threadwise_study::load::{Overrides, StudyFile};
use threadwise_study::plan::long::{FIRST_BLOCK, PIECES, is_due};
use threadwise_study::{LongWindows, OptionValue, Stopping, Study, plan_block, plan_long_block};

const SECOND_NS: u64 = 1_000_000_000;
const TEN_S: LongWindows = LongWindows { blocks: 3, window_ns: 10 * SECOND_NS };

fn asked(overrides: Overrides) -> Result<Study, String> {
    let of_one_level =
        Overrides { options: [("data".to_owned(), OptionValue::Text("l2".to_owned()))].into(), ..overrides };
    let file = StudyFile::preset("cached-reads").unwrap();
    file.resolve(&small_guest(), &of_one_level).map_err(|error| error.to_string())
}

fn of_file(design: &str) -> Result<Study, String> {
    let text = format!(
        "version = 1\nname = \"one\"\nengine = \"sqlite\"\nworkload = \"logical-io\"\n[options]\nblocks = 100\n\
         [design]\n{design}\n[[treatment]]\nplacement = \"one-cpu\"\n"
    );
    let file = StudyFile::parse(&text, "one.toml").map_err(|error| error.to_string())?;
    file.resolve(&small_guest(), &Overrides::default()).map_err(|error| error.to_string())
}

#[test]
fn short_studies_have_none_and_long_ones_a_sixth_of_their_time() {
    let budget = |seconds: f64| Overrides { budget_s: Some(seconds), ..Overrides::default() };
    assert_eq!(asked(Overrides::default()).unwrap().design.long_windows, None);
    assert_eq!(asked(budget(599.0)).unwrap().design.long_windows, None);
    let ten_minutes = asked(budget(600.0)).unwrap();
    assert_eq!(ten_minutes.design.long_windows, Some(TEN_S), "at least three");
    let hour = asked(budget(3600.0)).unwrap();
    let block_s = hour.treatments.len() as f64 * 10.0;
    assert_eq!(hour.design.long_windows.unwrap().blocks, (600.0 / block_s) as u32);
    assert_eq!(asked(budget(86_400.0)).unwrap().design.long_windows.unwrap().blocks, 30, "an end to it");
    let none = Overrides { long_windows: Some(0), ..budget(3600.0) };
    assert_eq!(asked(none).unwrap().design.long_windows, None);
    // How long it takes is not known before.
    let until = Overrides { until: Some(0.02), ..budget(3600.0) };
    assert_eq!(asked(until).unwrap().design.long_windows, None);
}

#[test]
fn where_the_fewest_would_take_most_of_the_time_they_are_left_out_and_it_says_so() {
    let budget = |long_windows| Overrides { budget_s: Some(900.0), long_windows, ..Overrides::default() };
    let file = StudyFile::preset("session-sweep").unwrap();
    let study = file.resolve(&server(), &budget(None)).unwrap();
    assert!(study.treatments.len() > 15, "{}", study.treatments.len());
    assert_eq!(study.design.long_windows, None);
    assert!(study.left_out.iter().any(|line| line.starts_with("long windows: 3 of each treatment take")));
    let asked = file.resolve(&server(), &budget(Some(3))).unwrap();
    assert_eq!(asked.design.long_windows, Some(TEN_S), "who asks gets them");
}

#[test]
fn who_asks_gets_them_beside_the_time_that_nobody_set() {
    let study = asked(Overrides { long_windows: Some(2), ..Overrides::default() }).unwrap();
    assert_eq!(study.design.long_windows, Some(LongWindows { blocks: 2, ..TEN_S }));
    let without = asked(Overrides::default()).unwrap();
    let seconds = |study: &Study| match study.design.stopping {
        Stopping::Budget { budget_s } => budget_s,
        _ => panic!("a budget"),
    };
    let long_s = 2.0 * study.long_block_floor_s();
    assert_eq!(long_s, 20.0 * study.treatments.len() as f64);
    assert!(seconds(&study) >= seconds(&without) + long_s);
    let short = Overrides { budget_s: Some(60.0), long_windows: Some(3), ..Overrides::default() };
    assert!(asked(short).unwrap_err().contains("cannot hold 8 blocks"));
    let many = asked(Overrides { long_windows: Some(1001), ..Overrides::default() }).unwrap_err();
    assert!(many.contains("--long-windows: 1001 windows; 0 to 1000 are allowed"), "{many}");
}

#[test]
fn a_study_definition_has_keys_for_them() {
    let found = of_file("blocks = 2\nlong_windows = 4\nlong_window_s = 0.25").unwrap().design.long_windows;
    assert_eq!(found, Some(LongWindows { blocks: 4, window_ns: SECOND_NS / 4 }));
    assert_eq!(of_file("blocks = 2\nlong_window_s = 0.25").unwrap().design.long_windows, None);
    let short = of_file("blocks = 2\nslice_ms = 500\nlong_windows = 4\nlong_window_s = 0.25").unwrap_err();
    assert!(short.contains("one.toml:10:") && short.contains("no longer than slices of 0.5 s"), "{short}");
    let many = of_file("blocks = 2\nlong_windows = 1001").unwrap_err();
    assert!(many.contains("long_windows is 1001, and 0 to 1000 is allowed"), "{many}");
}

#[test]
fn a_fixed_amount_of_work_has_none() {
    let fixed = Overrides {
        options: [("rows_per_session".to_owned(), OptionValue::Integer(1000))].into(),
        long_windows: Some(3),
        ..Overrides::default()
    };
    let file = StudyFile::preset("concurrent-inserts").unwrap();
    let error = file.resolve(&small_guest(), &fixed).unwrap_err().to_string();
    assert!(error.starts_with("--long-windows: sessions do a fixed amount of work"), "{error}");
    let silent = Overrides { long_windows: None, budget_s: Some(3600.0), ..fixed };
    assert_eq!(file.resolve(&small_guest(), &silent).unwrap().design.long_windows, None);
}

#[test]
fn they_are_spread_evenly_and_all_come() {
    for (planned, long_blocks) in [(8, 3), (17, 3), (64, 12), (8, 30), (1, 3)] {
        let design = Some(LongWindows { blocks: long_blocks, window_ns: 1 });
        let mut after = Vec::new();
        for done in 0..=planned {
            while is_due(design, Some(planned), done, after.len() as u32) {
                after.push(done);
            }
        }
        let even = |k: u32| (k * planned).div_ceil(long_blocks);
        assert_eq!(after, (1..=long_blocks).map(even).collect::<Vec<_>>(), "{planned} {long_blocks}");
    }
    // With an open number of blocks all come before the first look.
    assert!(is_due(Some(TEN_S), None, 8, 2) && !is_due(Some(TEN_S), None, 7, 2));
    assert!(!is_due(Some(TEN_S), Some(8), 100, 3) && !is_due(None, Some(8), 8, 0));
}

#[test]
fn a_block_of_them_has_each_treatment_once_in_a_drawn_order() {
    let topology = server();
    let mut study = default_study(&topology);
    assert_eq!(plan_long_block(&study, &topology, 0), Ok(None));
    study.design.long_windows = Some(TEN_S);
    let mut orders = BTreeSet::new();
    for number in 0..6 {
        let plan = plan_long_block(&study, &topology, number).unwrap().unwrap();
        assert_eq!((plan.block, plan.window_ns), (FIRST_BLOCK + number, 10 * SECOND_NS));
        assert_eq!(plan.piece_ns.map(|piece_ns| piece_ns * PIECES), Some(10 * SECOND_NS));
        assert!(plan.is_long());
        let [round] = &plan.rounds[..] else { panic!("{} rounds", plan.rounds.len()) };
        let mut sorted = round.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..study.treatments.len()).collect::<Vec<_>>());
        assert_eq!(plan_long_block(&study, &topology, number), Ok(Some(plan.clone())), "a pure function");
        orders.insert(round.clone());
    }
    assert!(orders.len() >= 5, "{orders:?}");
    // They change nothing of the blocks of slices.
    let slices = plan_block(&study, &topology, 2).unwrap();
    study.design.long_windows = None;
    assert_eq!(plan_block(&study, &topology, 2), Ok(slices.clone()));
    assert!(!slices.is_long() && slices.piece_ns.is_none() && slices.window_ns == study.design.slice_ns);
}
