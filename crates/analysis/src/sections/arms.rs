//! How the machine was switched for each arm, as it was read back.

use crate::Facts;
use threadwise_document::{Block, Cell, Column, Row, Section, Shown, Table, numbers, prose};
use threadwise_study::arm::SETTLE_NS;
use threadwise_study::{Arm, Run};

/// The section; `None` in a study that switches nothing.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    if facts.study.treatments.iter().all(|treatment| treatment.arm.is_as_found()) {
        return None;
    }
    let mut table = Table::new(
        "Switched for arms, inside blocks",
        vec![
            Column::text("arm"),
            Column::text("treatments").shorten_at(2),
            Column::figure("logical CPUs online"),
            Column::figure("switches"),
            Column::figure("a switch took").drop_at(1),
            Column::figure("first rounds after it over later ones"),
        ],
        [],
    );
    table.rows = facts.study.arms().into_iter().map(|arm| row(facts, arm)).collect();
    let text = match facts.is_simulated() {
        true => prose!("Results are from a model: nothing was switched."),
        false => prose!(
            "Each block has every arm {}. The machine is put back as it was found when the study ends; what could not be \
             is in the notes (docs/SMT.md). After each switch the treatments of the arm run unmeasured for {} in turns, where a \
             block has several rounds.{}",
            // A round that is whole runs cannot be divided.
            match facts.study.design.rounds {
                1 => "once, in a drawn order, and the next block in its reverse",
                _ => "twice, in a drawn order and its reverse",
            },
            numbers::nanoseconds(SETTLE_NS as f64),
            match facts.study.takes_siblings() {
                true => " Treatments with one thread of a core use the first one in all arms.",
                false => "",
            }
        ),
    };
    Some(Section::new("switched", "Arms", vec![Block::Text(text, Shown::Everywhere), Block::Table(table)]))
}

fn row(facts: &Facts<'_>, arm: &Arm) -> Row {
    let names: Vec<&str> =
        facts.study.treatments.iter().filter(|one| one.arm == *arm).map(|one| one.name.as_str()).collect();
    // All treatments of an arm are switched together: one run of a block tells.
    let first = names.first().copied().unwrap_or_default();
    let runs: Vec<&Run> = facts.runs.iter().filter(|run| run.treatment == first).collect();
    let values = |metric: &str| -> Vec<f64> { runs.iter().filter_map(|run| reading(run, metric)).collect() };
    let (online, switches) = (values("online_logical_cpus"), values("switches").iter().sum::<f64>());
    let online = match (online.iter().copied().reduce(f64::min), online.iter().copied().reduce(f64::max)) {
        (Some(least), Some(most)) if least == most => Cell::Count(most as u64),
        (Some(least), Some(most)) => Cell::text(format!("{least}-{most}")),
        _ => Cell::none(),
    };
    let took_ns = values("switch_ns").iter().sum::<f64>() / switches;
    Row::Cells(vec![
        Cell::text(arm.to_string()),
        Cell::text(names.join(", ")),
        online,
        Cell::Count(switches as u64),
        if switches > 0.0 { Cell::text(numbers::nanoseconds(took_ns)) } else { Cell::none() },
        left(facts, arm),
    ])
}

/// What a switch leaves, as the ratio of rates.
fn left(facts: &Facts<'_>, arm: &Arm) -> Cell {
    let mut all = facts.analysis.settling.iter();
    let found = all.find(|one| one.arm == arm.to_string());
    found.map_or_else(Cell::none, |one| Cell::Interval(one.change.value.clone()))
}

fn reading(run: &Run, metric: &str) -> Option<f64> {
    run.readings.iter().find(|one| one.sampler == "switch" && one.metric == metric)?.value
}
