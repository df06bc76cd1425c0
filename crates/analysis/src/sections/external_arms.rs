//! External arms: the boots, the rates on each, and ratios of arms over boots.

use crate::Facts;
use crate::external_arms::{ArmRatio, ArmTreatment, ExternalArms};
use crate::findings::external_arms::CONFOUNDED;
use crate::words::list;
use threadwise_document::{Block, Cell, Column, Prose, Row, Says, Section, Shown, Table, numbers, prose};
use threadwise_study::boot::smt_word;

/// Boots of which each has a column; of more, arms have.
const MOST_COLUMNS: usize = 8;

/// The section; `None` in a study without external arms.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let arms = facts.analysis.arms.as_ref()?;
    let mut blocks = vec![Block::Text(about(arms), Shown::Everywhere), Block::Table(boots(arms))];
    blocks.push(Block::Table(rates(facts, arms)));
    if !arms.ratios.is_empty() {
        blocks.push(Block::Table(ratios(facts, arms)));
    }
    blocks.extend(remarks(arms).into_iter().map(|text| Block::Text(text, Shown::Everywhere)));
    Some(Section::new("arms", "Arms over boots", blocks))
}

fn about(arms: &ExternalArms) -> Prose {
    let mut text = prose!(
        "Something outside of the program switches between {}; {} of {} boots, in the order {}. A boot is one number, the \
         mean over its blocks, and ratios of arms are over boots, by Welch's t.",
        list(&arms.arms),
        arms.boots.len(),
        arms.planned_boots,
        arms.order.join(", ")
    );
    if arms.ratios.iter().any(|ratio| !ratio.has_interval()) {
        text.push(prose!(" Where an arm has one boot, the ratio has no interval, {}.", CONFOUNDED));
    }
    text
}

fn boots(arms: &ExternalArms) -> Table {
    let mut table = Table::new(
        "Boots",
        vec![
            Column::figure("boot"),
            Column::text("arm"),
            Column::text("kernel").drop_at(2),
            Column::text("SMT"),
            Column::figure("CPUs"),
            Column::figure("blocks"),
            Column::text("began (UTC)").drop_at(1),
        ],
        [],
    );
    let unknown = || Cell::text("unknown");
    table.rows = arms
        .boots
        .iter()
        .map(|one| {
            let boot = &one.boot;
            let text = |text: &Option<String>| text.as_ref().map_or_else(unknown, Cell::text);
            Row::Cells(vec![
                Cell::Count(u64::from(boot.number)),
                text(&boot.arm),
                text(&boot.kernel),
                Cell::text(smt_word(boot.smt_active)),
                boot.online_cpus.map_or_else(unknown, |count| Cell::Count(u64::from(count))),
                Cell::Count(u64::from(one.blocks)),
                Cell::text(&boot.started_utc),
            ])
        })
        .collect();
    table
}

/// Rates of treatments by boot, or by arm where there are too many boots.
fn rates(facts: &Facts<'_>, arms: &ExternalArms) -> Table {
    let rate = |rate: Option<f64>| rate.map_or_else(Cell::none, |value| Cell::Value { value, unit: "1/s" });
    let by_boot = arms.boots.len() <= MOST_COLUMNS;
    let heads: Vec<String> = match by_boot {
        true => arms
            .boots
            .iter()
            .map(|one| format!("{} {}", one.boot.number, one.boot.arm.as_deref().unwrap_or("unknown")))
            .collect(),
        false => arms.arms.clone(),
    };
    let columns = std::iter::once(Column::text("treatment")).chain(heads.into_iter().map(Column::figure));
    let title = if by_boot { "Rows per second by boot" } else { "Rows per second by arm" };
    let mut table = Table::new(title, columns.collect(), []);
    add_rows(facts, arms, &mut table, |one| {
        let cells: Vec<Cell> = match by_boot {
            true => {
                let of_boots = arms.boots.iter().map(|boot| boot.rate(&one.treatment));
                of_boots.map(|found| rate(found.map(|found| found.rows_per_s))).collect()
            }
            false => {
                let in_arm = |arm: &String| one.arms.iter().find(|found| found.arm == *arm);
                arms.arms.iter().map(|arm| rate(in_arm(arm).map(|found| found.rows_per_s))).collect()
            }
        };
        let label = facts.label(&one.treatment, facts.group_of(&one.treatment));
        std::iter::once(Cell::text(label)).chain(cells).collect()
    });
    table
}

/// Rows of treatments by group.
fn add_rows(
    facts: &Facts<'_>,
    arms: &ExternalArms,
    table: &mut Table,
    row: impl Fn(&ArmTreatment) -> Vec<Cell>,
) {
    for group in facts.study.groups() {
        let members = arms.treatments.iter().filter(|one| facts.group_of(&one.treatment) == group);
        let rows: Vec<Row> = members.map(|one| Row::Cells(row(one))).collect();
        let words = facts.group_words(group);
        table.rows.extend((!words.is_empty() && !rows.is_empty()).then_some(Row::Group(words)));
        table.rows.extend(rows);
    }
}

fn ratios(facts: &Facts<'_>, arms: &ExternalArms) -> Table {
    let first = arms.arms.first().map_or("", String::as_str);
    let mut table = Table::new(
        format!("Ratio to arm {first} over boots"),
        vec![
            Column::text("arm"),
            Column::text("treatment"),
            Column::text(format!("over, in {first}")),
            Column::figure("boots").drop_at(1),
            Column::figure("ratio"),
        ],
        [],
    );
    let cells = |ratio: &ArmRatio| {
        let figure = match ratio.has_interval() {
            true => Cell::Ratio(ratio.ratio.clone(), Says::Faster),
            false => Cell::text(format!("{}x", numbers::ratio(ratio.ratio.value))),
        };
        let label =
            |treatment: &str| facts.study.treatment(treatment).map_or("", |(_, one)| &one.name).to_owned();
        let over = match ratio.fastest {
            true => format!("{} (the fastest of each)", label(&ratio.baseline_treatment)),
            false => label(&ratio.baseline_treatment),
        };
        Row::Cells(vec![
            Cell::text(&ratio.arm),
            Cell::text(label(&ratio.treatment)),
            Cell::text(over),
            Cell::text(format!("{} and {}", ratio.boots, ratio.baseline_boots)),
            figure,
        ])
    };
    table.rows = arms.ratios.iter().map(cells).collect();
    table
}

/// What differs beside the arms, what an arm lacks, and what other figures are.
fn remarks(arms: &ExternalArms) -> Vec<Prose> {
    let mut texts = Vec::new();
    if !arms.differing.is_empty() {
        texts.push(prose!(
            "Between boots more than the arm has changed, which the ratios contain: {}.",
            arms.differing.join("; ")
        ));
    }
    let lacking: Vec<String> = arms
        .treatments
        .iter()
        .filter(|one| !one.absent.is_empty())
        .map(|one| format!("{} in {}", one.treatment, list(&one.absent)))
        .collect();
    if !lacking.is_empty() {
        texts.push(prose!(
            "Left out or without a usable run: {}; notes have the reasons.",
            lacking.join("; ")
        ));
    }
    let other_cpus: Vec<String> = arms.treatments.iter().filter_map(other_cpus).collect();
    if !other_cpus.is_empty() {
        texts
            .push(prose!("The same placement is other logical CPUs in each arm: {}.", other_cpus.join("; ")));
    }
    if arms.blocks_of_unknown_boots > 0 {
        let count = numbers::counted(arms.blocks_of_unknown_boots as usize, "block");
        texts
            .push(prose!("On which boot {} ran is not known; none of the figures here is from them.", count));
    }
    let numbers: Vec<String> =
        arms.boots.iter().filter(|boot| boot.blocks > 0).map(|one| one.boot.number.to_string()).collect();
    texts.push(prose!(
        "Ratios elsewhere in this report are within boots: over all blocks in which both treatments ran, of {} {}. What \
         the report says of the machine is of the first boot.",
        if numbers.len() == 1 { "boot" } else { "boots" },
        list(&numbers)
    ));
    texts
}

/// `all: 8 logical CPUs, 8 sessions in smt-on; 4 logical CPUs, 4 sessions in smt-off`, where arms differ.
fn other_cpus(one: &ArmTreatment) -> Option<String> {
    let first = one.arms.first()?;
    let differ = one.arms.iter().any(|arm| (arm.cpus, arm.sessions) != (first.cpus, first.sessions));
    let parts = one.arms.iter().map(|arm| {
        let cpus = numbers::counted(arm.cpus as usize, "logical CPU");
        format!("{cpus} and {} in {}", numbers::counted(arm.sessions as usize, "session"), arm.arm)
    });
    differ.then(|| format!("{}: {}", one.treatment, parts.collect::<Vec<_>>().join(", ")))
}
