//! Finds levels in latencies by the gaps between them. Pure.
//!
//! The density of the logarithms of the latencies is estimated with a Gaussian kernel (Silverman,
//! *Density Estimation for Statistics and Data Analysis*, 1986); a level ends at a deep valley of it.

/// Width of the kernel in ln(ns): minima of one pair repeat within a few per cent.
const KERNEL: f64 = 0.05;
/// Width of a bin in ln(ns).
const BIN: f64 = 0.01;
/// Reach of the kernel to each side, bins: four standard deviations.
const REACH: usize = 20;
/// Minimum ratio between the peaks of two levels. Distances on one mesh vary about as much from one neighbour to the
/// next, while a further cache or package costs more.
pub const MIN_RATIO: f64 = 1.25;
/// A valley is a boundary where its density is at most this share of the lower peak beside it. Two
/// single values at [`MIN_RATIO`] have 0.17.
const VALLEY: f64 = 0.2;

/// Boundaries between levels in nanoseconds, ascending; one level fewer than there are levels.
pub fn cuts(latencies_ns: &[f64]) -> Vec<f64> {
    let logs: Vec<f64> =
        latencies_ns.iter().filter(|ns| ns.is_finite() && **ns > 0.0).map(|v| v.ln()).collect();
    let low = logs.iter().copied().fold(f64::INFINITY, f64::min);
    let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if logs.is_empty() {
        return Vec::new();
    }
    let start = low - BIN * (REACH + 1) as f64;
    let mut counts = vec![0.0; ((high - low) / BIN) as usize + 2 * REACH + 4];
    for log in logs {
        counts[((log - start) / BIN) as usize] += 1.0;
    }
    let (mut peaks, mut valleys) = extremes(&smooth(&counts));
    while let Some(worst) = shallowest(&peaks, &valleys) {
        let lower = if peaks[worst].height < peaks[worst + 1].height { worst } else { worst + 1 };
        peaks.remove(lower);
        valleys.remove(worst);
    }
    valleys.iter().map(|valley| (start + BIN * valley.at).exp()).collect()
}

/// The level of a latency: how many boundaries lie below it.
pub fn level_of(cuts: &[f64], ns: f64) -> usize {
    cuts.partition_point(|cut| *cut < ns)
}

fn smooth(counts: &[f64]) -> Vec<f64> {
    let kernel: Vec<f64> =
        (0..=REACH).map(|away| (-0.5 * (away as f64 * BIN / KERNEL).powi(2)).exp()).collect();
    let mut density = vec![0.0; counts.len()];
    for (at, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
        let end = (at + REACH).min(counts.len() - 1);
        for (other, sum) in density.iter_mut().enumerate().take(end + 1).skip(at.saturating_sub(REACH)) {
            *sum += count * kernel[other.abs_diff(at)];
        }
    }
    density
}

/// A peak or valley; `at` is the middle of its flat stretch, in bins.
#[derive(Clone, Copy)]
struct Extreme {
    at: f64,
    height: f64,
}

/// Peaks in order, and the valley between each two.
fn extremes(density: &[f64]) -> (Vec<Extreme>, Vec<Extreme>) {
    let mut runs: Vec<Extreme> = Vec::new();
    let mut begin = 0;
    for end in 1..=density.len() {
        if end == density.len() || density[end] != density[begin] {
            // A bin is represented by its middle, hence the half.
            runs.push(Extreme { at: (begin + end) as f64 / 2.0, height: density[begin] });
            begin = end;
        }
    }
    let (mut peaks, mut valleys) = (Vec::new(), Vec::new());
    let mut lowest: Option<Extreme> = None;
    for (at, run) in runs.iter().enumerate() {
        let before = at.checked_sub(1).map_or(0.0, |before| runs[before].height);
        let after = runs.get(at + 1).map_or(0.0, |after| after.height);
        if run.height > before && run.height > after {
            valleys.extend(lowest.filter(|_| !peaks.is_empty()));
            peaks.push(*run);
            lowest = None;
        } else if lowest.is_none_or(|lowest| run.height < lowest.height) {
            lowest = Some(*run);
        }
    }
    (peaks, valleys)
}

/// The least separating boundary of those that do not separate enough.
fn shallowest(peaks: &[Extreme], valleys: &[Extreme]) -> Option<usize> {
    let depth = |at: usize| valleys[at].height / peaks[at].height.min(peaks[at + 1].height);
    // Half a bin of rounding on either side.
    let near = |at: usize| (peaks[at + 1].at - peaks[at].at + 1.0) * BIN < MIN_RATIO.ln();
    (0..valleys.len())
        .filter(|&at| depth(at) > VALLEY || near(at))
        .max_by(|&one, &other| depth(one).total_cmp(&depth(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn one_latency_is_one_level_and_none_is_no_boundary() {
        assert_eq!(cuts(&[57.0]), Vec::<f64>::new());
        assert_eq!(cuts(&[]), Vec::<f64>::new());
        assert_eq!(cuts(&[f64::NAN, 0.0]), Vec::<f64>::new());
    }

    #[test]
    fn boundaries_lie_between_levels_and_not_inside_of_one() {
        let cuts_of = cuts(&[8.0, 8.2, 45.0, 47.0, 52.0, 58.0, 130.0, 140.0]);
        assert_eq!(cuts_of.len(), 2, "{cuts_of:?}");
        assert!(cuts_of[0] > 8.2 && cuts_of[0] < 45.0 && cuts_of[1] > 58.0 && cuts_of[1] < 130.0);
        assert_eq!(cuts(&[50.0, 60.0]).len(), 0, "a ratio of 1.2");
        assert_eq!(cuts(&[50.0, 66.0]).len(), 1, "a ratio of 1.32");
    }

    #[test]
    fn a_wide_mesh_is_one_level() {
        let mesh: Vec<f64> = (0..200).map(|at| 40.0 + 0.25 * f64::from(at)).collect();
        assert_eq!(cuts(&mesh), Vec::<f64>::new());
    }

    #[test]
    fn strays_between_two_dense_levels_do_not_hide_them() {
        let mut values: Vec<f64> = (0..1000).map(|at| 20.0 * (1.0 + 0.0001 * f64::from(at))).collect();
        values.extend((0..1000).map(|at| 90.0 * (1.0 + 0.0001 * f64::from(at))));
        values.extend([30.0, 40.0, 50.0, 60.0]);
        let levels: BTreeSet<usize> = [21.0, 95.0].iter().map(|ns| level_of(&cuts(&values), *ns)).collect();
        assert_eq!(levels.len(), 2);
    }
}
