//! Rounds, gate, ratio, checks and spread.

use super::super::checks::Check;
use super::super::contrast::pooled;
use super::super::effect::{between_blocks, by_both_looks, by_look_before, disagreement, shift_p};
use super::super::gate::{Needed, StateCounts};
use super::super::rows::{Row, Side, rounds};
use super::super::spread::Spread;
use super::super::states::LookState::{self, Away, Clear, Neighbour, SameCore};
use super::{round, row, study};

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn rounds_have_all_three_slices_with_something_done() {
    let mut rows = Vec::from(round(0, 0, Clear, 1.0, 2.0));
    rows.extend(&round(0, 1, Clear, 1.0, 2.0)[..2]);
    rows.extend(round(0, 2, Clear, 1.0, 0.0));
    rows.push(row(0, 0, Side::Other, Clear, 5.0));
    let got = rounds(&rows);
    assert_eq!(got.len(), 1);
    assert_eq!((got[0].treatment.amount.done, got[0].baselines[1].side), (2.0, Side::Twin));
}

#[test]
fn the_ratio_is_taken_inside_blocks_by_the_look_before_the_treatment() {
    // Block 1 is twice as fast in all. A look after that differs changes nothing, other states take no part.
    let mut rows = Vec::new();
    for (block, level) in [(0, 1.0), (1, 2.0)] {
        for at in 0..2 {
            rows.extend(round(block, at, SameCore, level, 1.2 * level));
            rows.extend(round(block, 10 + at, Clear, level, 2.0 * level));
            rows.extend(round(block, 20 + at, Neighbour, level, 9.0));
        }
    }
    rows.iter_mut().filter(|row| row.round == 1).for_each(|row| row.after = Some(Clear));
    let blocks = by_look_before(&rounds(&rows));
    assert_eq!(blocks.len(), 2);
    assert!(blocks.iter().all(|block| close(block.d, 0.6f64.ln()) && block.weight == 1.0), "{blocks:?}");
    assert_eq!(by_both_looks(&rounds(&rows)), [], "one round on one core is left in each block");
}

#[test]
fn disagreement_counts_both_states_alike() {
    // On one core 1 of 4 slices leaves it; of 16 clear ones none goes there. A look that does not know is no look.
    let mut rows: Vec<Row> = (0..4).flat_map(|at| round(0, at, SameCore, 1.0, 1.0)).collect();
    rows.extend((4..20).flat_map(|at| round(0, at, Clear, 1.0, 1.0)));
    rows.iter_mut().filter(|row| row.round == 0).for_each(|row| row.after = Some(Neighbour));
    rows.iter_mut().filter(|row| row.round == 5).for_each(|row| row.after = Some(Neighbour));
    assert_eq!(disagreement(&rounds(&rows)), Some(0.125));
    rows.iter_mut().filter(|row| row.round == 0).for_each(|row| row.after = Some(Away));
    assert_eq!(disagreement(&rounds(&rows)), Some(0.0));
    assert_eq!(disagreement(&[]), None);
}

#[test]
fn the_slope_between_blocks_worked_by_hand() {
    // Shares 0, 1/2 and 1; ratios 2, 1 and 1/2 of the baseline: the slope is ln(1/2) − ln(2), without residuals.
    let of_block = |block, states: [LookState; 2], rate| {
        (0..2u32).flat_map(move |at| round(block, at, states[at as usize], 1.0, rate)).collect::<Vec<_>>()
    };
    let rows: Vec<Row> = [[Clear; 2], [Clear, SameCore], [SameCore; 2]]
        .into_iter()
        .zip([2.0, 1.0, 0.5])
        .enumerate()
        .flat_map(|(block, (states, rate))| of_block(block as u32, states, rate))
        .collect();
    let slope = between_blocks(&rounds(&rows)).unwrap();
    assert!(close(slope.mean, -(4f64.ln())) && slope.standard_error < 1e-9, "{slope:?}");
    assert_eq!(between_blocks(&rounds(&study(8, 0.6))), None, "all blocks have the same share");
}

#[test]
fn shifts_keep_the_lengths_of_visits() {
    let p = |rows: &[Row], seed| {
        let rounds = rounds(rows);
        shift_p(&rounds, pooled(&by_look_before(&rounds)).unwrap().mean, 199, seed)
    };
    // A block of 20 rounds has four shifts that differ, of which one is no shift: with 12 blocks none of 199
    // draws reaches what was seen.
    assert_eq!(p(&study(12, 0.6), 1), 1.0 / 200.0);
    assert_eq!(p(&study(12, 0.6), 2), p(&study(12, 0.6), 2));
    assert!(p(&study(12, 1.0), 1) > 0.05);
    assert_eq!(shift_p(&[], 0.5, 9, 0), 1.0, "nothing to compare");
}

#[test]
fn the_gate_wants_blocks_and_episodes_of_both_states() {
    let seen = |rows: &[Row]| StateCounts::new(rows, &rounds(rows));
    let open = seen(&study(8, 0.6));
    // Five visits a block; the last clear rounds of a block and the first of the next are on two sides of one.
    assert_eq!((open.blocks, open.blocks_with_both, open.episodes()), (8, 8, 40));
    assert!(open.is_open() && close(open.prevalence.unwrap().mean, 0.5));
    assert!(!seen(&study(7, 0.6)).is_open());
    // A visit a block: 8 blocks have both, and there are 8 episodes.
    let rare = |visits: u32| -> Vec<Row> {
        let state = |block, at| if block < visits && at < 2 { SameCore } else { Clear };
        let all = (0..16).flat_map(|block| (0..20).map(move |at| (block, at)));
        all.flat_map(|(block, at)| round(block, at, state(block, at), 1.0, 2.0)).collect()
    };
    let closed = seen(&rare(8));
    assert_eq!((closed.blocks_with_both, closed.episodes(), closed.is_open()), (8, 8, false));
    // 20 episodes want 16 · 20/8 = 40 blocks; by the limits 3.454 and 15.763 of a count of 8, 21 and 93.
    assert_eq!(closed.needed(0.05), Needed { blocks: Some(40), low: 21, high: Some(93) });
    // Never seen: at most 3.689 in 16 blocks, so more than 86 blocks.
    assert_eq!(seen(&rare(0)).needed(0.05), Needed { blocks: None, low: 87, high: None });
}

fn check(check: Check, rows: &[Row]) -> f64 {
    pooled(&check.by_block(rows, &rounds(rows))).unwrap().mean
}

#[test]
fn checks_see_what_was_planted_and_nothing_else() {
    let calm = study(8, 0.6);
    for one in [Check::Prevalence, Check::Twin, Check::Baseline, Check::Chain] {
        assert!(close(check(one, &calm), 0.0), "{one:?}");
    }
    assert!(check(Check::Next, &calm).abs() < 0.01);
    assert!(close(check(Check::Wide, &calm), (5.0f64 / 9.0).ln()));
    let slowed = |sides: &'static [Side]| {
        let mut rows = calm.clone();
        let chosen = |row: &&mut Row| sides.contains(&row.side) && row.before == Some(SameCore);
        rows.iter_mut().filter(chosen).for_each(|row| row.amount.done *= 0.8);
        rows
    };
    let load = slowed(&[Side::Baseline, Side::Twin, Side::Treatment]);
    assert!(close(check(Check::Baseline, &load), 0.8f64.ln()) && close(check(Check::Twin, &load), 0.0));
    assert!(close(check(Check::Twin, &slowed(&[Side::Twin])), 0.8f64.ln()));
    let mut clock = calm.clone();
    clock.iter_mut().filter(|row| row.after == Some(SameCore)).for_each(|row| row.chain_per_ns = Some(0.9));
    assert!(close(check(Check::Chain, &clock), 0.9f64.ln()));
    let mut follows = calm;
    follows.iter_mut().filter(|row| row.side != Side::Treatment).for_each(|row| row.before = Some(Clear));
    assert!(close(check(Check::Prevalence, &follows), 0.5));
}

#[test]
fn the_next_state_is_compared_among_rounds_of_one_state() {
    // Two states; within each, rounds before one on one core are slower by a tenth.
    let states = [SameCore, SameCore, Clear, Clear, SameCore, SameCore, Clear, Clear, SameCore];
    let mut rows = Vec::new();
    for (at, state) in (0u32..).zip(states) {
        let is_before_same = states.get(at as usize + 1) == Some(&SameCore);
        let rate = if state == SameCore { 1.2 } else { 2.0 } * if is_before_same { 0.9 } else { 1.0 };
        rows.extend(round(0, at, state, 1.0, rate));
    }
    assert!(close(check(Check::Next, &rows), 0.9f64.ln()));
    // A slice that its state left in between says nothing of the next one.
    rows.iter_mut().for_each(|row| row.after = Some(Neighbour));
    assert_eq!(Check::Next.by_block(&rows, &rounds(&rows)), []);
}

#[test]
fn what_probes_do_not_know_is_left_out() {
    let mut rows = study(8, 0.6);
    rows.iter_mut().for_each(|row| (row.chain_per_ns, row.adds_per_ns) = (None, None));
    assert_eq!(Check::Chain.by_block(&rows, &rounds(&rows)), []);
    assert_eq!(Check::Wide.by_block(&rows, &rounds(&rows)), []);
}

#[test]
fn states_explain_what_they_make_and_no_more() {
    // The ratio is the state's alone but for 1% of wandering; A′/A never varies, so it has no share.
    let made = Spread::new(&rounds(&study(8, 0.6)), 0.05);
    let ratio = made.ratio.unwrap();
    assert!(ratio.mean > 0.99 && ratio.low <= ratio.mean && ratio.mean <= ratio.high, "{ratio:?}");
    assert_eq!(made.twin, None);
    // Clear rounds alone have the ratio of two cores; all of them lie between.
    let (raw, clear) = (made.raw.unwrap().mean, made.clear.unwrap().mean);
    assert!(
        (clear - 2f64.ln()).abs() < 0.01 && (raw - (clear + 0.6f64.ln() / 2.0)).abs() < 0.01,
        "{raw} {clear}"
    );
    let nothing = Spread::new(&rounds(&study(8, 1.0)), 0.05).ratio.unwrap();
    assert!(nothing.mean.abs() < 0.05 && nothing.low < 0.02, "{nothing:?}");
}

#[test]
fn a_share_of_variance_worked_by_hand() {
    // One block; A′ has a neighbour in half of its slices: ln(A′/A) is −1 ± 0.5 there and ±0.5 else. Around the
    // mean −0.5 the squares are 8 · (0.25 + 0.25) = 4, around the states' means 8 · 0.25 = 2, with 7 and 6
    // degrees of freedom: 1 − (2/6) / (4/7) = 5/12. The jackknife wants more than one block.
    let of_block = |block: u32| {
        (0..8u32).flat_map(move |at| {
            let state = if at < 4 { Neighbour } else { Clear };
            let log = if at < 4 { -1.0 } else { 0.0 } + if at % 2 == 0 { 0.5 } else { -0.5 };
            let twin = row(block, at, Side::Twin, state, f64::exp(log));
            [row(block, at, Side::Baseline, Clear, 1.0), twin, row(block, at, Side::Treatment, Clear, 1.0)]
        })
    };
    let one: Vec<Row> = of_block(0).collect();
    assert_eq!(Spread::new(&rounds(&one), 0.05).twin, None);
    // Three such blocks: 12 and 6 of squares, 21 and 20 degrees.
    let three: Vec<Row> = (0..3).flat_map(of_block).collect();
    let got = Spread::new(&rounds(&three), 0.05).twin.unwrap();
    assert!(close(got.mean, 1.0 - (6.0 / 20.0) / (12.0 / 21.0)), "{got:?}");
}
