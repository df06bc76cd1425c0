//! What a study could decide given its noise, and how many blocks its margin would need.
//!
//! Source: Schuirmann 1987 for the test; the power of two one-sided tests at a true ratio of 1 as in Phillips, "Power
//! of the two one-sided tests procedure in bioequivalence", J. Pharmacokinetics and Biopharmaceutics 18 (1990),
//! approximated by a sum of two quantiles.

use super::guess::standard_error;
use crate::Analysis;
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_statistics::t_quantile;
use threadwise_study::Study;

/// Power: how often a study like this decides.
const POWER: f64 = 0.8;
/// Largest number of blocks that is reported.
const MOST_BLOCKS: u32 = 10_000;

/// What a study could decide.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Power {
    /// Smallest margin, as a fraction, within which a ratio of 1 would have been called equivalent in four of five
    /// studies like it, in every comparison of the headline.
    pub margin: f64,
    /// Comparison that needs that margin.
    pub comparison: String,
    /// Blocks that the study's own margin needs there; `None` above 10,000.
    pub blocks_needed: Option<u32>,
    /// Requested margin.
    pub asked: f64,
}

impl Power {
    /// The power of the headline's comparisons; `None` if none has two blocks.
    pub fn of(analysis: &Analysis, study: &Study) -> Option<Self> {
        let (asked, headline) = (study.design.margin, analysis.headline());
        let found = analysis.estimates.iter().filter(|estimate| estimate.metric == headline);
        let sds = found.filter_map(|estimate| Some((estimate, standard_error(&estimate.ratio)?)));
        let (worst, standard_error) = sds.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let alpha = 1.0 - worst.ratio.level;
        let sd = standard_error * f64::from(worst.ratio.blocks).sqrt();
        Some(Self {
            margin: decidable(standard_error, worst.ratio.blocks, alpha)?.exp_m1(),
            comparison: worst.name.clone(),
            blocks_needed: blocks_needed(sd, asked.ln_1p(), alpha),
            asked,
        })
    }

    /// Whether that is within the requested margin.
    pub fn decides(&self) -> bool {
        self.margin <= self.asked
    }
}

/// Smallest margin in logarithms that this number of blocks decides.
fn decidable(standard_error: f64, blocks: u32, alpha: f64) -> Option<f64> {
    let degrees = f64::from(blocks.checked_sub(1)?);
    Some((t_quantile(1.0 - alpha, degrees)? + t_quantile(0.5 + POWER / 2.0, degrees)?) * standard_error)
}

/// Fewest blocks that decide a margin, given in logarithms, if d has this standard deviation.
pub(crate) fn blocks_needed(sd: f64, margin: f64, alpha: f64) -> Option<u32> {
    let decides = |blocks: u32| {
        decidable(sd / f64::from(blocks).sqrt(), blocks, alpha).is_some_and(|needed| needed <= margin)
    };
    if !decides(MOST_BLOCKS) {
        return None;
    }
    let (mut too_few, mut enough) = (1, MOST_BLOCKS);
    while enough - too_few > 1 {
        let middle = (too_few + enough) / 2;
        if decides(middle) { enough = middle } else { too_few = middle }
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_for_three_percent_on_a_guest() {
        // Two cores of a guest had standard deviations of 6.7 to 11.7% over blocks.
        assert_eq!(blocks_needed(0.067, 0.03, 0.05), Some(45));
        assert_eq!(blocks_needed(0.117, 0.03, 0.05), Some(132));
        assert_eq!(blocks_needed(3.0, 0.03, 0.05), None);
        // (1.895 + 1.415) · 0.067 / √8.
        let eight = decidable(0.067 / 8f64.sqrt(), 8, 0.05).unwrap();
        assert!((eight - 0.0784).abs() < 1e-4, "{eight}");
        assert_eq!(decidable(0.01, 1, 0.05), None);
    }
}
