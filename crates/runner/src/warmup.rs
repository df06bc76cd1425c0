//! How long a treatment must run before its rate is that of the rest of a slice. Pure.
//!
//! Before the rounds of its first block every treatment runs in some windows, each after another treatment, so that
//! its caches are as in rounds. The rows of each window are counted in short pieces from the release of its sessions
//! (docs/METHODOLOGY.md, "Warm-up and halves of slices").

use threadwise_study::warmup::{LIMIT_NS, WINDOW_NS, WINDOWS, Warmup};

/// Length of the pieces that are counted.
pub const PIECE_NS: u64 = 2_000_000;
/// Pieces may be merged up to so many times their length, so that they have steps enough.
const LENGTHS: [usize; 3] = [1, 2, 4];
/// Fewest steps of a piece, on average: with fewer the rate of a piece means little.
const LEAST_STEPS: f64 = 50.0;

/// A treatment's result in one window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Window {
    /// Steps of all sessions.
    pub steps: u64,
    /// Rows of all sessions in each piece; empty where the engine does not count them.
    pub rows: Vec<u64>,
}

/// The warm-up: the end of the earliest two consecutive pieces of which the first is not slower than the second, and
/// both together not slower than the rest of the window, each by more than the margin (a fraction), or than two
/// standard deviations of the noise if that is more. Faster pieces are warm: a scheduler that has others to run first
/// gives their time to threads that slept, and no warm-up would end before that is over. A piece is the median over
/// the windows of its share of its window, since windows differ by more than the effect. The rest are the pieces
/// behind the two, by their mean. The noise of a piece is taken from differences of neighbours (von Neumann, Ann.
/// Math. Stat. 12, 1941) among those behind the limit, which no warm-up reaches.
///
/// Degenerate cases: 5 ms, with the reason, if the engine does not count pieces. The limit, with the reason, without
/// a window, if one has no row, if pieces have too few steps, and if the rate still rises at it.
pub fn choose(windows: &[Window], margin: f64) -> Warmup {
    let pieces = (WINDOW_NS / PIECE_NS) as usize;
    if windows.is_empty() {
        return Warmup::limit("no window was measured");
    }
    let is_without = |window: &Window| window.rows.len() != pieces;
    if windows.iter().all(is_without) {
        return Warmup::unseen("its engine does not count pieces of windows");
    }
    // No step ended in it.
    if windows.iter().any(is_without) {
        return Warmup::limit("a window without a row");
    }
    let steps = windows.iter().map(|window| window.steps).sum::<u64>() as f64;
    let steps_per_piece = steps / (windows.len() * pieces) as f64;
    let Some(length) = LENGTHS.into_iter().find(|length| steps_per_piece * *length as f64 >= LEAST_STEPS)
    else {
        return Warmup::limit("too few steps to see it");
    };
    let Some(shares) = shares(windows, length) else {
        return Warmup::limit("a window without a row");
    };
    let piece_ns = PIECE_NS * length as u64;
    let last = (LIMIT_NS / piece_ns) as usize;
    let noise = noise(&shares[last..]);
    let first = (2..=last).find(|end| is_settled(&shares, *end, margin.ln_1p(), noise));
    match first {
        Some(end) => Warmup { ns: end as u64 * piece_ns, piece_ns: Ok(piece_ns) },
        None => Warmup::limit("its rate did not settle before"),
    }
}

/// Whether of the two pieces before `end` the first is as fast as the second, and both as the mean of the rest, by
/// logarithms, given the standard deviation of a piece.
fn is_settled(shares: &[f64], end: usize, margin: f64, noise: f64) -> bool {
    let [one, other] = [shares[end - 2], shares[end - 1]];
    let rest = &shares[end..];
    let of_rest = rest.iter().sum::<f64>() / rest.len() as f64;
    let slower = |a: f64, b: f64| (b / a).ln();
    let within = |variances: f64| margin.max(2.0 * noise * variances.sqrt());
    // Without a row nothing was warmed.
    one.min(other) > 0.0
        && slower(one, other) <= within(2.0)
        && slower((one + other) / 2.0, of_rest) <= within(0.5 + 1.0 / rest.len() as f64)
}

/// Standard deviation of the logarithm of a piece, from neighbours; 0 if a piece has no row.
fn noise(shares: &[f64]) -> f64 {
    let differences: Vec<f64> = shares.windows(2).map(|pair| (pair[1] / pair[0]).ln().powi(2)).collect();
    let variance = differences.iter().sum::<f64>() / (2.0 * differences.len().max(1) as f64);
    if variance.is_finite() { variance.sqrt() } else { 0.0 }
}

/// For each merged piece the median over the windows of its share of its window.
fn shares(windows: &[Window], length: usize) -> Option<Vec<f64>> {
    let of_window = |window: &Window| {
        let all: u64 = window.rows.iter().sum();
        let share = |piece: &[u64]| piece.iter().sum::<u64>() as f64 / all as f64;
        (all > 0).then(|| window.rows.chunks_exact(length).map(share).collect::<Vec<f64>>())
    };
    let all: Option<Vec<Vec<f64>>> = windows.iter().map(of_window).collect();
    let all = all?;
    let pieces = all.first().map_or(0, Vec::len);
    Some((0..pieces).map(|at| median(all.iter().map(|window| window[at]).collect())).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => (values[middle - 1] + values[middle]) / 2.0,
        _ => values[middle],
    }
}

/// For each window the order of its treatments: rounds of a plan, each rotated by one place if it would begin
/// with the last treatment of the one before, so that every window comes after another treatment.
pub fn orders(rounds: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut last = None;
    let turned = |round: &Vec<usize>| {
        let mut order = round.clone();
        if order.len() > 1 && order.first().copied() == last {
            order.rotate_left(1);
        }
        last = order.last().copied();
        order
    };
    rounds.iter().filter(|round| !round.is_empty()).cycle().take(WINDOWS).map(turned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Windows with a rate by piece, as a share of the full one, with noise of up to 1% either way and windows that
    /// differ by a factor of 2.
    fn windows(steps_per_piece: u64, rate: impl Fn(usize) -> f64) -> Vec<Window> {
        let of_window = |window: usize| {
            let noise = |piece: usize| 1.0 + 0.01 * ((7919 * (31 * window + piece) + 13) as f64).sin();
            let level = 10_000.0 * (1.0 + window as f64 / 4.0);
            let rows = (0..20).map(|piece| (level * rate(piece) * noise(piece)) as u64).collect();
            Window { steps: 20 * steps_per_piece, rows }
        };
        (0..WINDOWS).map(of_window).collect()
    }

    #[test]
    fn agreeing_at_once_takes_the_first_two_pieces() {
        let seen = |ns, piece_ns| Warmup { ns, piece_ns: Ok(piece_ns) };
        assert_eq!(choose(&windows(50, |_| 1.0), 0.03), seen(4 * MS, 2 * MS));
        // Pieces with too few steps are put together.
        assert_eq!(choose(&windows(25, |_| 1.0), 0.03), seen(8 * MS, 4 * MS));
        assert_eq!(choose(&windows(13, |_| 1.0), 0.03), seen(16 * MS, 8 * MS));
    }

    #[test]
    fn a_slow_start_is_waited_for() {
        let slow = |pieces: usize| move |piece: usize| if piece < pieces { 0.7 } else { 1.0 };
        // Slow for 6 ms, and then two pieces that agree.
        assert_eq!(choose(&windows(50, slow(3)), 0.03).ns, 10 * MS);
        assert_eq!(choose(&windows(50, slow(13)), 0.03).ns, 30 * MS);
        // Two equal pieces that are not like the rest are not warm, however alike they are.
        assert_eq!(choose(&windows(50, slow(5)), 0.03).ns, 14 * MS);
        // A rate that comes nearer and nearer: within the margin of the rest from some piece on.
        let nearing = |piece: usize| 1.0 - 0.5 * (-(piece as f64) / 3.0).exp();
        let warmup = choose(&windows(50, nearing), 0.03);
        assert!((16 * MS..=24 * MS).contains(&warmup.ns), "{warmup:?}");
        assert!(choose(&windows(50, nearing), 0.10).ns < warmup.ns);
    }

    #[test]
    fn a_fast_start_is_warm() {
        // As on a guest whose logical CPUs other programs keep busy too.
        let falling = |piece: usize| 1.35 - 0.02 * piece as f64;
        assert_eq!(choose(&windows(50, falling), 0.03).ns, 4 * MS);
        let slow_then_fast = |piece: usize| if piece < 2 { 0.8 } else { falling(piece) };
        assert_eq!(choose(&windows(50, slow_then_fast), 0.03).ns, 8 * MS);
    }

    #[test]
    fn what_never_agrees_gets_the_limit_and_the_reason() {
        let rising = |piece: usize| 1.0 + 0.1 * piece as f64;
        assert_eq!(choose(&windows(50, rising), 0.03), Warmup::limit("its rate did not settle before"));
        let slow = |piece: usize| if piece < 14 { 0.7 } else { 1.0 };
        assert_eq!(choose(&windows(50, slow), 0.03), Warmup::limit("its rate did not settle before"));
    }

    #[test]
    fn noise_of_pieces_hides_no_slow_start_and_does_not_reach_the_limit() {
        // Pieces that differ by 15% in no order.
        let rough = |piece: usize| 1.0 + 0.15 * ((7919 * piece + 5) as f64).sin();
        assert!(choose(&windows(50, rough), 0.03).ns <= 12 * MS, "{:?}", choose(&windows(50, rough), 0.03));
        let slow_and_rough = |piece: usize| if piece < 6 { 0.5 } else { rough(piece) };
        let warmup = choose(&windows(50, slow_and_rough), 0.03);
        assert!((12 * MS..=20 * MS).contains(&warmup.ns), "{warmup:?}");
        let turning = |piece: usize| if piece.is_multiple_of(2) { 1.0 } else { 1.2 };
        assert_eq!(choose(&windows(50, turning), 0.03).ns, 4 * MS);
    }

    #[test]
    fn noise_is_half_of_what_neighbours_differ_by() {
        // Logarithms 0, 1, 0, 1: squares of differences 1 each, half of their mean is the variance.
        let e = std::f64::consts::E;
        assert!((noise(&[1.0, e, 1.0, e]) - 0.5f64.sqrt()).abs() < 1e-12);
        assert_eq!((noise(&[1.0, 0.0, 1.0]), noise(&[1.0])), (0.0, 0.0));
    }

    #[test]
    fn one_window_that_was_stopped_decides_nothing() {
        let mut some = windows(50, |_| 1.0);
        some[2].rows[0..10].fill(0);
        assert_eq!(choose(&some, 0.03).ns, 4 * MS);
    }

    #[test]
    fn what_cannot_be_seen_gets_the_limit_and_the_reason() {
        let limit = |some: &[Window]| choose(some, 0.03);
        assert_eq!(limit(&[]), Warmup::limit("no window was measured"));
        assert_eq!(limit(&windows(12, |_| 1.0)), Warmup::limit("too few steps to see it"));
        let uncounted = Window { steps: 10_000, rows: Vec::new() };
        assert_eq!(limit(&[uncounted]), Warmup::unseen("its engine does not count pieces of windows"));
        let mut some = windows(50, |_| 1.0);
        some[4] = Window::default();
        assert_eq!(limit(&some), Warmup::limit("a window without a row"));
        let mut some = windows(50, |_| 1.0);
        some[4].rows.fill(0);
        assert_eq!(limit(&some), Warmup::limit("a window without a row"));
        // A piece in which no session did anything agrees with no other.
        let stopped = windows(50, |piece| if piece < 4 { 0.0 } else { 1.0 });
        assert_eq!(limit(&stopped).ns, 12 * MS);
    }

    #[test]
    fn every_window_comes_after_another_treatment() {
        let rounds = vec![vec![0, 1, 2], vec![2, 1, 0], vec![0, 2, 1]];
        let orders = orders(&rounds);
        assert_eq!(orders.len(), WINDOWS);
        let all = orders.concat();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
        for treatment in 0..3 {
            assert_eq!(all.iter().filter(|at| **at == treatment).count(), WINDOWS);
        }
        assert_eq!(super::orders(&[vec![1, 0]]).concat(), [1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
        assert_eq!(super::orders(&[vec![0]]).len(), WINDOWS);
        assert!(super::orders(&[]).is_empty());
    }
}
