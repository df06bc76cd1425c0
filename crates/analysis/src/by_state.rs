//! Ratios by state: slices while the host ran logical CPUs on one core, over slices on clear ones. The claims, and the
//! section with its checks.

use crate::looks::checks::Check;
use crate::looks::claim::{ByState, Checked, Claim, Effect, Effects, Outcome};
use crate::looks::contrast::Contrast;
use crate::looks::gate::{MIN_BLOCKS, MIN_EPISODES, Needed};
use crate::looks::rows::By;
use crate::looks::{Coverage, Distance};
use crate::sections::cells::columns;
use crate::words::{finding, share};
use crate::{Facts, Finding, FindingKind};
use threadwise_document::numbers::{self, p_value, ratio_near_1};
use threadwise_document::table::Row;
use threadwise_document::{Block, Cell, Column, Interval, Prose, Section, Shown, Table, prose};

/// One line for each treatment of which a size or a direction may be claimed.
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let all = facts.analysis.effects.iter();
    let each = all.flat_map(|effects| effects.effects.iter().map(move |effect| (effects.by, effect)));
    each.filter_map(|(by, effect)| line(facts, by, effect)).collect()
}

fn line(facts: &Facts<'_>, by: By, effect: &Effect) -> Option<Finding> {
    let by_state = effect.by_state()?;
    let text = claimed(facts, by, effect, by_state)?;
    Some(finding(FindingKind::ByState, text, &[&effect.comparison]))
}

/// The claim about a treatment, in a sentence; `None` without one.
pub fn claimed(facts: &Facts<'_>, by: By, effect: &Effect, by_state: &ByState) -> Option<Prose> {
    let name = facts.label(&effect.treatment, facts.group_of(&effect.treatment));
    let both = shared(effect);
    let (here, there) = sides(facts, by);
    match by_state.claim {
        Claim::Size => Some(prose!(
            "In slices where this host ran {} of {} on {}, its ratio to {} was {} of that in slices on {} \
             (observational).",
            both,
            name,
            here,
            facts.baseline_label(facts.group_of(&effect.treatment)),
            &ratio(&by_state.ratio),
            there
        )),
        Claim::Direction => Some(prose!(
            "In slices where this host ran {} of {} on {} it was {} than in slices on {} (observational). How much is \
             not known: in {} of the slices the looks before and after disagree.",
            both,
            name,
            here,
            if by_state.ratio.mean < 0.0 { "slower" } else { "faster" },
            there,
            by_state.disagreement.map_or_else(|| "an unknown share".into(), share)
        )),
        Claim::NotShown | Claim::Refused => None,
    }
}

/// The two kinds of slices that are compared.
fn sides(facts: &Facts<'_>, by: By) -> (String, String) {
    match (by, facts.analysis.looks.as_ref().map(|looks| looks.distances.as_slice())) {
        (By::Distance { .. }, Some([near, far, ..])) => (
            format!("near cores (a line in {}, as inside one L3)", line_range(near)),
            format!("cores further apart ({})", line_range(far)),
        ),
        (By::Distance { .. }, _) => ("near cores".to_owned(), "cores further apart".to_owned()),
        (By::Core, _) => ("one core".to_owned(), "different cores without a neighbour".to_owned()),
    }
}

/// Times of the lines of a level.
fn line_range(level: &Distance) -> String {
    format!("{} to {}", numbers::nanoseconds(level.line_ns_p5), numbers::nanoseconds(level.line_ns_p95))
}

/// `both logical CPUs`, `two of the 8 logical CPUs`.
pub fn shared(effect: &Effect) -> String {
    match effect.cpus {
        2 => "both logical CPUs".to_owned(),
        cpus => format!("two or more of the {cpus} logical CPUs"),
    }
}

/// A contrast of logarithms as a ratio.
pub fn ratio(contrast: &Contrast) -> Interval {
    Interval::of([contrast.mean, contrast.low, contrast.high].map(f64::exp), "ratio")
}

/// The section; `None` for a study without looks.
pub fn section(facts: &Facts<'_>) -> Option<Section> {
    let all = &facts.analysis.effects;
    let blocks: Vec<Block> = all.iter().flat_map(|effects| of_effects(facts, effects)).collect();
    (!all.is_empty()).then(|| Section::new("by-state", "Ratios by state", blocks))
}

fn of_effects(facts: &Facts<'_>, effects: &Effects) -> Vec<Block> {
    let open: Vec<(&Effect, &ByState)> =
        effects.effects.iter().filter_map(|effect| Some((effect, effect.by_state()?))).collect();
    let is_by_core = effects.by == By::Core;
    let mut blocks = Vec::new();
    if !open.is_empty() {
        blocks.push(Block::on_page(if is_by_core { ABOUT } else { ABOUT_DISTANCE }));
        blocks.push(Block::Table(ratios(facts, effects, &open)));
        let lines = open.iter().filter_map(|(effect, by_state)| words(facts, effects.by, effect, by_state));
        blocks.push(Block::List(lines.collect(), Shown::Page));
        blocks.push(Block::Table(checks(facts, effects, &open)));
        blocks.push(Block::Table(beside(facts, &open)));
    }
    // How far apart two are is compared where that can be done, and not asked for.
    if !is_by_core {
        return blocks;
    }
    let both = effects.effects.iter().filter(|effect| effect.seen.episodes() > 0);
    let mut closed: Vec<Prose> = both.filter_map(|effect| too_rare(facts, effects, effect)).collect();
    closed.extend(effects.effects.iter().filter_map(|effect| not_whole(facts, effect)));
    if open.is_empty() && closed.is_empty() {
        blocks.push(Block::on_page(
            "No treatment was seen both on one core and on different cores, so there is nothing to compare.",
        ));
    }
    if !closed.is_empty() {
        blocks.push(Block::List(closed, Shown::Page));
    }
    blocks.extend(spread(facts, effects).map(Block::Table));
    blocks
}

const ABOUT_DISTANCE: &str = "The same by distance: rounds are sorted by how long a cache line took between the treatment's two logical CPUs in \
     the look before its slice, where these were on different cores. Near are the lines of the lowest level, which \
     this machine may not declare as a cache. WIDE, which neighbours slow, has to be the same near and far.";

const ABOUT: &str = "Rounds are sorted by the look before the treatment's slice: two of its logical CPUs on one core, or each on a \
     core of its own without a neighbour. The ratio of the two is taken inside blocks. It is observational: it \
     describes slices where this host ran them so, with whatever came with it, not the machine. A claim is made only \
     if all checks pass.";

fn label<'a>(facts: &Facts<'a>, effect: &'a Effect) -> &'a str {
    facts.label(&effect.treatment, facts.group_of(&effect.treatment))
}

fn ratios(facts: &Facts<'_>, effects: &Effects, open: &[(&Effect, &ByState)]) -> Table {
    let (caption, looks, over) = match effects.by {
        By::Core => (
            "Ratio to the baseline in slices on one core, over that on different cores",
            "looks on one core",
            "one core over different",
        ),
        By::Distance { .. } => (
            "Ratio to the baseline in slices on near cores, over that on cores further apart",
            "looks on near cores",
            "near over far",
        ),
    };
    Table::of(
        caption,
        open,
        &[
            (Column::text("treatment"), &|(effect, _)| {
                Cell::named(label(facts, effect), facts.group_of(&effect.treatment))
            }),
            (Column::figure(looks).shorten_at(1), &|(effect, _)| {
                effect.prevalence(effects.level).map_or_else(Cell::none, Cell::Share)
            }),
            (Column::figure(over).shorten_at(2), &|(_, by)| contrast(Some(&by.ratio))),
            (Column::figure("p by shifts").drop_at(2), &|(_, by)| Cell::Text(p_value(by.p_shift))),
            (Column::figure("blocks").drop_at(3), &|(_, by)| Cell::count(by.ratio.blocks)),
            (Column::figure("looks disagree").drop_at(4), &|(_, by)| Cell::value(by.disagreement, "share")),
            (Column::text("claimed"), &|(_, by)| Cell::text(claim_word(by.claim))),
        ],
    )
}

/// A contrast as a ratio; a dash without one.
fn contrast(contrast: Option<&Contrast>) -> Cell {
    contrast.map_or_else(Cell::none, |contrast| Cell::Interval(ratio(contrast)))
}

fn claim_word(claim: Claim) -> &'static str {
    match claim {
        Claim::Size => "size",
        Claim::Direction => "direction",
        Claim::NotShown => "no difference shown",
        Claim::Refused => "refused",
    }
}

/// The claim, or the checks that refused it.
fn words(facts: &Facts<'_>, by: By, effect: &Effect, by_state: &ByState) -> Option<Prose> {
    if by_state.claim != Claim::Refused {
        return claimed(facts, by, effect, by_state);
    }
    let refusing = by_state.checks.iter().filter(|check| !check.passed());
    let names: Vec<Prose> = refusing.map(|check| name(check.check).into()).collect();
    Some(prose!("{}: refused by {}.", label(facts, effect), Prose::list(names)))
}

/// The checks, in words for a row and for a sentence.
fn name(check: Check) -> &'static str {
    match check {
        Check::Prevalence => "how often it was on one core, against the baseline, times the logarithm",
        Check::Twin => "the baseline against itself, by state",
        Check::Baseline => "the baseline alone, by state",
        Check::Chain => "clock of the treatment's logical CPUs (CHAIN), by state",
        Check::Next => "the ratio by the next round's state",
        Check::Wide => "WIDE on all of the treatment's logical CPUs, by state",
    }
}

fn checks(facts: &Facts<'_>, effects: &Effects, open: &[(&Effect, &ByState)]) -> Table {
    let caption = prose!(
        "Checks: on one core over different cores, with intervals at {}",
        numbers::set_percent(effects.checks_level)
    );
    let mut columns = columns(&["check"], &["contrast", "must lie within"]);
    columns.push(Column::text("passed"));
    let rows = open.iter().flat_map(|(effect, by_state)| {
        let title = (open.len() > 1).then(|| Row::Group(label(facts, effect).to_owned()));
        title
            .into_iter()
            .chain(by_state.checks.iter().map(|check| Row::Cells(checked(check))))
            .collect::<Vec<_>>()
    });
    Table { rows: rows.collect(), ..Table::new(caption, columns, []) }.shown(Shown::Page)
}

fn checked(check: &Checked) -> Vec<Cell> {
    let limits = match check.limit {
        Some(limit) => format!("[{}, {}]", ratio_near_1((-limit).exp()), ratio_near_1(limit.exp())),
        None => "below 1".to_owned(),
    };
    let passed = match (check.contrast, check.passed()) {
        (None, _) => "no: too little to compare",
        (_, true) => "yes",
        (_, false) => "no",
    };
    vec![Cell::text(name(check.check)), near_1(check.contrast), Cell::text(limits), Cell::text(passed)]
}

/// A ratio near 1 with its interval, with enough decimals to tell it from 1.
fn near_1(contrast: Option<Contrast>) -> Cell {
    let Some(contrast) = contrast else { return Cell::none() };
    let [mean, low, high] = [contrast.mean, contrast.low, contrast.high].map(|log| ratio_near_1(log.exp()));
    Cell::text(format!("{mean} [{low}, {high}]"))
}

/// Figures for comparison, which decide nothing.
fn beside(facts: &Facts<'_>, open: &[(&Effect, &ByState)]) -> Table {
    Table::of(
        "For comparison: slices selected by what came later, and blocks compared with each other",
        open,
        &[
            (Column::text("treatment"), &|(effect, _)| Cell::text(label(facts, effect))),
            (Column::figure("where both looks agree"), &|(_, by)| contrast(by.agreed.as_ref())),
            (Column::figure("by share, between blocks"), &|(_, by)| contrast(by.between.as_ref())),
        ],
    )
    .shown(Shown::Page)
}

/// Why a treatment is not compared by state, and how long a study would have to be; `None` if it is.
fn too_rare(facts: &Facts<'_>, effects: &Effects, effect: &Effect) -> Option<Prose> {
    let Outcome::Closed(needed) = &effect.outcome else { return None };
    let seen = &effect.seen;
    let often: Prose =
        effect.prevalence(effects.level).as_ref().map_or_else(|| "an unknown share".into(), Prose::from);
    Some(prose!(
        "{}: this host ran {} on one core in {} of the looks before slices. {} of {} have both states, in {}; a \
         comparison needs {} blocks and {} visits, {}.",
        label(facts, effect),
        shared(effect),
        often,
        seen.blocks_with_both,
        numbers::counted(seen.blocks, "block"),
        numbers::counted(seen.episodes(), "visit"),
        MIN_BLOCKS,
        MIN_EPISODES,
        length(needed)
    ))
}

/// That only a part of a treatment's logical CPUs was looked at; `None` if all were.
fn not_whole(facts: &Facts<'_>, effect: &Effect) -> Option<Prose> {
    let Outcome::NotWhole(Coverage { cpus, looked_at }) = &effect.outcome else { return None };
    Some(prose!(
        "{} is not compared by state: {} of its {} logical CPUs were looked at each time. That each of these had its \
         own core does not show that all had, and which of the others shared one is unknown.",
        label(facts, effect),
        looked_at.to_string(),
        cpus.to_string(),
    ))
}

fn length(needed: &Needed) -> String {
    match (needed.blocks, needed.high) {
        (Some(blocks), Some(high)) => {
            format!("which at this prevalence is a study of {blocks} blocks ({} to {high})", needed.low)
        }
        _ => format!("which would be a study of more than {} blocks", needed.low),
    }
}

/// How much of the spread states explain; `None` if no treatment was looked at as a whole.
fn spread(facts: &Facts<'_>, effects: &Effects) -> Option<Table> {
    let is_whole = |effect: &&Effect| !matches!(effect.outcome, Outcome::NotWhole(_));
    let table = Table::of(
        "What states explain of the spread between rounds",
        effects.effects.iter().filter(is_whole),
        &[
            (Column::text("treatment"), &|one| Cell::text(label(facts, one))),
            (Column::figure("variance of A/A explained"), &|one| Cell::interval(one.spread.twin.as_ref())),
            (Column::figure("variance of the ratio explained"), &|one| {
                Cell::interval(one.spread.ratio.as_ref())
            }),
            (Column::figure("ratio, all rounds"), &|one| contrast(one.spread.raw.as_ref())),
            (Column::figure("ratio, clear rounds alone"), &|one| contrast(one.spread.clear.as_ref())),
        ],
    );
    table.shown(Shown::Page).filled()
}
