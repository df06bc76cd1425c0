//! What a unit of work costs with one busy thread of every core and with both, and from which yield on both are cheaper.
//!
//! With P the price of the machine an hour, L that of a licence, and C cores of two threads, an hour costs P + L·C with
//! one thread of every core and P + 2·L·C with both where every vCPU counts, P + L·C where every core does. Both threads
//! are cheaper where they do more than the ratio of these costs: 2.0 where licences a vCPU are all the cost, 1.0 where
//! licences a core are.

mod words;

pub use words::{advice, section};

use crate::asked::Prices;
use crate::choices::{Axis, ONE_CORE};
use crate::engine_lines;
use crate::estimate::Guess;
use crate::findings::smt;
use crate::{Estimate, Facts, Ratio};
use threadwise_study::Study;

/// When the rules of counting were last looked at.
pub const RULE_DATE: &str = "2026-11-26";

/// Why prices cannot be used on a study; `None` where they can.
pub fn fault(prices: &Prices, study: &Study) -> Option<String> {
    if prices.licence_per_h > 0.0
        && let Some(why) = engine_lines::no_licence(&study.engine)
    {
        return Some(format!("{why}: leave --licence-hour out"));
    }
    (prices.machine_per_h + prices.licence_per_h <= 0.0)
        .then(|| "nothing costs anything: give --price-hour, --licence-hour or both".to_owned())
}

/// Both threads of every core against one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threads<'a> {
    /// Yield.
    pub both_over_one: &'a Estimate,
    /// Cores.
    pub cores: u32,
    /// Whether the yield is of one core alone, and taken for all of them.
    pub is_of_one_core: bool,
    /// Yield from which on both threads are cheaper.
    pub break_even: f64,
}

/// Whether both threads are cheaper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cheaper {
    /// Shown.
    Both,
    /// The opposite is shown.
    One,
    /// Not decided; the likelier answer and its probability, where there are two blocks.
    Open(Option<(bool, f64)>),
}

impl<'a> Threads<'a> {
    /// Of a study that compares them; `None` of any other.
    pub fn of(facts: &Facts<'a>, prices: &Prices) -> Option<Self> {
        let choice = facts.analysis.choices.iter().find(|choice| choice.axis == Axis::Smt)?;
        let both_over_one = smt::both_over_one(facts, choice)?;
        let cores = facts.topology.cores.iter().filter(|core| core.cpus.len() > 1).count() as u32;
        let break_even = prices.per_h(cores, 2) / prices.per_h(cores, 1);
        let is_of_one_core = choice.place == ONE_CORE;
        (cores > 0).then_some(Self { both_over_one, cores, is_of_one_core, break_even })
    }

    /// Whether they are cheaper.
    pub fn cheaper(&self) -> Cheaper {
        cheaper(&self.both_over_one.ratio, self.break_even)
    }
}

/// Whether both threads are cheaper, from their ratio to one and the break-even, by the interval that decides.
pub fn cheaper(ratio: &Ratio, break_even: f64) -> Cheaper {
    if ratio.holm_low > break_even {
        return Cheaper::Both;
    }
    if ratio.holm_high < break_even {
        return Cheaper::One;
    }
    Cheaper::Open(Guess::beyond(ratio, break_even).map(|guess| (guess.is_above, guess.probability)))
}

#[cfg(test)]
mod tests;
