//! The sign-flip permutation test of a mean of differences.
//!
//! Source: Fisher, *The Design of Experiments* (1935), section 21; Pitman, "Significance tests which
//! may be applied to samples from any populations", J. R. Statist. Soc. Suppl. 4 (1937). The +1 of
//! the sampled form: Phipson, Smyth, "Permutation p-values should never be zero" (2010).

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Most values for which all 2ⁿ sign patterns are counted; with more, [`SIGN_FLIPS`] are drawn.
pub const EXACT_SIGN_FLIP_LIMIT: usize = 12;

/// Sign patterns drawn if there are too many to count.
pub const SIGN_FLIPS: u32 = 10_000;

/// Two-sided sign-flip p: how often a random choice of signs gives a mean at least as far from 0 as the observed one.
///
/// Assumes that without a difference each d would be as likely as −d, independently; no normality. Exact by enumeration
/// up to [`EXACT_SIGN_FLIP_LIMIT`] values, where the smallest possible p is 2/2ⁿ; above it (1 + hits) / (1 +
/// [`SIGN_FLIPS`]) with ChaCha8 seeded by `seed`.
///
/// Degenerate cases: no value, a value that is not finite, or all zero gives 1.
pub fn sign_flip_p(values: &[f64], seed: u64) -> f64 {
    if values.is_empty() || values.iter().any(|value| !value.is_finite()) {
        return 1.0;
    }
    let seen = values.iter().sum::<f64>().abs();
    // Sums of the same numbers in another order differ in the last digits: equal is "as far".
    let reach = seen - 1e-12 * values.iter().map(|value| value.abs()).sum::<f64>();
    let groups = flipped_sums(values);
    if values.len() <= EXACT_SIGN_FLIP_LIMIT {
        let patterns = 1u64 << values.len();
        let hits =
            (0..patterns).filter(|bits| flipped_sum(&groups, &bits.to_le_bytes()).abs() >= reach).count();
        return hits as f64 / patterns as f64;
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut signs = vec![0u8; groups.len()];
    let mut hits = 0u32;
    for _ in 0..SIGN_FLIPS {
        random.fill_bytes(&mut signs);
        hits += u32::from(flipped_sum(&groups, &signs).abs() >= reach);
    }
    f64::from(1 + hits) / f64::from(1 + SIGN_FLIPS)
}

/// For every 8 values the 256 possible sums by their signs: a set bit flips. Missing values of the last group are 0, so
/// their bits do not matter.
fn flipped_sums(values: &[f64]) -> Vec<[f64; 256]> {
    let of_group = |group: &[f64]| {
        let mut sums = [0.0; 256];
        for (bits, sum) in sums.iter_mut().enumerate() {
            *sum = group.iter().enumerate().map(|(i, x)| if bits >> i & 1 == 1 { -x } else { *x }).sum();
        }
        sums
    };
    values.chunks(8).map(of_group).collect()
}

/// Sum of all values under one sign pattern, eight signs per byte.
fn flipped_sum(groups: &[[f64; 256]], signs: &[u8]) -> f64 {
    groups.iter().zip(signs).map(|(sums, bits)| sums[usize::from(*bits)]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, sign by sign.
    fn by_definition(values: &[f64]) -> f64 {
        let seen = values.iter().sum::<f64>().abs();
        let mut hits = 0u32;
        for bits in 0..1u32 << values.len() {
            let sum: f64 =
                values.iter().enumerate().map(|(i, x)| if bits >> i & 1 == 1 { -x } else { *x }).sum();
            hits += u32::from(sum.abs() >= seen - 1e-12);
        }
        f64::from(hits) / f64::from(1u32 << values.len())
    }

    #[test]
    fn three_values_worked_by_hand() {
        // 1, 2, 4 sum to 7: of the eight sums ±7 ±5 ±3 ±1 only ±7 are as far: 2/8.
        assert_eq!(sign_flip_p(&[1.0, 2.0, 4.0], 0), 0.25);
        // -1, 2, 4 sum to 5: ±7 and ±5: 4/8.
        assert_eq!(sign_flip_p(&[-1.0, 2.0, 4.0], 0), 0.5);
        // 1, -1 sum to 0: every pattern is as far.
        assert_eq!(sign_flip_p(&[1.0, -1.0], 0), 1.0);
    }

    #[test]
    fn eight_blocks_of_one_sign_have_the_smallest_p() {
        assert_eq!(sign_flip_p(&[0.3, 0.1, 0.2, 0.4, 0.15, 0.22, 0.31, 0.28], 0), 2.0 / 256.0);
    }

    #[test]
    fn exact_up_to_twelve() {
        let values = [0.31, -0.12, 0.05, 0.4, -0.33, 0.27, 0.11, 0.02, -0.07, 0.19, 0.23, -0.01];
        for n in 1..=EXACT_SIGN_FLIP_LIMIT {
            assert_eq!(sign_flip_p(&values[..n], 1), by_definition(&values[..n]), "{n} values");
        }
    }

    #[test]
    fn drawn_flips_come_near_the_exact_answer_and_repeat() {
        let values =
            [0.2, -0.1, 0.15, 0.05, -0.12, 0.3, 0.01, 0.08, -0.02, 0.11, 0.04, -0.09, 0.06, 0.07, 0.02];
        let exact = by_definition(&values);
        let drawn = sign_flip_p(&values, 7);
        // Standard deviation of the drawn p is √(p(1−p)/10000) ≤ 0.005: five of them.
        assert!((drawn - exact).abs() < 0.025, "{drawn} against {exact}");
        assert_eq!(drawn, sign_flip_p(&values, 7));
    }

    #[test]
    fn never_zero_when_drawn() {
        let p = sign_flip_p(&[1.0; 64], 3);
        assert_eq!(p, 1.0 / 10_001.0);
    }

    #[test]
    fn too_little_to_say() {
        assert_eq!(sign_flip_p(&[], 0), 1.0);
        assert_eq!(sign_flip_p(&[0.0; 5], 0), 1.0);
        assert_eq!(sign_flip_p(&[1.0, f64::NAN], 0), 1.0);
        assert_eq!(sign_flip_p(&[2.0], 0), 1.0);
    }
}
