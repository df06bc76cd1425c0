//! External arms: rates by boot, and ratios of arms with the boot as the unit.
//!
//! Blocks of one boot share what the boot drew (the location of code and data, which pages), so they do not show how
//! much another boot would differ. A boot is one number, the mean over its blocks of ln(rate), and a ratio of arms is
//! the difference of the means over boots, by Welch's t (docs/METHODOLOGY.md, "Arms over boots").

#[cfg(test)]
mod tests;

use crate::estimate::{Observed, ObservedBlock, Rule, judge};
use crate::words::{answered, finding, limited, list};
use crate::{Direction, Facts, Finding, Ratio};
use serde::Serialize;
use std::collections::BTreeMap;
use threadwise_document::{Block, Cell, Column, Prose, Row, Says, Section, Shown, Table, numbers, prose};
use threadwise_machine::Topology;
use threadwise_statistics::{mean, welch};
use threadwise_study::boot::smt_word;
use threadwise_study::{Boot, External, Role, Run, Study};

/// External arms of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExternalArms {
    /// Names of the arms. The others are compared with the first.
    pub arms: Vec<String>,
    /// Planned boots.
    pub planned_boots: u32,
    /// The arm of each planned boot, in order.
    pub order: Vec<String>,
    /// Boots that were begun, in order.
    pub boots: Vec<BootRates>,
    /// Treatments in study order.
    pub treatments: Vec<ArmTreatment>,
    /// Ratios of arms: each treatment that both have, then the fastest of each arm. All are judged together.
    pub ratios: Vec<ArmRatio>,
    /// Differences between boots besides SMT, one per line.
    pub differing: Vec<String>,
    /// Blocks whose boot is unknown; no rate of a boot includes them.
    pub blocks_of_unknown_boots: u32,
}

/// A boot and its measurements.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BootRates {
    /// The boot.
    #[serde(flatten)]
    pub boot: Boot,
    /// Blocks in which the baseline of at least one group was usable.
    pub blocks: u32,
    /// Rates in study order, for treatments that have a usable run.
    pub rates: Vec<Rate>,
}

impl BootRates {
    /// Whether it is of an arm.
    pub fn is_of(&self, arm: &str) -> bool {
        self.boot.arm.as_deref() == Some(arm)
    }

    /// The rate of a treatment.
    pub fn rate(&self, treatment: &str) -> Option<&Rate> {
        self.rates.iter().find(|rate| rate.treatment == treatment)
    }
}

/// The rate of a treatment on a boot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rate {
    /// The treatment.
    pub treatment: String,
    /// Geometric mean over blocks.
    pub rows_per_s: f64,
    /// Blocks that were averaged.
    pub blocks: u32,
    /// Logical CPUs that it used in a block.
    pub cpus: u32,
    /// Sessions that it had.
    pub sessions: u32,
    /// Mean over blocks of the logarithm.
    #[serde(skip)]
    pub ln_rate: f64,
}

/// A treatment in the arms.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmTreatment {
    /// The treatment.
    pub treatment: String,
    /// Arms in which it was measured.
    pub arms: Vec<InArm>,
    /// Arms with boots in which it was not.
    pub absent: Vec<String>,
}

/// A treatment in one arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InArm {
    /// The arm.
    pub arm: String,
    /// Boots that were averaged.
    pub boots: u32,
    /// Geometric mean over boots.
    pub rows_per_s: f64,
    /// Logical CPUs that it used in a block.
    pub cpus: u32,
    /// Sessions that it had.
    pub sessions: u32,
}

/// The ratio of an arm to the first one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmRatio {
    /// The arm on top.
    pub arm: String,
    /// Its treatment.
    pub treatment: String,
    /// Boots of it that have the treatment.
    pub boots: u32,
    /// The first arm.
    pub baseline_arm: String,
    /// Its treatment.
    pub baseline_treatment: String,
    /// Boots of it that have that one.
    pub baseline_boots: u32,
    /// Whether the two treatments are the fastest ones of their arms, and differ.
    pub fastest: bool,
    /// The ratio. Its `blocks` are boots of both arms; 1 if an arm has one boot, so that there is no interval.
    pub ratio: Ratio,
}

impl ArmRatio {
    /// Whether both arms have two boots, so that there is an interval.
    pub fn has_interval(&self) -> bool {
        self.boots >= 2 && self.baseline_boots >= 2
    }
}

/// Stored boots of a study.
#[derive(Debug, Clone, Copy)]
pub struct Boots<'a> {
    /// In order.
    pub boots: &'a [Boot],
    /// For complete blocks the number and its boot's.
    pub of_blocks: &'a [(u32, u32)],
}

/// Results of a study's external arms over its boots; `None` in a study without.
///
/// `alpha_share` is as in [`crate::analyse`].
/// Degenerate cases: an arm without a boot has no rates and no ratios; with one boot each, ratios have no interval.
pub fn external_arms(
    study: &Study,
    topology: Option<&Topology>,
    runs: &[Run],
    stored: Boots<'_>,
    alpha_share: f64,
) -> Option<ExternalArms> {
    let external = study.external.as_ref()?;
    let observed = Observed::new(study, topology, runs);
    let boot_of: BTreeMap<u32, u32> = stored.of_blocks.iter().copied().collect();
    let mut by_boot: BTreeMap<u32, Vec<&ObservedBlock>> = BTreeMap::new();
    for block in &observed.blocks {
        if let Some(boot) = boot_of.get(&block.number) {
            by_boot.entry(*boot).or_default().push(block);
        }
    }
    let rates = |boot: &Boot| {
        let blocks = by_boot.get(&boot.number).map_or(&[][..], Vec::as_slice);
        of_boot(study, &observed, runs, boot, blocks)
    };
    let boots: Vec<BootRates> = stored.boots.iter().map(rates).collect();
    let alpha = (1.0 - study.design.level) * alpha_share;
    let rule = Rule { margin: study.design.margin, alpha, direction: Direction::HigherIsBetter };
    let unknown = observed.blocks.iter().filter(|block| !boot_of.contains_key(&block.number));
    Some(ExternalArms {
        arms: external.arms.clone(),
        planned_boots: external.boots,
        order: external.order(study.seed).iter().map(|arm| external.arms[*arm].clone()).collect(),
        treatments: treatments(study, external, &boots),
        ratios: ratios(study, external, &boots, rule),
        differing: differing(stored.boots),
        blocks_of_unknown_boots: unknown.count() as u32,
        boots,
    })
}

/// The rates of one boot.
fn of_boot(
    study: &Study,
    observed: &Observed,
    runs: &[Run],
    boot: &Boot,
    blocks: &[&ObservedBlock],
) -> BootRates {
    let rate = |at: usize| {
        let name = &study.treatments[at].name;
        let rates = blocks.iter().filter_map(|block| observed.usable(block, at)?.work().rows_per_s());
        let logs: Vec<f64> = rates.map(f64::ln).collect();
        let sources = blocks.iter().filter_map(|block| runs.get(block.sources[at]?));
        let (cpus, sessions) = sources.fold((0, 0), |(cpus, sessions): (usize, usize), run| {
            let seated = run.slices.iter().map(|slice| slice.sessions.len()).max().unwrap_or(0);
            (cpus.max(run.cpus.len()), sessions.max(seated))
        });
        let ln_rate = mean(logs.iter().copied())?;
        Some(Rate {
            treatment: name.clone(),
            rows_per_s: ln_rate.exp(),
            blocks: logs.len() as u32,
            cpus: cpus as u32,
            sessions: sessions as u32,
            ln_rate,
        })
    };
    let usable = blocks.iter().filter(|block| block.group_usable.contains(&true));
    BootRates {
        boot: boot.clone(),
        blocks: usable.count() as u32,
        rates: (0..study.treatments.len()).filter_map(rate).collect(),
    }
}

/// Each treatment in each arm.
fn treatments(study: &Study, external: &External, boots: &[BootRates]) -> Vec<ArmTreatment> {
    let in_arm = |treatment: &str, arm: &String| {
        let rates: Vec<&Rate> =
            boots.iter().filter(|boot| boot.is_of(arm)).filter_map(|boot| boot.rate(treatment)).collect();
        let ln_rate = mean(rates.iter().map(|rate| rate.ln_rate))?;
        Some(InArm {
            arm: arm.clone(),
            boots: rates.len() as u32,
            rows_per_s: ln_rate.exp(),
            cpus: rates.iter().map(|rate| rate.cpus).max().unwrap_or(0),
            sessions: rates.iter().map(|rate| rate.sessions).max().unwrap_or(0),
        })
    };
    let of_treatment = |name: &str| ArmTreatment {
        treatment: name.to_owned(),
        arms: external.arms.iter().filter_map(|arm| in_arm(name, arm)).collect(),
        absent: external
            .arms
            .iter()
            .filter(|arm| in_arm(name, arm).is_none() && boots.iter().any(|boot| boot.is_of(arm)))
            .cloned()
            .collect(),
    };
    study.treatments.iter().map(|treatment| of_treatment(&treatment.name)).collect()
}

/// Differences between boots besides SMT, one per line: `kernel: 6.1.0-28 (boots 1, 2), 6.1.0-29 (boots 3, 4)`.
fn differing(boots: &[Boot]) -> Vec<String> {
    let Some(first) = boots.first() else { return Vec::new() };
    let mut lines = Vec::new();
    for (at, (name, _)) in first.attributes().into_iter().enumerate() {
        // These are columns of the table, and the subject of arms.
        if name.starts_with("SMT") || name == "online logical CPUs" {
            continue;
        }
        let mut values: Vec<(String, Vec<String>)> = Vec::new();
        for boot in boots {
            let [value, number] = [boot.attributes()[at].1.clone(), boot.number.to_string()];
            match values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, numbers)) => numbers.push(number),
                None => values.push((value, vec![number])),
            }
        }
        if values.len() < 2 {
            continue;
        }
        let part = |(at, (value, numbers)): (usize, &(String, Vec<String>))| {
            // A hash means nothing to a reader.
            let value = match name {
                "machine" if value != "unknown" => format!("machine {}", at + 1),
                _ => value.clone(),
            };
            let plural = if numbers.len() == 1 { "boot" } else { "boots" };
            format!("{value} ({plural} {})", numbers.join(", "))
        };
        let parts: Vec<String> = values.iter().enumerate().map(part).collect();
        lines.push(format!("{name}: {}", parts.join(", ")));
    }
    lines
}

/// Ratios of pairs of arms, judged together: for each pair the mean of ln(rate) of every boot of the arm on top, and of
/// every boot of the arm below. A pair with an arm without a boot is left out.
pub fn differences(pairs: &[(Vec<f64>, Vec<f64>)], rule: Rule) -> Vec<Option<Ratio>> {
    let means: Vec<_> = pairs.iter().map(|(top, below)| welch(top, below)).collect();
    let family: Vec<_> = means.iter().flatten().map(|mean| (*mean, None)).collect();
    let mut judged = judge(&family, rule).into_iter();
    means.iter().map(|mean| mean.and_then(|_| judged.next())).collect()
}

/// The treatment, by index, with the largest mean over boots of ln(rate), among those that were measured on the most
/// boots.
pub fn fastest(by_treatment: &[Vec<f64>]) -> Option<usize> {
    let most = by_treatment.iter().map(Vec::len).max().filter(|most| *most > 0)?;
    let means = by_treatment.iter().enumerate().filter(|(_, boots)| boots.len() == most);
    let rated = means.filter_map(|(at, boots)| Some((at, mean(boots.iter().copied())?)));
    rated.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(at, _)| at)
}

/// Two treatments, by index in the study, of an arm and of the first one.
struct Pair<'a> {
    arm: &'a str,
    top: usize,
    below: usize,
    fastest: bool,
}

/// All ratios of a study.
fn ratios(study: &Study, external: &External, boots: &[BootRates], rule: Rule) -> Vec<ArmRatio> {
    let Some((first, others)) = external.arms.split_first() else { return Vec::new() };
    let of_arm = |arm: &str, at: usize| -> Vec<f64> {
        let name = &study.treatments[at].name;
        boots
            .iter()
            .filter(|boot| boot.is_of(arm))
            .filter_map(|boot| Some(boot.rate(name)?.ln_rate))
            .collect()
    };
    // The twin of a baseline is the same treatment.
    let once: Vec<usize> =
        (0..study.treatments.len()).filter(|at| study.treatments[*at].role != Role::BaselineTwin).collect();
    let mut pairs: Vec<Pair<'_>> = Vec::new();
    for arm in others {
        let both =
            once.iter().copied().filter(|at| !of_arm(arm, *at).is_empty() && !of_arm(first, *at).is_empty());
        pairs.extend(both.map(|at| Pair { arm, top: at, below: at, fastest: false }));
        for group in study.groups() {
            let members: Vec<usize> =
                once.iter().copied().filter(|at| study.treatments[*at].group == group).collect();
            let best = |arm: &str| {
                let all: Vec<Vec<f64>> = members.iter().map(|at| of_arm(arm, *at)).collect();
                fastest(&all).map(|at| members[at])
            };
            let found = best(arm).zip(best(first)).filter(|(top, below)| top != below);
            pairs.extend(found.map(|(top, below)| Pair { arm, top, below, fastest: true }));
        }
    }
    let series: Vec<(Vec<f64>, Vec<f64>)> =
        pairs.iter().map(|pair| (of_arm(pair.arm, pair.top), of_arm(first, pair.below))).collect();
    let judged = differences(&series, rule);
    let all = pairs.iter().zip(&series).zip(judged);
    all.filter_map(|((pair, (top, below)), ratio)| {
        Some(ArmRatio {
            arm: pair.arm.to_owned(),
            treatment: study.treatments[pair.top].name.clone(),
            boots: top.len() as u32,
            baseline_arm: first.clone(),
            baseline_treatment: study.treatments[pair.below].name.clone(),
            baseline_boots: below.len() as u32,
            fastest: pair.fastest,
            ratio: ratio?,
        })
    })
    .collect()
}

/// Most ratios in the sentence of an arm.
const MOST_CLAUSES: usize = 4;
/// Why one boot per arm shows nothing.
const CONFOUNDED: &str = "one boot each, so the arm is confounded with everything else that a boot changes";

/// The answer of a study with external arms; `None` for another study.
pub(crate) fn finding_of(facts: &Facts<'_>) -> Option<Finding> {
    let arms = facts.analysis.get::<ExternalArms>()?;
    let sentences: Vec<Prose> =
        arms.arms.iter().skip(1).filter_map(|arm| sentence(facts, arms, arm)).collect();
    let evidence: Vec<&str> = arms.ratios.iter().map(|ratio| ratio.treatment.as_str()).collect();
    let text = match sentences.is_empty() {
        false => Prose::join(sentences, " "),
        true => prose!(
            "Arms over boots: {} of {} boots so far, too few arms to compare.",
            arms.boots.len(),
            arms.planned_boots
        ),
    };
    Some(finding("arms", text, &evidence))
}

/// One arm over the first. The fastest of each comes last.
fn sentence(facts: &Facts<'_>, arms: &ExternalArms, arm: &str) -> Option<Prose> {
    let ratios: Vec<&ArmRatio> = arms.ratios.iter().filter(|ratio| ratio.arm == arm).collect();
    let first = ratios.first()?;
    let clauses = limited(ratios.iter().map(|ratio| clause(facts, ratio)), MOST_CLAUSES)?;
    let confounded = match ratios.iter().all(|ratio| ratio.has_interval()) {
        true => Prose::default(),
        false => prose!(" ({})", CONFOUNDED),
    };
    let count = |arm: &str| {
        let boots = arms.boots.iter().filter(|boot| boot.is_of(arm) && boot.blocks > 0).count();
        numbers::counted(boots, "boot")
    };
    Some(prose!(
        "Arm {} ({}) over {} ({}): {}{}.",
        arm,
        count(arm),
        &first.baseline_arm,
        count(&first.baseline_arm),
        clauses,
        confounded
    ))
}

fn clause(facts: &Facts<'_>, ratio: &ArmRatio) -> Prose {
    let figure = figure(ratio);
    match ratio.fastest {
        false => prose!("{} {}", facts.name(&ratio.treatment), figure),
        true => prose!(
            "the fastest of each, {} over {}, {}",
            facts.name(&ratio.treatment),
            facts.name(&ratio.baseline_treatment),
            figure
        ),
    }
}

/// The ratio with its interval over boots and the answer; without them if an arm has one boot.
fn figure(ratio: &ArmRatio) -> Prose {
    match ratio.has_interval() {
        true => prose!("{}{}", &ratio.ratio, answered(&ratio.ratio)),
        false => Prose::figure(format!("{}x", numbers::ratio(ratio.ratio.value))),
    }
}

/// Most boots with a column each; with more, arms have columns.
const MOST_COLUMNS: usize = 8;

/// The section; `None` in a study without external arms.
pub(crate) fn section(facts: &Facts<'_>) -> Option<Section> {
    let arms = facts.analysis.get::<ExternalArms>()?;
    let mut blocks = vec![Block::Text(about(arms), Shown::Everywhere), Block::Table(boot_table(arms))];
    blocks.push(Block::Table(rates(facts, arms)));
    if !arms.ratios.is_empty() {
        blocks.push(Block::Table(ratio_table(facts, arms)));
    }
    blocks.extend(remarks(arms).into_iter().map(|text| Block::Text(text, Shown::Everywhere)));
    Some(Section::new("arms", "Arms over boots", blocks))
}

fn about(arms: &ExternalArms) -> Prose {
    let mut text = prose!(
        "Something outside the program switches between {}; {} of {} boots, in the order {}. A boot is one number, \
         the mean over its blocks, and ratios of arms are over boots, by Welch's t.",
        list(&arms.arms),
        arms.boots.len(),
        arms.planned_boots,
        arms.order.join(", ")
    );
    if arms.ratios.iter().any(|ratio| !ratio.has_interval()) {
        text.push(prose!(" If an arm has one boot, the ratio has no interval: {}.", CONFOUNDED));
    }
    text
}

fn boot_table(arms: &ExternalArms) -> Table {
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

/// Rates of treatments by boot, or by arm if there are too many boots.
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
    table.rows = facts.rows_by_group(
        &arms.treatments,
        |one| &one.treatment,
        |one| {
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
            Some(std::iter::once(Cell::text(label)).chain(cells).collect())
        },
    );
    table
}

fn ratio_table(facts: &Facts<'_>, arms: &ExternalArms) -> Table {
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

/// Other differences between the arms, what an arm lacks, and what other figures are.
fn remarks(arms: &ExternalArms) -> Vec<Prose> {
    let mut texts = Vec::new();
    if !arms.differing.is_empty() {
        texts.push(prose!(
            "More than the arm changed between boots, and ratios contain it: {}.",
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
            "Left out or without a usable run: {}; the notes give the reasons.",
            lacking.join("; ")
        ));
    }
    let other_cpus: Vec<String> = arms.treatments.iter().filter_map(other_cpus).collect();
    if !other_cpus.is_empty() {
        texts.push(prose!(
            "The same placement means different logical CPUs in each arm: {}.",
            other_cpus.join("; ")
        ));
    }
    if arms.blocks_of_unknown_boots > 0 {
        let count = numbers::counted(arms.blocks_of_unknown_boots as usize, "block");
        texts.push(prose!("The boot of {} is unknown; none of the figures here include them.", count));
    }
    let numbers: Vec<String> =
        arms.boots.iter().filter(|boot| boot.blocks > 0).map(|one| one.boot.number.to_string()).collect();
    texts.push(prose!(
        "Ratios elsewhere in this report are within boots: over all blocks in which both treatments ran, of {} {}. \
         The machine is described as it was on the first boot.",
        if numbers.len() == 1 { "boot" } else { "boots" },
        list(&numbers)
    ));
    texts
}

/// `all: 8 logical CPUs, 8 sessions in smt-on; 4 logical CPUs, 4 sessions in smt-off`, if arms differ.
fn other_cpus(one: &ArmTreatment) -> Option<String> {
    let first = one.arms.first()?;
    let differ = one.arms.iter().any(|arm| (arm.cpus, arm.sessions) != (first.cpus, first.sessions));
    let parts = one.arms.iter().map(|arm| {
        let cpus = numbers::counted(arm.cpus as usize, "logical CPU");
        format!("{cpus} and {} in {}", numbers::counted(arm.sessions as usize, "session"), arm.arm)
    });
    differ.then(|| format!("{}: {}", one.treatment, parts.collect::<Vec<_>>().join(", ")))
}
