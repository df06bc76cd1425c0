//! Values and ratios with their intervals: the result types of the analysis, which reports show.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value with its interval over blocks.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Interval {
    /// Centre.
    pub mean: f64,
    /// Lower end; not finite with one block.
    pub low: f64,
    /// Upper end; not finite with one block.
    pub high: f64,
    /// Unit, such as `1/s`, `ns`, `share`, `bytes`, `1` ([`crate::numbers::value`]).
    pub unit: String,
}

impl Interval {
    /// From a value and its ends.
    pub fn of([mean, low, high]: [f64; 3], unit: &str) -> Self {
        Self { mean, low, high, unit: unit.to_owned() }
    }

    /// Its value and its ends, each changed in the same way.
    pub fn each(&self, change: impl Fn(f64) -> f64, unit: &str) -> Self {
        Self::of([self.mean, self.low, self.high].map(change), unit)
    }

    /// Whether both ends are known: one block has none.
    pub fn has_ends(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    /// The longer side as a share of the centre; `None` without ends, or if the centre is 0 or less.
    pub fn half_share(&self) -> Option<f64> {
        let side = (self.high - self.mean).max(self.mean - self.low);
        (self.has_ends() && self.mean > 0.0).then_some(side / self.mean)
    }

    /// An interval of logarithms as one of ratios.
    pub fn exp(&self) -> Self {
        self.each(f64::exp, RATIO)
    }

    /// The interval in another unit.
    pub fn scaled(&self, factor: f64, unit: &str) -> Self {
        self.each(|value| value * factor, unit)
    }
}

/// Which side of 1 is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub enum Direction {
    /// More is better: throughput, speed.
    #[default]
    #[serde(rename = "higher-is-better")]
    HigherIsBetter,
    /// Less is better: time, CPU, memory.
    #[serde(rename = "lower-is-better")]
    LowerIsBetter,
    /// Unknown: a metric of a command without a direction.
    #[serde(rename = "neither")]
    Neither,
}

/// Answer to a ratio: one of five, of which the first has two sides. The margin was set in advance
/// (docs/METHODOLOGY.md, "One margin").
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Larger by more than the margin: the whole interval is beyond it.
    Larger,
    /// Smaller by more than the margin.
    Smaller,
    /// Different, by less than the margin: the interval excludes 1 and is within the margin.
    WithinMargin,
    /// Different, by an open amount: the interval excludes 1 and crosses the margin.
    SizeOpen,
    /// Equivalent within the margin: two one-sided tests say so, and the interval contains 1.
    Equivalent,
    /// None of these.
    Undecided,
}

impl Answer {
    /// The answer of an interval of a ratio alone: equivalent if it contains 1 and is within the margin.
    pub fn by_interval(low: f64, high: f64, margin: f64) -> Self {
        let (least, most) = (1.0 / (1.0 + margin), 1.0 + margin);
        let (is_within, leaves_out_1) = (low >= least && high <= most, low > 1.0 || high < 1.0);
        match (is_within, leaves_out_1) {
            _ if low > most => Self::Larger,
            _ if high < least => Self::Smaller,
            (true, true) => Self::WithinMargin,
            (true, false) => Self::Equivalent,
            (false, true) => Self::SizeOpen,
            (false, false) => Self::Undecided,
        }
    }
}

/// The answer to a ratio at a glance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Above 1, by more than the margin or by an open amount.
    Higher,
    /// Below 1, likewise.
    Lower,
    /// As good as 1: equivalent, or different by less than the margin.
    Same,
    /// The interval is too wide to decide.
    Undecided,
}

impl Mark {
    /// All marks.
    pub const ALL: [Self; 4] = [Self::Higher, Self::Lower, Self::Same, Self::Undecided];

    /// Its sign, one column wide.
    pub fn sign(self) -> char {
        match self {
            Self::Higher => '▲',
            Self::Lower => '▼',
            Self::Same => '=',
            Self::Undecided => '?',
        }
    }

    /// What the sign means.
    pub fn words(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::Same => "within the margin",
            Self::Undecided => "undecided",
        }
    }
}

/// Which words name an effect upwards and one downwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Says {
    /// `higher`, `lower`.
    #[default]
    Higher,
    /// `better`, `worse` by the direction; `higher`, `lower` if neither is better.
    Better,
    /// `faster`, `slower`: for ratios of speed.
    Faster,
}

/// Unit of an estimate that is a ratio.
pub const RATIO: &str = "ratio";

/// An estimate with its intervals over blocks (or boots, machines, studies), judged with its family: a ratio of two
/// treatments, or a difference.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Ratio {
    /// For a ratio exp(mean of d), else the mean of d.
    pub value: f64,
    /// Lower end; for a ratio 0 with one block.
    pub low: f64,
    /// Upper end; infinite with one block.
    pub high: f64,
    /// Unit: `ratio`, `points` for a difference in percentage points, or that of the quantity.
    pub unit: &'static str,
    /// Lower end of the deciding interval, which is adjusted for all members of the family (Holm, Bonferroni; for
    /// single queries for those that are selected) and for correlation of blocks (docs/METHODOLOGY.md).
    pub adjusted_low: f64,
    /// Its upper end.
    pub adjusted_high: f64,
    /// Blocks used.
    pub blocks: u32,
    /// Confidence level of `low` and `high`: for a query that is reported to differ, that of the selected ones.
    pub level: f64,
    /// Two-sided p of the t test that nothing differs.
    pub p: f64,
    /// p adjusted for the family.
    pub adjusted_p: f64,
    /// Members that were judged together.
    #[serde(rename = "judged_together")]
    pub family: u32,
    /// Lag-1 correlation of neighbouring blocks that the intervals allow for.
    pub correlation: f64,
    /// A/A result of the same quantity, as a ratio above 1 (1.02 is ±2%); `None` if unknown. It decides nothing.
    pub floor: Option<f64>,
    /// Margin, as a fraction: 0.03 is from 1 / 1.03 to 1.03.
    pub margin: f64,
    /// The answer.
    pub answer: Answer,
    /// Which side of 1 is better.
    pub direction: Direction,
}

impl Ratio {
    /// Whether both ends are known: one block has none.
    pub fn has_ends(&self) -> bool {
        let is_bounded = if self.unit == RATIO { self.low > 0.0 } else { self.low.is_finite() };
        is_bounded && self.high.is_finite()
    }

    /// The value with its own interval.
    pub fn interval(&self) -> Interval {
        Interval { mean: self.value, low: self.low, high: self.high, unit: self.unit.to_owned() }
    }

    /// A difference of logarithms, on whose scale it was judged, as a ratio.
    pub fn exp(self) -> Self {
        Self {
            value: self.value.exp(),
            low: self.low.exp(),
            high: self.high.exp(),
            adjusted_low: self.adjusted_low.exp(),
            adjusted_high: self.adjusted_high.exp(),
            unit: RATIO,
            ..self
        }
    }

    /// For a ratio: its distance from 1, in logarithms.
    pub fn size(&self) -> f64 {
        self.value.ln().abs()
    }

    /// Whether it is shown to be larger or smaller by more than the margin.
    pub fn is_beyond(&self) -> bool {
        matches!(self.answer, Answer::Larger | Answer::Smaller)
    }

    /// Half of the interval's width as a fraction: 0.02 if it reaches from value / 1.02 to value · 1.02. Infinite with
    /// one block.
    pub fn half_width(&self) -> f64 {
        (self.high / self.low).sqrt() - 1.0
    }

    /// The inverse: speed from time. What was better stays better.
    pub fn inverse(&self) -> Self {
        Self {
            value: 1.0 / self.value,
            low: 1.0 / self.high,
            high: 1.0 / self.low,
            adjusted_low: 1.0 / self.adjusted_high,
            adjusted_high: 1.0 / self.adjusted_low,
            direction: match self.direction {
                Direction::HigherIsBetter => Direction::LowerIsBetter,
                Direction::LowerIsBetter => Direction::HigherIsBetter,
                Direction::Neither => Direction::Neither,
            },
            answer: match self.answer {
                Answer::Larger => Answer::Smaller,
                Answer::Smaller => Answer::Larger,
                other => other,
            },
            ..self.clone()
        }
    }

    /// The ratio with the deciding interval in place of its own, for one that is reported because of its result, such
    /// as the step after a knee.
    pub fn decisive(&self) -> Self {
        Self { low: self.adjusted_low, high: self.adjusted_high, ..self.clone() }
    }

    /// Whether a difference from 1 is shown, of any size.
    pub fn is_different(&self) -> bool {
        !matches!(self.answer, Answer::Equivalent | Answer::Undecided)
    }

    /// Whether it is as good as 1: equivalent, or different by less than the margin.
    pub fn is_same(&self) -> bool {
        matches!(self.answer, Answer::Equivalent | Answer::WithinMargin)
    }

    /// Whether it is above 1, by more than the margin or by an open amount.
    pub fn is_higher(&self) -> bool {
        self.mark() == Mark::Higher
    }

    /// Whether it is below 1, likewise.
    pub fn is_lower(&self) -> bool {
        self.mark() == Mark::Lower
    }

    /// The answer at a glance.
    pub fn mark(&self) -> Mark {
        match self.answer {
            Answer::Larger => Mark::Higher,
            Answer::Smaller => Mark::Lower,
            Answer::SizeOpen if self.value > 1.0 => Mark::Higher,
            Answer::SizeOpen => Mark::Lower,
            Answer::WithinMargin | Answer::Equivalent => Mark::Same,
            Answer::Undecided => Mark::Undecided,
        }
    }

    /// Why no difference is shown, if its own interval would show one or there is none; `None` if the interval explains
    /// it.
    pub fn why_not_shown(&self) -> Option<&'static str> {
        match () {
            () if self.is_different() => None,
            () if self.blocks < 2 => Some("1 block, no interval"),
            () if self.low > 1.0 || self.high < 1.0 => {
                Some("not after adjusting for all comparisons and for correlation")
            }
            () => None,
        }
    }

    /// Meaning of a difference: `better`, `worse`, or if neither is, `higher`, `lower`.
    pub fn meaning(&self) -> &'static str {
        match (self.direction, self.value > 1.0) {
            (Direction::HigherIsBetter, true) | (Direction::LowerIsBetter, false) => "better",
            (Direction::HigherIsBetter, false) | (Direction::LowerIsBetter, true) => "worse",
            (Direction::Neither, true) => "higher",
            (Direction::Neither, false) => "lower",
        }
    }

    /// The mark in words, also for readers who cannot see colours.
    pub fn words(&self, says: Says) -> &'static str {
        match (self.mark(), says) {
            (Mark::Same | Mark::Undecided, _) => self.mark().words(),
            (_, Says::Better) => self.meaning(),
            (Mark::Higher, Says::Higher) => "higher",
            (Mark::Lower, Says::Higher) => "lower",
            (Mark::Higher, Says::Faster) => "faster",
            (Mark::Lower, Says::Faster) => "slower",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(value: f64, low: f64, high: f64) -> Ratio {
        Ratio {
            value,
            low,
            high,
            adjusted_low: low,
            adjusted_high: high,
            unit: RATIO,
            blocks: 8,
            level: 0.95,
            p: 0.001,
            adjusted_p: 0.002,
            family: 2,
            correlation: 0.0,
            floor: Some(1.01),
            margin: 0.03,
            answer: Answer::Smaller,
            direction: Direction::LowerIsBetter,
        }
    }

    #[test]
    fn time_turned_round_is_speed_and_better_stays_better() {
        let time = ratio(0.5, 0.4, 0.625);
        let speed = time.inverse();
        assert_eq!((speed.value, speed.low, speed.high), (2.0, 1.6, 2.5));
        assert_eq!((time.meaning(), speed.meaning()), ("better", "better"));
        assert_eq!((time.words(Says::Higher), speed.words(Says::Faster)), ("lower", "faster"));
    }

    #[test]
    fn one_block_has_no_ends() {
        let one = Ratio { answer: Answer::Undecided, ..ratio(1.5, 0.0, f64::INFINITY) };
        assert!(!one.has_ends() && one.half_width().is_infinite());
        assert_eq!(one.mark(), Mark::Undecided);
    }
}
