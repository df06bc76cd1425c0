//! Ratios by state on simulated guests whose truth is known: how often a claim is false, how often the interval
//! covers what is estimated, whether planted confounders are noticed, and how often a real effect is claimed.
//!
//! The figures stand in docs/METHODOLOGY.md, "Where slices ran: ratios by state". They are printed by
//! `THREADWISE_TEST_STUDIES=2000 cargo test -p threadwise-analysis --test it lab_simulations::states -- --ignored --nocapture`; without the
//! variable there are fewer studies, and the limits allow for it.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod model;

use model::{Guest, Planted, REALISTIC, Visits, noiseless, study, study_with_truth};
use threadwise_analysis::looks::claim::{ByState, CHECK_LIMIT, Checked, Claim, Level, by_state};
use threadwise_analysis::looks::contrast::{Contrast, Unit, by_block};
use threadwise_analysis::looks::effect::{by_look_before, unit};
use threadwise_analysis::looks::gate::StateCounts;
use threadwise_analysis::looks::rows::{By, rounds};
use threadwise_analysis::looks::spread::Spread;
use threadwise_analysis::looks::states::LookState;

const ALPHA: f64 = 0.05;

/// Studies a scenario without the environment variable.
const QUICK: u64 = 40;

/// ln of what two logical CPUs on one core do over what they do on two.
fn one_core() -> f64 {
    0.65f64.ln()
}

fn visits(share: f64, mean_s: f64) -> Visits {
    Visits { share, mean_s }
}

fn asked() -> Option<u64> {
    std::env::var("THREADWISE_TEST_STUDIES").ok()?.parse().ok()
}

fn studies() -> u64 {
    asked().unwrap_or(QUICK)
}

/// Three standard deviations of a share that is seen in all studies: what a limit allows for.
fn chance(share: f64) -> f64 {
    3.0 * (share * (1.0 - share) / studies() as f64).sqrt()
}

/// What became of the studies of a scenario, each a share of all.
#[derive(Debug, Default, Clone, Copy)]
struct Ended {
    open: f64,
    shown: f64,
    claimed: f64,
    sized: f64,
    covered: f64,
    half_width: f64,
    disagreement: f64,
    /// Of each check, how often it did not pass where a difference was shown.
    failed: [f64; 6],
}

fn measured(guest: &Guest, seed: u64) -> Option<ByState> {
    let rows = study(guest, seed);
    let by = if guest.by_distance { By::Distance { cut_ns: 60.0 } } else { By::Core };
    let level = Level { alpha: ALPHA, shifts: 199, seed, by };
    StateCounts::new(&rows, &rounds(&rows)).is_open().then(|| by_state(&rows, level)).flatten()
}

fn ended(guest: &Guest, truth: f64, first_seed: u64) -> Ended {
    let mut sums = Ended::default();
    let all = studies();
    for seed in 0..all {
        let Some(got) = measured(guest, first_seed + seed) else { continue };
        let count = |is: bool| f64::from(u8::from(is));
        sums.open += 1.0;
        let is_shown = got.claim != Claim::NotShown;
        sums.shown += count(is_shown);
        sums.claimed += count(matches!(got.claim, Claim::Size | Claim::Direction));
        sums.sized += count(got.claim == Claim::Size);
        sums.covered += count((got.ratio.low..=got.ratio.high).contains(&truth));
        sums.half_width += (got.ratio.high - got.ratio.low) / 2.0;
        sums.disagreement += got.disagreement.unwrap_or(f64::NAN);
        for (failed, check) in sums.failed.iter_mut().zip(&got.checks) {
            *failed += count(is_shown && !check.passed());
        }
    }
    let (open, shown, all) = (sums.open.max(1.0), sums.shown.max(1.0), all as f64);
    Ended {
        open: sums.open / all,
        shown: sums.shown / all,
        claimed: sums.claimed / all,
        sized: sums.sized / all,
        covered: sums.covered / open,
        half_width: sums.half_width / open,
        disagreement: sums.disagreement / open,
        failed: sums.failed.map(|count| count / shown),
    }
}

fn print(name: &str, got: &Ended) {
    let percent = |share: f64| format!("{:.2}%", 100.0 * share);
    println!(
        "{name}: gate {} shown {} claimed {} (size {}) covered {} half-width {:.4} q {} failed {:?}",
        percent(got.open),
        percent(got.shown),
        percent(got.claimed),
        percent(got.sized),
        percent(got.covered),
        got.half_width,
        percent(got.disagreement),
        got.failed.map(percent)
    );
}

/// Runs scenarios on two threads, in their order.
fn each<T: Sync, R: Send>(scenarios: &[T], run: impl Fn(usize, &T) -> R + Sync) -> Vec<R> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(scenario) = scenarios.get(at) else { return done };
            done.push((at, run(at, scenario)));
        }
    };
    let mut all = std::thread::scope(|scope| {
        let other = scope.spawn(worker);
        let mut all = worker();
        all.extend(other.join().unwrap());
        all
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, result)| result).collect()
}

/// The estimand: the mean over blocks, weighted as in the estimate, of the logarithm by the look before,
/// without noise; of many studies.
fn estimand(guest: &Guest) -> f64 {
    let guest = noiseless(guest);
    let (mut sum, mut weights) = (0.0, 0.0);
    for seed in 0..100 {
        for block in by_look_before(&rounds(&study(&guest, 900_000 + seed))) {
            sum += block.weight * block.d;
            weights += block.weight;
        }
    }
    sum / weights
}

#[test]
#[ignore = "laboratory: simulations"]
fn states_without_an_effect_are_not_claimed_to_have_one() {
    let real = REALISTIC;
    let scenarios = [
        ("25%, 1 s", real),
        ("25%, 10 s", Guest { same: visits(0.25, 10.0), ..real }),
        ("50%, 50 ms", Guest { same: visits(0.5, 0.05), ..real }),
        ("50%, 5 ms", Guest { same: visits(0.5, 0.005), ..real }),
        ("5%, 0.2 s", Guest { same: visits(0.05, 0.2), ..real }),
        ("0.15%, 1 s", Guest { same: visits(0.0015, 1.0), ..real }),
        ("16 blocks", Guest { blocks: 16, ..real }),
        ("256 blocks", Guest { blocks: 256, ..real }),
        ("neighbours 20%, 0.1 s", Guest { neighbour: visits(0.2, 0.1), ..real }),
        ("neighbours follow 30% of the treatment's slices", Guest { following: 0.3, ..real }),
        ("clocks drift by 10%", Guest { clock: 0.1, ..real }),
        ("drift ten times slower", Guest { drift_slices: 182.0, ..real }),
        ("noise three times as large", Guest { noise: 0.126, ..real }),
        ("5% of looks are wrong", Guest { wrong: 0.05, ..real }),
        ("by distance", Guest { by_distance: true, ..real }),
        ("by distance, 5%, 0.2 s", Guest { by_distance: true, same: visits(0.05, 0.2), ..real }),
        (
            "by distance, neighbours 20%, 0.1 s",
            Guest { by_distance: true, neighbour: visits(0.2, 0.1), ..real },
        ),
        ("by distance, 16 blocks", Guest { by_distance: true, blocks: 16, ..real }),
        ("by distance, drift ten times slower", Guest { by_distance: true, drift_slices: 182.0, ..real }),
    ];
    let ends = each(&scenarios, |at, (_, guest)| ended(guest, 0.0, 1_000_000 * (at as u64 + 1)));
    for ((name, _), got) in scenarios.iter().zip(ends) {
        print(name, &got);
        assert!(got.claimed <= 0.05 + chance(0.01), "{name}: {got:?}");
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn the_interval_covers_the_ratio_by_the_look_before() {
    let real = Guest { effect: one_core(), ..REALISTIC };
    let scenarios = [
        ("25%, 1 s", real),
        ("25%, 0.2 s", Guest { same: visits(0.25, 0.2), ..real }),
        ("25%, 10 s", Guest { same: visits(0.25, 10.0), ..real }),
        ("25%, 10 s, 128 blocks", Guest { same: visits(0.25, 10.0), blocks: 128, ..real }),
        ("50%, 5 s", Guest { same: visits(0.5, 5.0), ..real }),
        ("50%, 50 ms", Guest { same: visits(0.5, 0.05), ..real }),
        ("50%, 5 ms", Guest { same: visits(0.5, 0.005), ..real }),
        ("5%, 0.2 s", Guest { same: visits(0.05, 0.2), ..real }),
        ("5%, 1 s", Guest { same: visits(0.05, 1.0), ..real }),
        ("25%, 1 s, 16 blocks", Guest { blocks: 16, ..real }),
        ("0.7%, 1 s, 256 blocks", Guest { same: visits(0.007, 1.0), blocks: 256, ..real }),
    ];
    let ends = each(&scenarios, |at, (_, guest)| {
        let truth = estimand(guest);
        (truth, ended(guest, truth, 50_000_000 + 1_000_000 * at as u64))
    });
    for ((name, guest), (truth, got)) in scenarios.iter().zip(ends) {
        println!("{name}: estimand {:.4}, {:.1}% of ln(0.65)", truth, 100.0 * truth / guest.effect);
        print(name, &got);
        assert!(got.open > 0.3, "{name}: {got:?}");
        assert!((0.93 - chance(0.05)..=0.97 + chance(0.05)).contains(&got.covered), "{name}: {got:?}");
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn planted_confounders_are_refused() {
    let real = Guest { effect: one_core(), ..REALISTIC };
    let load = |effect, baseline, treatment| Guest {
        effect,
        same: visits(0.1, 1.0),
        planted: Planted::Load { baseline, treatment },
        ..real
    };
    let scenarios = [
        ("load slows all to 0.8, no effect", load(0.0, 0.8, 0.8)),
        ("load slows A to 0.9, P to 0.8, no effect", load(0.0, 0.9, 0.8)),
        ("load slows P alone to 0.8, no effect", load(0.0, 1.0, 0.8)),
        ("load slows all to 0.8", load(one_core(), 0.8, 0.8)),
        ("load slows A to 0.8, P to 0.65", load(one_core(), 0.8, 0.65)),
        ("clock falls to 0.85", Guest { planted: Planted::Clock(0.85), ..real }),
        ("A' alone is slowed to 0.8", Guest { planted: Planted::Twin(0.8), ..real }),
        (
            "the treatment brings the state",
            Guest { same: visits(0.25, 0.1), planted: Planted::Follows(0.9), ..real },
        ),
    ];
    let ends = each(&scenarios, |at, (_, guest)| ended(guest, 0.0, 100_000_000 + 1_000_000 * at as u64));
    for ((name, _), got) in scenarios.iter().zip(ends) {
        print(name, &got);
        assert!(got.claimed <= 0.1, "{name}: {got:?}");
    }
    // What a check of equivalence allows, and what no check can see: printed, and not asserted.
    if asked().is_none() {
        return;
    }
    let no_neighbour = visits(0.0, 1.0);
    let alone = Guest { neighbour: no_neighbour, following: 0.0, ..load(0.0, 1.0, 0.8) };
    let limits = [
        ("load slows all to 0.95", load(one_core(), 0.95, 0.95)),
        ("load slows all to 0.9", load(one_core(), 0.9, 0.9)),
        ("load slows P alone to 0.8", load(one_core(), 1.0, 0.8)),
        ("load slows P alone to 0.8, no effect, no neighbours, 256 blocks", Guest { blocks: 256, ..alone }),
    ];
    let ends = each(&limits, |at, (_, guest)| ended(guest, 0.0, 120_000_000 + 1_000_000 * at as u64));
    limits.iter().zip(ends).for_each(|((name, _), got)| print(name, &got));
}

#[test]
#[ignore = "laboratory: simulations"]
fn a_real_effect_is_claimed() {
    let real = Guest { effect: one_core(), ..REALISTIC };
    let got = ended(&real, 0.0, 150_000_000);
    print("ln 0.65, 25%, 1 s, 64 blocks", &got);
    assert!(got.claimed >= 0.8 - chance(0.8), "{got:?}");
    if asked().is_none() {
        return;
    }
    other_limits(&real);
    let scenarios = [
        ("ln 0.65, 16 blocks", Guest { blocks: 16, ..real }),
        ("ln 0.65, 32 blocks", Guest { blocks: 32, ..real }),
        ("ln 0.65, 128 blocks", Guest { blocks: 128, ..real }),
        ("ln 0.8, 64 blocks", Guest { effect: 0.8f64.ln(), ..real }),
        ("ln 0.8, 256 blocks", Guest { effect: 0.8f64.ln(), blocks: 256, ..real }),
        ("ln 0.65, 5%, 1 s", Guest { same: visits(0.05, 1.0), ..real }),
        ("ln 0.65, 5%, 1 s, 256 blocks", Guest { same: visits(0.05, 1.0), blocks: 256, ..real }),
        ("ln 0.65, 25%, 0.2 s", Guest { same: visits(0.25, 0.2), ..real }),
        ("ln 0.65, 25%, 50 ms", Guest { same: visits(0.25, 0.05), ..real }),
        ("ln 0.65, no neighbours", Guest { neighbour: visits(0.0, 1.0), following: 0.0, ..real }),
    ];
    let ends = each(&scenarios, |at, (_, guest)| ended(guest, 0.0, 160_000_000 + 1_000_000 * at as u64));
    scenarios.iter().zip(ends).for_each(|((name, _), got)| print(name, &got));
}

/// How often the same studies are claimed with checks at other levels, and with limits from the end of the
/// ratio's interval that is nearer to 1.
fn other_limits(guest: &Guest) {
    let seeds: Vec<u64> = (150_000_000..150_000_000 + studies()).collect();
    let passes = each(&seeds, |_, seed| {
        let rows = study(guest, *seed);
        let of_level = |alpha| by_state(&rows, Level { alpha, shifts: 0, seed: 0, by: By::Core }).unwrap();
        let [usual, strict] = [ALPHA, ALPHA / 2.0].map(of_level);
        let nearer = usual.ratio.low.abs().min(usual.ratio.high.abs());
        let within = |checks: &ByState, limit: f64| {
            usual.ratio.leaves_out_0()
                && checks
                    .checks
                    .iter()
                    .all(|one| Checked { limit: one.limit.map(|_| limit), ..*one }.passed())
        };
        let point = usual.ratio.mean.abs();
        [(&usual, point), (&strict, point), (&usual, nearer), (&strict, nearer)]
            .map(|(checks, size)| within(checks, CHECK_LIMIT * size))
    });
    let share = |at: usize| passes.iter().filter(|all| all[at]).count() as f64 / passes.len() as f64;
    let [usual, strict, usual_end, strict_end] = [0, 1, 2, 3].map(share);
    println!(
        "claimed, checks at 90% {usual} and 95% {strict}; with limits of the nearer end {usual_end} {strict_end}"
    );
}

#[test]
#[ignore = "laboratory: simulations"]
fn what_states_explain_of_the_spread() {
    let real = Guest { effect: one_core(), ..REALISTIC };
    for (name, guest) in [("ln 0.65", real), ("no effect", REALISTIC)] {
        let seeds: Vec<u64> = (400_000_000..400_000_000 + studies()).collect();
        let all = each(&seeds, |_, seed| Spread::new(&rounds(&study(&guest, *seed)), ALPHA));
        let mean = |of: &dyn Fn(&Spread) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        let share = mean(&|spread| spread.ratio.as_ref().unwrap().mean);
        let covers =
            |one: &threadwise_document::Interval| f64::from(u8::from((one.low..=one.high).contains(&share)));
        let covered = mean(&|spread| covers(spread.ratio.as_ref().unwrap()));
        let half = |one: Contrast| (one.high - one.low) / 2.0;
        println!(
            "{name}: states explain {share:.3} of the ratio's variance ({:.3} of A/A), covered {covered:.3}; ratio {:.4} \
             ±{:.4} over all rounds, {:.4} ±{:.4} over clear ones",
            mean(&|spread| spread.twin.as_ref().unwrap().mean),
            mean(&|spread| spread.raw.unwrap().mean),
            mean(&|spread| half(spread.raw.unwrap())),
            mean(&|spread| spread.clear.unwrap().mean),
            mean(&|spread| half(spread.clear.unwrap())),
        );
        assert!(covered >= 0.9 - chance(0.1), "{name}: {covered}");
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn what_visits_shorter_than_a_slice_take_away() {
    let calm = noiseless(&Guest { effect: one_core(), wrong: 0.0, away: 0.0, ..REALISTIC });
    for (mean_s, kept) in [(0.005, 0.08), (0.05, 0.61), (0.2, 0.88), (1.0, 0.97), (10.0, 1.0)] {
        // Few visits: what comes into slices that began on two cores is little.
        let guest = Guest { same: visits(0.02, mean_s), ..calm };
        let units = |seed| rounds(&study(&guest, seed)).iter().filter_map(unit).collect::<Vec<_>>();
        // All as one block: the ratio of sums over all slices.
        let all = (0..60).flat_map(|seed| units(200_000_000 + seed));
        let got = by_block(all.map(|one| Unit { block: 0, ..one }), 1);
        println!("visits of {mean_s} s: {:.3} of the logarithm kept", got[0].d / guest.effect);
        assert!((got[0].d / guest.effect - kept).abs() < 0.05, "{mean_s}: {got:?}");
    }
}

#[test]
#[ignore = "laboratory: simulations"]
fn how_often_the_label_is_right() {
    for (share, at_least) in [(0.0015, 0.1), (0.01, 0.5), (0.05, 0.85), (0.25, 0.97), (0.5, 0.99)] {
        let guest = Guest { same: visits(share, 0.2), ..REALISTIC };
        let (mut right, mut all) = (0.0, 0.0);
        for seed in 0..20 {
            let seen = study_with_truth(&guest, 300_000_000 + seed);
            for (_, was_same) in seen.iter().filter(|(row, _)| row.before == Some(LookState::SameCore)) {
                right += f64::from(u8::from(*was_same));
                all += 1.0;
            }
        }
        println!("prevalence {share}: {:.1}% of {all} looks on one core were", 100.0 * right / all);
        assert!(right / all >= at_least, "{share}: {right} of {all}");
    }
}
