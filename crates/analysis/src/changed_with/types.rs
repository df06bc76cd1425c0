//! What is reported of what changed with a ratio.

use crate::Interval;
use crate::estimate::Change;
use serde::Serialize;

/// What changed with the ratios of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangedWith {
    /// Comparisons of which any quantity is known on both sides, in study order.
    pub comparisons: Vec<Compared>,
    /// Pairs of a comparison and a quantity whose links were tested together; 0 where none was.
    pub tested: u32,
    /// Blocks with which a plain link would be shown in four of five such studies.
    pub blocks_needed: u32,
    /// Why no link was tested, where none was.
    pub not_tested: Option<&'static str>,
}

/// What changed with one ratio.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// Name of the comparison.
    pub comparison: String,
    /// Treatment.
    pub treatment: String,
    /// Its baselines, joined by ` and `.
    pub baseline: String,
    /// What is said of it.
    pub answer: Explained,
    /// Blocks in which the ratio is known.
    pub blocks: u32,
    /// Everything that is known of both sides.
    pub quantities: Vec<Quantity>,
}

/// Whether anything moves with a ratio from block to block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Explained {
    /// One quantity does, or several.
    Moves,
    /// None does, and a plain link would have been shown in four of five such studies.
    Unexplained,
    /// None is shown to, and there are too few blocks to say that none does.
    TooFewBlocks,
    /// No difference of throughput is shown, so that nothing is to be explained.
    NoDifference,
    /// Nothing could be tested.
    NotTested,
}

/// One quantity on both sides of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quantity {
    /// Its name, unit last.
    pub metric: String,
    /// The baseline's, over the blocks in which both sides have it.
    #[serde(rename = "baseline_value")]
    pub baseline: Interval,
    /// The treatment's, over the same blocks.
    #[serde(rename = "treatment_value")]
    pub treatment: Interval,
    /// The change, paired by block; the adjusted intervals of a comparison's quantities hold together.
    pub change: Change,
    /// Whether it moves with the ratio; `None` where that is not tested.
    pub link: Option<Link>,
    /// Why it is not tested; `None` where it is.
    pub not_tested: Option<&'static str>,
}

/// Whether a quantity moves with the ratio of throughput from block to block.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Link {
    /// What was correlated with the ratio.
    pub form: Form,
    /// Spearman's rank correlation over blocks.
    pub correlation: f64,
    /// Lower end of its interval, for this one alone.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// p of the permutation test.
    pub p: f64,
    /// The same adjusted for all that were tested (Holm).
    pub adjusted_p: f64,
    /// Whether it is shown: the adjusted p is at most 1 less the level of intervals.
    pub shown: bool,
}

/// The form in which a quantity is free of the rate that it is correlated with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// As it is.
    AsItIs,
    /// Per second, where it falls as the rate rises.
    PerSecond,
    /// Per row, where it rises with the rate.
    PerRow,
}
