//! What it costs, as advice and as a section.

use super::{Cheaper, RULE_DATE, Threads};
use crate::asked::{LicencePer, Prices};
use crate::choices::{Axis, Candidate};
use crate::{Facts, Interval, kinds, words};
use threadwise_document::numbers::{counted, significant};
use threadwise_document::{Advice, Block, Cell, Column, Prose, Section, Shown, Table, prose};

/// Units of work that a price is given for.
const UNITS: f64 = 1e6;

/// Whether both threads are cheaper than one; `None` without prices, or where the study does not compare them.
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

/// Costs of a unit of work, by threads and by number of cores; `None` without prices.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let prices = facts.asked.prices?;
    let rule = prose!(
        "Rule used, as of {}: {}; check your contract. The machine costs {} an hour, a licence {}.",
        RULE_DATE,
        prices.per.rule(),
        Prose::figure(significant(prices.machine_per_h, 4)),
        Prose::figure(significant(prices.licence_per_h, 4))
    );
    let mut blocks = vec![Block::Text(rule, Shown::Everywhere)];
    blocks.extend(by_threads(facts, &prices));
    blocks.extend(by_cores(facts, &prices).map(Block::Table));
    if blocks.len() == 1 {
        let none = prose!(
            "This study compares neither both threads of cores with one nor numbers of cores: `threadwise run placement` \
             and `threadwise run session-sweep` do."
        );
        blocks.push(Block::Text(none, Shown::Everywhere));
    }
    Some(Section::new("cost", "What it costs", blocks))
}

fn by_threads(facts: &Facts<'_>, prices: &Prices) -> Vec<Block> {
    let Some(threads) = Threads::of(facts, prices) else { return Vec::new() };
    let ratio = &threads.both_over_one.ratio;
    let relative = Interval {
        mean: threads.break_even / ratio.value,
        low: threads.break_even / ratio.high,
        high: threads.break_even / ratio.low,
        unit: "ratio".to_owned(),
    };
    let of_one = match threads.is_of_one_core {
        true => " The yield is that of one core, taken for all of them.",
        false => "",
    };
    let cores = counted(threads.cores as usize, "core");
    let line = prose!(
        "On {} of two threads a unit of work costs with both threads {} times what it costs with one.{}",
        cores,
        &relative,
        of_one
    );
    let even = prose!(
        "Break-even: both threads have to do {} of one; {} where a licence a vCPU is all the cost, {} where one a core is.",
        Prose::figure(format!("{}x", significant(threads.break_even, 3))),
        Prose::figure("2.0x"),
        Prose::figure("1.0x")
    );
    vec![Block::Text(line, Shown::Everywhere), Block::Text(even, Shown::Everywhere)]
}

/// Cost and throughput per licence by number of busy cores: of a sweep that takes cores first.
fn by_cores(facts: &Facts<'_>, prices: &Prices) -> Option<Table> {
    let cores = facts.topology.cores.len() as u32;
    let choice = facts.analysis.choices.iter().find(|choice| choice.axis == Axis::Sessions)?;
    let nouns = kinds::of(facts.study).nouns(facts.study);
    let points = || choice.candidates.iter().filter(|candidate| candidate.number <= cores);
    let rows: Vec<Vec<Cell>> = points().filter_map(|candidate| row(facts, prices, candidate)).collect();
    let per = match prices.per {
        LicencePer::Vcpu | LicencePer::Core => format!("{} a licence", nouns.rate),
        LicencePer::Machine => nouns.rate.to_owned(),
    };
    let caption = prose!(
        "By number of enabled cores, one busy session on each, one thread of each; lowest cost is no test"
    );
    let columns = vec![
        Column::figure("cores"),
        Column::figure(nouns.rate),
        Column::figure(per),
        Column::figure(format!("cost of a million {}", nouns.noun)),
    ];
    (rows.len() >= 2).then(|| Table::new(caption, columns, rows))
}

fn row(facts: &Facts<'_>, prices: &Prices, candidate: &Candidate) -> Option<Vec<Cell>> {
    let rate = facts.summary(&candidate.treatment)?.metrics.get("rows_per_s")?;
    let licences = prices.per.count(candidate.number, 1);
    let divided = |by: f64| Interval {
        mean: rate.mean / by,
        low: rate.low / by,
        high: rate.high / by,
        unit: rate.unit.clone(),
    };
    let cost_of = |rate: f64| prices.per_h(candidate.number, 1) / 3600.0 / rate * UNITS;
    // The lower the rate, the higher the cost.
    let cost = Interval {
        mean: cost_of(rate.mean),
        low: cost_of(rate.high),
        high: if rate.low > 0.0 { cost_of(rate.low) } else { f64::INFINITY },
        unit: "ratio".to_owned(),
    };
    Some(vec![
        Cell::Count(candidate.number.into()),
        Cell::Interval(rate.clone()),
        Cell::Interval(divided(licences)),
        Cell::Interval(cost),
    ])
}
