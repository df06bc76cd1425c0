//! External arms: rates by boot, and ratios of arms with the boot as the unit.
//!
//! Blocks of one boot share what the boot drew (the location of code and data, which pages), so they do not show how
//! much another boot would differ. A boot is one number, the mean over its blocks of ln(rate), and a ratio of arms is
//! the difference of the means over boots, by Welch's t (docs/METHODOLOGY.md, "Arms over boots").

#[cfg(test)]
mod tests;

use crate::estimate::{Observed, ObservedBlock, Rule, judge_means};
use crate::groups::grouped;
use crate::words::{answered, finding, limited, list};
use crate::{Direction, Facts, Finding, FindingKind, Ratio};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use threadwise_document::{Block, Cell, Column, Prose, Says, Section, Table, numbers, prose};
use threadwise_machine::Topology;
use threadwise_statistics::{mean, welch};
use threadwise_study::boot::smt_word;
use threadwise_study::{Boot, Role, Run, Study};

/// External arms of a study.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
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
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
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

impl ExternalArms {
    fn of_arm<'a>(&'a self, arm: &'a str) -> impl Iterator<Item = &'a BootRates> {
        self.boots.iter().filter(move |boot| boot.is_of(arm))
    }
}

/// The rate of a treatment on a boot.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
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
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct ArmTreatment {
    /// The treatment.
    pub treatment: String,
    /// Arms in which it was measured.
    pub arms: Vec<InArm>,
    /// Arms with boots in which it was not.
    pub absent: Vec<String>,
}

/// A treatment in one arm.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
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
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
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
    let of_boot = |boot: &Boot| {
        let is_its = |block: &&ObservedBlock| boot_of.get(&block.number) == Some(&boot.number);
        let blocks: Vec<&ObservedBlock> = observed.blocks.iter().filter(is_its).collect();
        let rates = (0..study.treatments.len()).filter_map(|at| rate(study, &observed, runs, &blocks, at));
        BootRates {
            boot: boot.clone(),
            blocks: blocks.iter().filter(|block| block.group_usable.contains(&true)).count() as u32,
            rates: rates.collect(),
        }
    };
    let alpha = (1.0 - study.design.level) * alpha_share;
    let rule = Rule { margin: study.design.margin, alpha, direction: Direction::HigherIsBetter };
    let unknown = observed.blocks.iter().filter(|block| !boot_of.contains_key(&block.number));
    let mut arms = ExternalArms {
        arms: external.arms.clone(),
        planned_boots: external.boots,
        order: external.order(study.seed).iter().map(|arm| external.arms[*arm].clone()).collect(),
        boots: stored.boots.iter().map(of_boot).collect(),
        treatments: Vec::new(),
        ratios: Vec::new(),
        differing: differing(stored.boots),
        blocks_of_unknown_boots: unknown.count() as u32,
    };
    arms.treatments = study.treatments.iter().map(|treatment| in_arms(&arms, &treatment.name)).collect();
    arms.ratios = ratios(study, &arms, rule);
    Some(arms)
}

/// The rate of a treatment on a boot.
fn rate(
    study: &Study,
    observed: &Observed,
    runs: &[Run],
    blocks: &[&ObservedBlock],
    at: usize,
) -> Option<Rate> {
    let rates = blocks.iter().filter_map(|block| observed.usable(block, at)?.work().rows_per_s());
    let logs: Vec<f64> = rates.map(f64::ln).collect();
    let ln_rate = mean(logs.iter().copied())?;
    let its = || blocks.iter().filter_map(|block| runs.get(block.sources[at]?));
    let sessions = its().flat_map(|run| &run.slices).map(|slice| slice.sessions.len());
    Some(Rate {
        treatment: study.treatments[at].name.clone(),
        rows_per_s: ln_rate.exp(),
        blocks: logs.len() as u32,
        cpus: its().map(|run| run.cpus.len()).max().unwrap_or(0) as u32,
        sessions: sessions.max().unwrap_or(0) as u32,
        ln_rate,
    })
}

/// A treatment in each arm.
fn in_arms(arms: &ExternalArms, treatment: &str) -> ArmTreatment {
    let in_arm = |arm: &String| {
        let rates: Vec<&Rate> = arms.of_arm(arm).filter_map(|boot| boot.rate(treatment)).collect();
        Some(InArm {
            arm: arm.clone(),
            boots: rates.len() as u32,
            rows_per_s: mean(rates.iter().map(|rate| rate.ln_rate))?.exp(),
            cpus: rates.iter().map(|rate| rate.cpus).max()?,
            sessions: rates.iter().map(|rate| rate.sessions).max()?,
        })
    };
    let is_absent = |arm: &&String| in_arm(arm).is_none() && arms.of_arm(arm).next().is_some();
    ArmTreatment {
        treatment: treatment.to_owned(),
        arms: arms.arms.iter().filter_map(in_arm).collect(),
        absent: arms.arms.iter().filter(is_absent).cloned().collect(),
    }
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
        let value = |boot: &Boot| (boot.attributes()[at].1.clone(), boot.number.to_string());
        let values = grouped(boots.iter().map(value));
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
    judge_means(&pairs.iter().map(|(top, below)| welch(top, below)).collect::<Vec<_>>(), rule)
}

/// The treatment, by index, with the largest mean over boots of ln(rate), among those that were measured on the most
/// boots.
pub fn fastest(by_treatment: &[Vec<f64>]) -> Option<usize> {
    let most = by_treatment.iter().map(Vec::len).max().filter(|most| *most > 0)?;
    let means = by_treatment.iter().enumerate().filter(|(_, boots)| boots.len() == most);
    let rated = means.filter_map(|(at, boots)| Some((at, mean(boots.iter().copied())?)));
    rated.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(at, _)| at)
}

/// All ratios of a study.
fn ratios(study: &Study, arms: &ExternalArms, rule: Rule) -> Vec<ArmRatio> {
    let Some((first, others)) = arms.arms.split_first() else { return Vec::new() };
    let of_arm = |arm: &str, at: usize| -> Vec<f64> {
        let rates = arms.of_arm(arm).filter_map(|boot| boot.rate(&study.treatments[at].name));
        rates.map(|rate| rate.ln_rate).collect()
    };
    // The twin of a baseline is the same treatment.
    let once: Vec<usize> =
        (0..study.treatments.len()).filter(|at| study.treatments[*at].role != Role::BaselineTwin).collect();
    // Of an arm and of the first one, each with whether they are the fastest.
    let mut pairs: Vec<(&str, usize, usize, bool)> = Vec::new();
    for arm in others {
        let in_both = |at: &usize| !of_arm(arm, *at).is_empty() && !of_arm(first, *at).is_empty();
        pairs.extend(once.iter().copied().filter(in_both).map(|at| (arm.as_str(), at, at, false)));
        for group in study.groups() {
            let members: Vec<usize> =
                once.iter().copied().filter(|at| study.treatments[*at].group == group).collect();
            let best = |arm: &str| {
                let all: Vec<Vec<f64>> = members.iter().map(|at| of_arm(arm, *at)).collect();
                fastest(&all).map(|at| members[at])
            };
            let found = best(arm).zip(best(first)).filter(|(top, below)| top != below);
            pairs.extend(found.map(|(top, below)| (arm.as_str(), top, below, true)));
        }
    }
    let series: Vec<(Vec<f64>, Vec<f64>)> =
        pairs.iter().map(|(arm, top, below, _)| (of_arm(arm, *top), of_arm(first, *below))).collect();
    let all = pairs.iter().zip(&series).zip(differences(&series, rule));
    all.filter_map(|(((arm, top, below, fastest), (of_top, of_below)), ratio)| {
        Some(ArmRatio {
            arm: (*arm).to_owned(),
            treatment: study.treatments[*top].name.clone(),
            boots: of_top.len() as u32,
            baseline_arm: first.clone(),
            baseline_treatment: study.treatments[*below].name.clone(),
            baseline_boots: of_below.len() as u32,
            fastest: *fastest,
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
    Some(finding(FindingKind::Arms, text, &evidence))
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
    let count = |arm: &str| numbers::counted(arms.of_arm(arm).filter(|boot| boot.blocks > 0).count(), "boot");
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
    let tables = [Some(boot_table(arms)), Some(rates(facts, arms)), ratio_table(facts, arms).filled()];
    let mut blocks = vec![Block::text(about(arms))];
    blocks.extend(tables.into_iter().flatten().map(Block::Table));
    blocks.extend(remarks(arms).into_iter().map(Block::text));
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
    let text = |text: &Option<String>| Cell::text(text.as_deref().unwrap_or("unknown"));
    Table::of(
        "Boots",
        &arms.boots,
        &[
            (Column::figure("boot"), &|one| Cell::count(one.boot.number)),
            (Column::text("arm"), &|one| text(&one.boot.arm)),
            (Column::text("kernel").drop_at(2), &|one| text(&one.boot.kernel)),
            (Column::text("SMT"), &|one| Cell::text(smt_word(one.boot.smt_active))),
            (Column::figure("CPUs"), &|one| {
                one.boot.online_cpus.map_or_else(|| Cell::text("unknown"), Cell::count)
            }),
            (Column::figure("blocks"), &|one| Cell::count(one.blocks)),
            (Column::text("began (UTC)").drop_at(1), &|one| Cell::text(&one.boot.started_utc)),
        ],
    )
}

/// Rates of treatments by boot, or by arm if there are too many boots.
fn rates(facts: &Facts<'_>, arms: &ExternalArms) -> Table {
    let by_boot = arms.boots.len() <= MOST_COLUMNS;
    let of_boot =
        |one: &BootRates| format!("{} {}", one.boot.number, one.boot.arm.as_deref().unwrap_or("unknown"));
    let (title, heads): (_, Vec<String>) = match by_boot {
        true => ("Rows per second by boot", arms.boots.iter().map(of_boot).collect()),
        false => ("Rows per second by arm", arms.arms.clone()),
    };
    let columns = std::iter::once(Column::text("treatment")).chain(heads.into_iter().map(Column::figure));
    let cells = |one: &ArmTreatment| {
        let in_arm = |arm: &String| one.arms.iter().find(|found| found.arm == *arm);
        let rates: Vec<Option<f64>> = match by_boot {
            true => arms.boots.iter().map(|boot| Some(boot.rate(&one.treatment)?.rows_per_s)).collect(),
            false => arms.arms.iter().map(|arm| Some(in_arm(arm)?.rows_per_s)).collect(),
        };
        let label = facts.label(&one.treatment, facts.group_of(&one.treatment));
        let rates = rates.into_iter().map(|rate| Cell::value(rate, "1/s"));
        Some(std::iter::once(Cell::text(label)).chain(rates).collect())
    };
    let rows = facts.rows_by_group(&arms.treatments, |one| &one.treatment, cells);
    Table { rows, ..Table::new(title, columns.collect(), []) }
}

fn ratio_table(facts: &Facts<'_>, arms: &ExternalArms) -> Table {
    let first = arms.arms.first().map_or("", String::as_str);
    let label = |treatment: &str| facts.study.treatment(treatment).map_or("", |(_, one)| one.name.as_str());
    let of_each = |one: &ArmRatio| if one.fastest { " (the fastest of each)" } else { "" };
    Table::of(
        format!("Ratio to arm {first} over boots"),
        &arms.ratios,
        &[
            (Column::text("arm"), &|one| Cell::text(&one.arm)),
            (Column::text("treatment"), &|one| Cell::text(label(&one.treatment))),
            (Column::text(format!("over, in {first}")), &|one| {
                Cell::Text(format!("{}{}", label(&one.baseline_treatment), of_each(one)))
            }),
            (Column::figure("boots").drop_at(1), &|one| {
                Cell::Text(format!("{} and {}", one.boots, one.baseline_boots))
            }),
            (Column::figure("ratio"), &|one| match one.has_interval() {
                true => Cell::Ratio(one.ratio.clone(), Says::Faster),
                false => Cell::Text(format!("{}x", numbers::ratio(one.ratio.value))),
            }),
        ],
    )
}

/// Other differences between the arms, what an arm lacks, and what other figures are.
fn remarks(arms: &ExternalArms) -> Vec<Prose> {
    let lacking = arms.treatments.iter().filter(|one| !one.absent.is_empty());
    let lacking = lacking.map(|one| format!("{} in {}", one.treatment, list(&one.absent)));
    let lists = [
        ("More than the arm changed between boots, and ratios contain it: {}.", arms.differing.clone()),
        ("Left out or without a usable run: {}; the notes give the reasons.", lacking.collect()),
        (
            "The same placement means different logical CPUs in each arm: {}.",
            arms.treatments.iter().filter_map(other_cpus).collect(),
        ),
    ];
    let lists = lists.into_iter().filter(|(_, items)| !items.is_empty());
    let mut texts: Vec<Prose> =
        lists.map(|(text, items)| Prose::fill(text, vec![items.join("; ").into()])).collect();
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
