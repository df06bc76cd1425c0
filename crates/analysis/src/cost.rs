//! Cost of a unit of work with one busy thread of every core and with both, and the yield from which both are cheaper.
//!
//! With P the price of the machine per hour, L that of a licence, and C cores of two threads, an hour costs P + L·C
//! with one thread of every core. With both it costs P + 2·L·C if licences count vCPUs, and P + L·C if they count
//! cores. Both threads are cheaper if their yield exceeds the ratio of these costs: 2.0 if licences per vCPU are the
//! only cost, 1.0 if licences per core are.

#[cfg(test)]
mod tests;

use crate::asked::{LicencePer, Prices};
use crate::choices::{Axis, Candidate, ONE_CORE};
use crate::estimate::Guess;
use crate::findings::smt;
use crate::{Estimate, Facts, Interval, Ratio, engine_lines, words};
use threadwise_document::numbers::{counted, significant};
use threadwise_document::{Advice, Block, Cell, Column, Prose, Section, Table, prose};
use threadwise_study::Study;

/// When the licence rules were last checked.
pub const RULE_DATE: &str = "2026-11-26";

/// Why prices cannot be used with a study; `None` if they can.
pub fn fault(prices: &Prices, study: &Study) -> Option<String> {
    if prices.licence_per_h > 0.0
        && let Some(why) = engine_lines::no_licence(&study.engine)
    {
        return Some(format!("{why}: leave --licence-hour out"));
    }
    (prices.machine_per_h + prices.licence_per_h <= 0.0)
        .then(|| "there is no price: give --price-hour, --licence-hour or both".to_owned())
}

/// Both threads of every core against one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Threads<'a> {
    /// Yield.
    pub both_over_one: &'a Estimate,
    /// Cores.
    pub cores: u32,
    /// Whether the yield is that of one core, taken for all of them.
    pub is_of_one_core: bool,
    /// Yield from which both threads are cheaper.
    pub break_even: f64,
}

/// Whether both threads are cheaper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cheaper {
    /// Shown.
    Both,
    /// The opposite is shown.
    One,
    /// Not decided; the likelier answer and its probability, if there are two blocks.
    Open(Option<(bool, f64)>),
}

impl<'a> Threads<'a> {
    /// The yield of a study that compares them; `None` for any other.
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

/// Whether both threads are cheaper, from their ratio to one and the break-even, by the deciding interval.
pub fn cheaper(ratio: &Ratio, break_even: f64) -> Cheaper {
    if ratio.adjusted_low > break_even {
        return Cheaper::Both;
    }
    if ratio.adjusted_high < break_even {
        return Cheaper::One;
    }
    Cheaper::Open(Guess::beyond(ratio, break_even).map(|guess| (guess.is_above, guess.probability)))
}

/// Cost of a million units of work at a rate, with this many cores or vCPUs of one thread each, in the currency of the
/// prices: the lower the rate, the higher the cost.
pub fn of_a_million(rate_per_s: &Interval, number: u32, prices: &Prices) -> Interval {
    let ends = [rate_per_s.mean, rate_per_s.high, rate_per_s.low.max(0.0)];
    Interval::of(ends.map(|rate| prices.per_h(number, 1) / 3600.0 / rate * 1e6), "1")
}

/// Whether both threads are cheaper than one; `None` without prices, or if the study does not compare them.
pub fn advice(facts: &Facts<'_>) -> Option<Advice> {
    let prices = facts.asked.prices?;
    let threads = Threads::of(facts, &prices)?;
    let ratio = &threads.both_over_one.ratio;
    let even = Prose::figure(format!("{}x", significant(threads.break_even, 3)));
    let figures = prose!("both threads do {} of one, break-even {}", &ratio.decisive(), even);
    let line = match threads.cheaper() {
        Cheaper::Both => {
            prose!("Cost: keep both threads, a unit of work is cheaper with them ({}).", figures)
        }
        Cheaper::One => prose!("Cost: one thread of every core is cheaper for a unit of work ({}).", figures),
        Cheaper::Open(Some((is_above, probability))) => {
            let guess = if is_above { "both threads are" } else { "one thread of every core is" };
            prose!(
                "Cost: not enough data to say whether both threads are cheaper ({}); best guess {}, probability {}.",
                figures,
                guess,
                words::probability(probability)
            )
        }
        Cheaper::Open(None) => {
            prose!("Cost: not enough data to say whether both threads are cheaper ({}).", figures)
        }
    };
    Some(Advice {
        about: "cost",
        line,
        is_decided: !matches!(threads.cheaper(), Cheaper::Open(_)),
        paste: Vec::new(),
        evidence: vec![threads.both_over_one.name.clone()],
    })
}

/// Costs per unit of work, by threads and by number of cores; `None` without prices.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let prices = facts.asked.prices?;
    let rule = prose!(
        "Rule used, as of {}: {}; check your contract. The machine costs {} per hour, a licence {}.",
        RULE_DATE,
        prices.per.rule(),
        Prose::figure(significant(prices.machine_per_h, 4)),
        Prose::figure(significant(prices.licence_per_h, 4))
    );
    let mut blocks = vec![Block::text(rule)];
    blocks.extend(by_threads(facts, &prices));
    blocks.extend(by_cores(facts, &prices).map(Block::Table));
    // A study of vCPUs has costs beside its rates.
    if blocks.len() == 1 && facts.study.vcpus().is_none() {
        blocks.push(Block::text(
            "This study compares neither both threads of cores with one nor numbers of cores: use `threadwise run \
             placement` or `threadwise run session-sweep`.",
        ));
    }
    Some(Section::new("cost", "What it costs", blocks))
}

fn by_threads(facts: &Facts<'_>, prices: &Prices) -> Vec<Block> {
    let Some(threads) = Threads::of(facts, prices) else { return Vec::new() };
    let ratio = &threads.both_over_one.ratio;
    let relative =
        Interval::of([ratio.value, ratio.high, ratio.low].map(|one| threads.break_even / one), "ratio");
    let of_one = match threads.is_of_one_core {
        true => " The yield was measured on one core and is assumed for all of them.",
        false => "",
    };
    let cores = counted(threads.cores as usize, "core");
    let line = prose!(
        "On {} of two threads a unit of work with both threads costs {} times as much as with one.{}",
        cores,
        &relative,
        of_one
    );
    let even = prose!(
        "Break-even: both threads have to do {} of one; {} if licences per vCPU are the only cost, {} if licences per \
         core are.",
        Prose::figure(format!("{}x", significant(threads.break_even, 3))),
        Prose::figure("2.0x"),
        Prose::figure("1.0x")
    );
    vec![Block::text(line), Block::text(even)]
}

/// Cost and throughput per licence by number of busy cores: of a sweep that takes cores first.
fn by_cores(facts: &Facts<'_>, prices: &Prices) -> Option<Table> {
    let cores = facts.topology.cores.len() as u32;
    let choice = facts.analysis.choices.iter().find(|choice| choice.axis == Axis::Sessions)?;
    let nouns = facts.study.nouns();
    let rate = |one: &Candidate| facts.summary(&one.treatment)?.metrics.get("rows_per_s");
    let points = choice.candidates.iter().filter(|candidate| candidate.number <= cores);
    let points: Vec<(u32, &Interval)> =
        points.filter_map(|candidate| Some((candidate.number, rate(candidate)?))).collect();
    let per = match prices.per {
        LicencePer::Vcpu | LicencePer::Core => format!("{} per licence", nouns.rate),
        LicencePer::Machine => nouns.rate.to_owned(),
    };
    let table = Table::of(
        "By number of enabled cores, one busy session on each, one thread of each; the lowest cost is not tested",
        points,
        &[
            (Column::figure("cores"), &|(number, _)| Cell::count(*number)),
            (Column::figure(nouns.rate), &|(_, rate)| Cell::Interval((*rate).clone())),
            (Column::figure(per), &|(number, rate)| {
                let licences = prices.per.count(*number, 1);
                Cell::Interval(rate.each(|end| end / licences, &rate.unit))
            }),
            (Column::figure(format!("cost per million {}", nouns.noun)), &|(number, rate)| {
                Cell::Interval(of_a_million(rate, *number, prices))
            }),
        ],
    );
    (table.rows.len() >= 2).then_some(table)
}
