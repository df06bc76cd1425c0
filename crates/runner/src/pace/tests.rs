//! Stopping on models of durations: a start, set-up, blocks.

use super::*;

const BUDGET: Stopping = Stopping::Budget { budget_s: 90.0 };
const UNTIL: Stopping = Stopping::Until { half_width: 0.02, budget_s: 100.0 };

fn goal(stopping: Stopping) -> Rule {
    Rule { stopping, limit_s: None, rounds: None }
}

fn limit(stopping: Stopping, limit_s: f64) -> Rule {
    Rule { stopping, limit_s: Some(limit_s), rounds: None }
}

fn at(blocks_done: u32, planned: Option<u32>, elapsed_s: f64, block_s: f64) -> Progress {
    let long = LongProgress::default();
    Progress { blocks_done, blocks_here: blocks_done, planned, elapsed_s, setup_s: 0.0, block_s, long }
}

/// A study as it would run: how it ends, after how many seconds and blocks. What is under way when the time
/// is over is broken off.
fn modelled(rule: Rule, setup_s: f64, block_s: &dyn Fn(u32) -> f64) -> (Next, f64, u32) {
    let mut progress = Progress { setup_s, ..at(0, None, setup_s, 0.0) };
    let usable_s = rule.limit_s.and(rule.usable_s()).unwrap_or(f64::INFINITY);
    loop {
        let ends_s = progress.elapsed_s + block_s(progress.blocks_done);
        if ends_s > usable_s {
            let no_time_left = Progress { elapsed_s: f64::INFINITY, ..progress };
            return (next(rule, &no_time_left), usable_s.max(setup_s), progress.blocks_done);
        }
        progress.elapsed_s = ends_s;
        progress.blocks_done += 1;
        progress.blocks_here += 1;
        progress.block_s = (progress.elapsed_s - setup_s) / f64::from(progress.blocks_here);
        progress.planned = planned_blocks(rule, &progress);
        match next(rule, &progress) {
            Next::Block | Next::Look => {}
            end => return (end, progress.elapsed_s, progress.blocks_done),
        }
    }
}

/// Seconds of an option as it is typed.
fn seconds(typed: &str) -> f64 {
    let (mut all, mut number) = (0.0, String::new());
    for c in typed.chars() {
        match c {
            'h' | 'm' | 's' => {
                let unit = [('h', 3600.0), ('m', 60.0), ('s', 1.0)].into_iter().find(|(name, _)| *name == c);
                all += number.parse::<f64>().unwrap() * unit.unwrap().1;
                number.clear();
            }
            digit => number.push(digit),
        }
    }
    all
}

#[test]
fn a_budget_that_nobody_set_fixes_the_number_after_the_first_block() {
    let rule = goal(BUDGET);
    assert_eq!(planned_blocks(rule, &at(0, None, 1.0, 0.0)), None);
    assert_eq!(planned_blocks(rule, &at(1, None, 10.0, 8.0)), Some(11));
    assert_eq!(planned_blocks(rule, &at(1, None, 60.0, 50.0)), Some(8));
    assert_eq!(planned_blocks(rule, &at(1, None, 200.0, 50.0)), Some(8));
    assert_eq!(planned_blocks(rule, &at(1, None, 1.0, 0.1)), Some(256));
    assert_eq!(planned_blocks(rule, &at(1, None, 1.0, 0.0)), Some(256));
    assert_eq!(planned_blocks(rule, &at(5, Some(9), 1.0, 0.1)), Some(9), "fixed is fixed");
    assert_eq!(next(rule, &at(8, Some(9), 500.0, 8.0)), Next::Block);
    assert_eq!(next(rule, &at(9, Some(9), 1.0, 8.0)), Next::End);
    // A study that goes on has not seen how long a block takes.
    assert_eq!(planned_blocks(rule, &Progress { blocks_here: 0, ..at(1, None, 5.0, 0.0) }), None);
}

#[test]
fn until_looks_at_its_blocks_and_at_the_end_of_the_budget() {
    let rule = goal(UNTIL);
    assert_eq!(next(rule, &at(7, None, 1000.0, 5.0)), Next::Block, "never fewer than 8");
    assert_eq!(next(rule, &at(8, None, 40.0, 5.0)), Next::Look);
    assert_eq!(next(rule, &at(9, None, 45.0, 5.0)), Next::Block);
    assert_eq!(next(rule, &at(13, None, 96.0, 5.0)), Next::LastLook);
    assert_eq!(next(rule, &at(16, None, 96.0, 5.0)), Next::LastLook);
    assert_eq!(next(rule, &at(12, None, 60.0, 5.0)), Next::Look);
    assert_eq!(next(rule, &at(256, None, 1.0, 0.1)), Next::LastLook);
    assert_eq!(planned_blocks(rule, &at(9, None, 45.0, 5.0)), None);
}

#[test]
fn a_given_number_is_kept() {
    let rule = goal(Stopping::Blocks { blocks: 2 });
    let planned = planned_blocks(rule, &at(0, None, 0.0, 0.0));
    assert_eq!(planned, Some(2));
    assert_eq!(next(rule, &at(1, planned, 1.0, 1.0)), Next::Block);
    assert_eq!(next(rule, &at(2, planned, 1.0, 1.0)), Next::End);
    // Resumed with a budget of its own, it needs all of them.
    let limited = limit(rule.stopping, 10.0);
    assert_eq!(next(limited, &at(1, planned, 4.0, 4.0)), Next::Block);
    assert!(matches!(next(limited, &at(1, planned, 8.0, 8.0)), Next::Short(_)));
}

#[test]
fn the_time_to_come_follows_from_the_blocks() {
    let blocks = goal(Stopping::Blocks { blocks: 5 });
    assert_eq!(eta_s(blocks, &at(0, Some(5), 0.0, 0.0)), None);
    assert_eq!(eta_s(blocks, &at(2, Some(5), 9.0, 3.0)), Some(9.0));
    let until = goal(UNTIL);
    assert_eq!(eta_s(until, &at(2, None, 90.0, 3.0)), Some(18.0), "at least 8 blocks");
    assert_eq!(eta_s(until, &at(2, None, 10.0, 3.0)), Some(90.0));
    assert_eq!(eta_s(until, &at(252, None, 10.0, 3.0)), Some(12.0), "at most 256");
    let limited = limit(UNTIL, 100.0);
    assert_eq!(eta_s(limited, &at(2, None, 90.0, 3.0)), Some(8.0), "the limit, less 2 s for the end");
    assert_eq!(eta_s(limit(BUDGET, 50.0), &at(1, Some(20), 10.0, 5.0)), Some(39.0));
}

#[test]
fn no_limit_is_ever_exceeded_whatever_blocks_take() {
    let models: [&dyn Fn(u32) -> f64; 4] = [
        &|_| 5.0,
        // The first is the slowest, the fastest; each fifth meets something else.
        &|block| if block == 0 { 9.0 } else { 4.0 },
        &|block| if block == 0 { 3.0 } else { 5.5 },
        &|block| if block % 5 == 4 { 9.0 } else { 4.0 },
    ];
    let mut ends = [0; 2];
    for (stopping, block_s) in [BUDGET, UNTIL].into_iter().flat_map(|one| models.map(|model| (one, model))) {
        for (tens, setup_s) in (1..60).flat_map(|tens| [0.5, 9.0].map(|setup_s| (tens, setup_s))) {
            let rule = limit(stopping, f64::from(tens) * 10.0);
            let (end, elapsed_s, done) = modelled(rule, setup_s, block_s);
            assert!(elapsed_s <= f64::from(tens) * 10.0, "{rule:?} {setup_s}: {elapsed_s}");
            let is_short = matches!(end, Next::Short(_));
            assert_eq!(is_short, done < 8, "{rule:?} {setup_s}: {end:?} after {done}");
            // Time for 8 of the slowest blocks, with room, is never called too short.
            assert!(
                !is_short || f64::from(tens) * 10.0 < setup_s + 8.0 * 9.0 * 1.1 + 2.0,
                "{rule:?}: {end:?}"
            );
            ends[usize::from(is_short)] += 1;
        }
    }
    assert!(ends[0] > 100 && ends[1] > 20, "{ends:?}");
    // Blocks that take what the first one took reach the number that was planned.
    for limit_s in [48.0, 60.0, 100.0, 1000.0] {
        let (end, elapsed_s, _) = modelled(limit(BUDGET, limit_s), 1.0, &|_| 5.0);
        assert!(end == Next::End && elapsed_s < limit_s, "{limit_s}: {end:?} {elapsed_s}");
    }
}

#[test]
fn the_budget_that_is_named_is_then_accepted() {
    for setup_s in [0.2, 7.0, 41.0, 300.0] {
        for mean_s in [0.05, 3.0, 23.0, 700.0] {
            // Blocks of the second try are up to 10% longer or shorter.
            let varied = move |block: u32| mean_s * [1.0, 1.1, 0.9, 1.05, 0.95][block as usize % 5];
            // Time for setting up, three blocks and the end.
            let usable_s = setup_s + 3.0 * mean_s;
            let too_small = limit(BUDGET, (usable_s / (1.0 - ENDING.0)).min(usable_s + ENDING.1));
            let (end, _, done) = modelled(too_small, setup_s, &|_| mean_s);
            let Next::Short(short) = end else { panic!("{too_small:?} was held: {end:?}") };
            assert_eq!(done, 1, "it is known after the first block");
            for stopping in [BUDGET, UNTIL] {
                let named = limit(stopping, seconds(&short.budget()));
                let (end, elapsed_s, done) = modelled(named, setup_s, &varied);
                assert!(!matches!(end, Next::Short(_)) && done >= 8, "{named:?}: {end:?}");
                assert!(elapsed_s <= named.limit_s.unwrap(), "{named:?}: {elapsed_s}");
            }
            // And what is left fits into the one that is named for it.
            let rest = limit(BUDGET, seconds(&short.budget_to_go_on()));
            let resumed = Progress { setup_s, blocks_here: 1, ..at(2, None, setup_s + mean_s, mean_s) };
            assert_eq!(next(rest, &resumed), Next::Block);
        }
    }
}

#[test]
fn of_the_first_block_the_others_may_be_longer() {
    // 98 s are usable: 8 blocks of 12 s are 96, and 7 more that are a tenth longer do not fit; after two blocks the mean counts.
    let one = Progress { blocks_here: 1, ..at(1, None, 12.0, 12.0) };
    assert!(shortfall(limit(BUDGET, 100.0), &one, BlockTime::Measured).is_some());
    let two = Progress { blocks_here: 2, ..at(2, None, 24.0, 12.0) };
    assert_eq!(shortfall(limit(BUDGET, 100.0), &two, BlockTime::Measured), None);
}

#[test]
fn the_first_starts_speak_only_where_they_leave_no_doubt() {
    // The servers of the report: 5 to 22 s each, 4 after another, 90 s.
    let progress = Progress { setup_s: 15.0, ..at(0, None, 15.0, 0.0) };
    let block = |start_s: f64| BlockTime::Starts(4.0 * start_s + 6.6);
    let short = shortfall(limit(BUDGET, 90.0), &progress, block(12.0)).unwrap();
    assert_eq!((short.block_s, short.is_least, short.blocks), (54.6, false, 8));
    assert_eq!(short.budget(), "9m30s");
    assert_eq!(shortfall(limit(BUDGET, 90.0), &progress, block(2.0)), None, "half of it would fit");
    assert_eq!(shortfall(goal(BUDGET), &progress, block(12.0)), None, "no limit was set");
}

#[test]
fn setting_up_ends_where_the_blocks_would_not_fit_any_more() {
    let progress = at(0, None, 0.0, 0.0);
    assert_eq!(limit(BUDGET, 100.0).setup_until_s(&progress, 10.0), Some(18.0), "98 less 8 blocks of 10 s");
    assert_eq!(goal(BUDGET).setup_until_s(&progress, 10.0), None);
    let slices = shortfall(limit(BUDGET, 90.0), &at(0, None, 12.0, 0.0), BlockTime::AtLeast(10.0));
    assert!(slices.is_some_and(|short| short.is_least));
}

/// A study with long windows as it would run: how it ends, after how many seconds, blocks and long blocks, and after which
/// blocks those came.
fn modelled_long(rule: Rule, (setup_s, block_s, long_s): (f64, f64, f64)) -> (Next, f64, u32, Vec<u32>) {
    let design = Some(LongWindows { blocks: 3, window_ns: 10_000_000_000 });
    let long = LongProgress { design, done: 0, block_s: long_s, spent_s: 0.0 };
    let mut progress = Progress { setup_s, long, ..at(0, None, setup_s, 0.0) };
    let mut after = Vec::new();
    let mut upcoming = Next::Block;
    loop {
        match upcoming {
            Next::LongBlock => {
                progress.elapsed_s += long_s;
                progress.long.done += 1;
                progress.long.spent_s += long_s;
                after.push(progress.blocks_done);
            }
            Next::Block | Next::Look => {
                progress.elapsed_s += block_s;
                progress.blocks_done += 1;
                progress.blocks_here += 1;
                let blocks_s = progress.elapsed_s - setup_s - progress.long.spent_s;
                progress.block_s = blocks_s / f64::from(progress.blocks_here);
            }
            end => return (end, progress.elapsed_s, progress.blocks_done, after),
        }
        progress.planned = planned_blocks(rule, &progress);
        upcoming = next(rule, &progress);
    }
}

#[test]
fn long_windows_come_out_of_the_time_and_lie_between_the_blocks() {
    // 300 s less 2 for ending: 10 s of setting up, 3 times 40 s, and 28 blocks of 6 s.
    let got = modelled_long(limit(BUDGET, 300.0), (10.0, 6.0, 40.0));
    assert_eq!(got, (Next::End, 298.0, 28, vec![10, 19, 28]));
    let goal_of_300 = goal(Stopping::Budget { budget_s: 300.0 });
    assert_eq!(modelled_long(goal_of_300, (10.0, 6.0, 40.0)).3, vec![10, 19, 28]);
    assert_eq!(
        modelled_long(goal(Stopping::Blocks { blocks: 3 }), (1.0, 2.0, 40.0)),
        (Next::End, 127.0, 3, vec![1, 2, 3])
    );
    let until = modelled_long(limit(UNTIL, 300.0), (1.0, 5.0, 40.0));
    assert_eq!((until.0, until.3), (Next::LastLook, vec![3, 6, 8]), "before the first look");
    // Eight blocks and three long ones take at least 10 + 8 · 6 + 120 s.
    let short = modelled_long(limit(BUDGET, 150.0), (10.0, 6.0, 40.0));
    let Next::Short(shortfall) = short.0 else { panic!("{short:?}") };
    assert!(
        (shortfall.long_s - 120.0).abs() < 1e-9 && shortfall.to_string().contains("long windows take 120 s")
    );
    let enough = seconds(&shortfall.budget());
    assert_eq!(modelled_long(limit(BUDGET, enough), (10.0, 6.0, 40.0)).0, Next::End);
}

#[test]
fn what_does_not_fit_any_more_is_left_out_and_the_study_ends() {
    let design = Some(LongWindows { blocks: 3, window_ns: 10_000_000_000 });
    let long = LongProgress { design, done: 2, block_s: 40.0, spent_s: 80.0 };
    let rule = limit(BUDGET, 300.0);
    // Blocks became slower: another one does not fit beside the last long block, which is due instead.
    let slower = Progress { long, ..at(20, Some(28), 250.0, 9.0) };
    assert_eq!(next(rule, &slower), Next::LongBlock);
    let without = Progress { long: LongProgress { done: 3, ..long }, ..slower };
    assert_eq!(next(rule, &Progress { elapsed_s: 292.0, ..without }), Next::Over);
    assert_eq!(next(rule, &Progress { elapsed_s: 292.0, ..slower }), Next::Over);
    assert_eq!(next(rule, &Progress { elapsed_s: f64::INFINITY, ..slower }), Next::Over);
    // A study whose blocks are all there begins with what is missing.
    let resumed = Progress { blocks_here: 0, ..Progress { long, ..at(28, Some(28), 5.0, 0.0) } };
    assert!(starts_long(rule, &resumed) && next(rule, &resumed) == Next::LongBlock);
    assert!(!starts_long(rule, &Progress { long, ..at(0, None, 5.0, 0.0) }));
    assert!(!starts_long(rule, &Progress { long, ..at(20, Some(28), 5.0, 0.0) }));
}
