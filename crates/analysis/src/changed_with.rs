//! What changed with a ratio: clock, cache misses, power, waits and more on both sides of each comparison, paired by block;
//! and which of them move with the ratio from block to block.
//!
//! A quantity that differs between the sides need not be the cause of the ratio: everything that a placement changes
//! differs. What moves with the ratio across blocks is evidence of another kind, but not of cause. Tests are of the
//! comparisons with a shown difference, each with every quantity that has a form free of the rate, all as one family
//! (Holm 1979, at the share of alpha that families of ratios have). Whether a difference is shown depends on the mean
//! of d, and the test on the deviations from it. Method: docs/METHODOLOGY.md, "What changed with a ratio".

mod quantities;

#[cfg(test)]
mod tests;

use crate::estimate::member::Series;
use crate::estimate::sides::Sides;
use crate::estimate::{Digest, FAMILY_SHARE, Observed, ObservedBlock, Rule, THROUGHPUT, paired};
use crate::setting::Setting;
use crate::words::{finding, limited, list};
use crate::{Direction, Estimate, Facts, Finding, FindingKind, Interval, Ratio, TreatmentSummary};
use quantities::{Known, Scale, Test};
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_document::numbers::counted;
use threadwise_document::{Block, Cell, Column, ColumnOf, Fold, Prose, Section, Shown, Table, prose};
use threadwise_statistics::{Association, Tail, arithmetic, association, geometric, holm, mean};
use threadwise_study::Comparison;
use threadwise_study::workload::Nouns;

/// What changed with the ratios of a study.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct ChangedWith {
    /// Comparisons with any quantity known on both sides, in study order.
    pub comparisons: Vec<Compared>,
    /// Pairs of a comparison and a quantity that were tested together; 0 without any.
    pub tested: u32,
    /// Blocks needed to show a plain link in four of five such studies.
    pub blocks_needed: u32,
    /// Why no link was tested; `None` if any was.
    pub not_tested: Option<&'static str>,
}

/// What changed with one ratio.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Compared {
    /// Name of the comparison.
    pub comparison: String,
    /// Treatment.
    pub treatment: String,
    /// Its baselines, joined by ` and `.
    pub baseline: String,
    /// The answer.
    pub answer: Explained,
    /// Blocks in which the ratio is known.
    pub blocks: u32,
    /// Every quantity known on both sides.
    pub quantities: Vec<Quantity>,
}

/// Whether anything moves with a ratio from block to block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Explained {
    /// One or more quantities do.
    Moves,
    /// None does, and a plain link would have been shown in four of five such studies.
    Unexplained,
    /// None is shown to, but there are too few blocks to say that none does.
    TooFewBlocks,
    /// No difference of throughput is shown, so there is nothing to explain.
    NoDifference,
    /// Nothing could be tested.
    NotTested,
}

/// One quantity on both sides of a comparison.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Quantity {
    /// Its name, unit last.
    pub metric: String,
    /// Its name in words.
    #[serde(skip)]
    pub name: String,
    /// The baseline's value, over the blocks in which both sides have it.
    #[serde(rename = "baseline_value")]
    pub baseline: Interval,
    /// The treatment's value, over the same blocks.
    #[serde(rename = "treatment_value")]
    pub treatment: Interval,
    /// The change, paired by block; the adjusted intervals of a comparison's quantities hold together.
    pub change: Ratio,
    /// Whether it moves with the ratio; `None` if that is not tested.
    pub link: Option<Link>,
    /// Why it is not tested; `None` if it is.
    pub not_tested: Option<&'static str>,
}

/// Whether a quantity moves with the ratio of throughput from block to block.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct Link {
    /// What was correlated with the ratio.
    pub form: Form,
    /// Spearman's rank correlation over blocks, with an interval for this one alone.
    #[serde(flatten)]
    pub correlation: Interval,
    /// p of the permutation test.
    pub p: f64,
    /// p adjusted for all tests (Holm).
    pub adjusted_p: f64,
    /// Whether it is shown: the adjusted p is at most 1 less the level of intervals.
    pub shown: bool,
}

/// The form in which a quantity is free of the rate that it is correlated with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// As it is.
    AsItIs,
    /// Per second, where it falls as the rate rises.
    PerSecond,
    /// Per row, where it rises with the rate.
    PerRow,
}

/// One comparison with its sides.
struct Pair<'a> {
    comparison: &'a Comparison,
    sides: Sides,
    /// Its estimate of throughput.
    estimate: Option<&'a Estimate>,
}

impl Pair<'_> {
    /// Whether a difference of throughput is shown.
    fn has_difference(&self) -> bool {
        self.estimate.is_some_and(|estimate| estimate.ratio.is_different())
    }

    /// Whether every session of both sides keeps a CPU busy, so that lost CPU time is adjusted for.
    fn keeps_cpus_busy(&self) -> bool {
        self.estimate.is_some_and(|estimate| estimate.adjusted.is_some())
    }
}

/// What changed with each comparison of a study; `None` if no quantity is known of both sides of any.
pub(crate) fn changed_with(
    setting: &Setting<'_>,
    observed: &Observed,
    treatments: &[TreatmentSummary],
    estimates: &[Estimate],
) -> Option<ChangedWith> {
    let study = setting.study;
    // At a rate throughput is what arrives.
    if study.is_at_a_rate() {
        return None;
    }
    let known = quantities::all(treatments.iter().map(|summary| &summary.activity));
    let pairs = study.comparisons.iter().filter_map(|comparison| {
        let is_its = |one: &&Estimate| one.metric == THROUGHPUT && one.name == comparison.name;
        Some(Pair {
            comparison,
            sides: Sides::of(study, comparison)?,
            estimate: estimates.iter().find(is_its),
        })
    });
    let pairs: Vec<Pair<'_>> = pairs.collect();
    let not_tested = if !study.workload.is_sliced() {
        Some("whole runs and queries have no rate of slices")
    } else if !pairs.iter().any(Pair::has_difference) {
        Some("no difference of throughput is shown")
    } else {
        None
    };
    let mut comparisons: Vec<Compared> =
        pairs.iter().map(|pair| compared(setting, observed, pair, &known)).collect();
    let tested = match not_tested {
        None => add_links(setting, observed, (&pairs, &known), &mut comparisons),
        Some(_) => 0,
    };
    comparisons.retain(|one| !one.quantities.is_empty());
    let blocks_needed = blocks_needed(tested as usize, setting.alpha);
    (!comparisons.is_empty()).then_some(ChangedWith { comparisons, tested, blocks_needed, not_tested })
}

/// The table of a comparison, without links.
fn compared(setting: &Setting<'_>, observed: &Observed, pair: &Pair<'_>, known: &[Known]) -> Compared {
    let of_both: Vec<(&Known, OfBoth)> =
        known.iter().filter_map(|one| Some((one, OfBoth::of(observed, pair, one)?))).collect();
    let series: Vec<Vec<f64>> = of_both.iter().map(|(_, sides)| sides.differences()).collect();
    let twins = Sides::all_twins(setting.study);
    let twins = twins.iter().flat_map(|Sides { top, below }| {
        let form = |(one, sides): &(&Known, OfBoth), run: &Digest| Some(sides.scale.form((one.value)(run)?));
        of_both.iter().map(move |both| observed.differences(*top, below, &|run| form(both, run)).d)
    });
    let twins: Vec<Vec<f64>> = twins.collect();
    // Every change is reported, however small.
    let rule = Rule { margin: 0.0, alpha: setting.alpha, direction: Direction::Neither };
    let changes = paired(&series, &twins, rule);
    let quantities = of_both.iter().zip(changes).filter_map(|((one, sides), change)| {
        let change = change?;
        Some(Quantity {
            metric: one.metric.clone(),
            name: one.name.clone(),
            baseline: sides.mean(one, &sides.baseline, setting.alpha)?,
            treatment: sides.mean(one, &sides.treatment, setting.alpha)?,
            change: match sides.scale {
                Scale::Ratio => change.exp(),
                Scale::Difference => change,
                Scale::Points => Ratio { unit: "points", ..change },
            },
            link: None,
            not_tested: Some(why_not(pair, one)),
        })
    });
    let is_different = pair.has_difference();
    Compared {
        comparison: pair.comparison.name.clone(),
        treatment: pair.comparison.treatment.clone(),
        baseline: pair.comparison.baseline.join(" and "),
        answer: if is_different { Explained::NotTested } else { Explained::NoDifference },
        blocks: pair.estimate.map_or(0, |estimate| estimate.ratio.blocks),
        quantities: quantities.collect(),
    }
}

/// A quantity of both sides by block, on the scale on which it is compared.
struct OfBoth {
    treatment: Vec<f64>,
    baseline: Vec<f64>,
    scale: Scale,
}

impl OfBoth {
    /// The blocks in which both sides have it; `None` without any, or if it is 0 everywhere.
    fn of(observed: &Observed, pair: &Pair<'_>, one: &Known) -> Option<Self> {
        let of_block = |block: &ObservedBlock| -> Option<(f64, Vec<f64>)> {
            let side = |at: &usize| (one.value)(observed.usable(block, *at)?);
            Some((side(&pair.sides.top)?, pair.sides.below.iter().map(side).collect::<Option<_>>()?))
        };
        let values: Vec<(f64, Vec<f64>)> = observed.blocks.iter().filter_map(of_block).collect();
        let mut all = values.iter().flat_map(|(top, below)| below.iter().chain([top]));
        if !all.clone().any(|value| *value > 0.0) {
            return None;
        }
        let scale = one.scale.of(all.all(|value| *value > 0.0));
        let below = |below: &Vec<f64>| mean(below.iter().map(|value| scale.form(*value)));
        Some(Self {
            treatment: values.iter().map(|(top, _)| scale.form(*top)).collect(),
            baseline: values.iter().filter_map(|(_, values)| below(values)).collect(),
            scale,
        })
    }

    fn differences(&self) -> Vec<f64> {
        self.treatment.iter().zip(&self.baseline).map(|(top, below)| top - below).collect()
    }

    fn mean(&self, one: &Known, side: &[f64], alpha: f64) -> Option<Interval> {
        match self.scale {
            Scale::Ratio => geometric(side, 1.0, one.unit, alpha),
            Scale::Difference => arithmetic(side, one.unit, alpha),
            Scale::Points => {
                let shares: Vec<f64> = side.iter().map(|points| points / 100.0).collect();
                let share = arithmetic(&shares, one.unit, alpha)?;
                let high = if share.high.is_finite() { share.high.min(1.0) } else { share.high };
                Some(Interval { high, ..share })
            }
        }
    }
}

/// A quantity beside a ratio, a number for each block.
#[derive(Debug, Clone, PartialEq)]
pub struct Tested {
    /// d of the ratio of throughput.
    pub ratio: Vec<f64>,
    /// Lag-1 correlation of neighbouring blocks in it.
    pub correlation: f64,
    /// The quantity's difference of the sides, in the form or forms in which it is tested.
    pub quantity: Vec<(Form, Vec<f64>)>,
}

/// Judges links of a family; `None` for what cannot be tested, such as a quantity that never varies.
///
/// In at most `alpha` of the families without any link, one is shown.
pub fn judge_links(tested: &[Tested], alpha: f64, seed: u64) -> Vec<Option<Link>> {
    let found: Vec<Option<(Form, Association)>> = tested.iter().map(|one| of_one(one, alpha, seed)).collect();
    let p_values: Vec<f64> = found.iter().flatten().map(|(_, found)| found.p).collect();
    let mut steps = holm(&p_values, FAMILY_SHARE * alpha).into_iter();
    let mut judge = |(form, found): (Form, Association)| {
        let adjusted_p = (steps.next()?.adjusted_p / FAMILY_SHARE).min(1.0);
        let Association { correlation, p } = found;
        Some(Link { form, correlation, p, adjusted_p, shown: adjusted_p <= alpha })
    };
    found.into_iter().map(|one| one.and_then(&mut judge)).collect()
}

/// With one form, a two-sided test; with two, the better of two one-sided tests, with twice its p (Bonferroni).
fn of_one(one: &Tested, alpha: f64, seed: u64) -> Option<(Form, Association)> {
    let tests = one.quantity.iter().map(|(form, x)| {
        let tail = match form {
            Form::AsItIs => Tail::Both,
            Form::PerSecond => Tail::Below,
            Form::PerRow => Tail::Above,
        };
        Some((*form, association(x, &one.ratio, one.correlation, tail, alpha, seed)?))
    });
    // A quantity that never varies in one form follows the rate in the other.
    let tests: Vec<(Form, Association)> = tests.collect::<Option<_>>()?;
    let count = tests.len() as f64;
    let best = tests.into_iter().min_by(|a, b| a.1.p.total_cmp(&b.1.p));
    best.map(|(form, found)| (form, Association { p: (found.p * count).min(1.0), ..found }))
}

/// Why a quantity of a comparison is not tested.
fn why_not(pair: &Pair<'_>, one: &Known) -> &'static str {
    match one.test {
        Test::Never => "it contains the rate",
        _ if !pair.has_difference() => "no difference of throughput is shown",
        Test::WhereCpusAreBusy if !pair.keeps_cpus_busy() => "sessions do not each keep a CPU busy",
        _ => "it varies in too few blocks",
    }
}

/// Blocks needed to show a plain link in four of five studies with so many tests.
fn blocks_needed(tested: usize, alpha: f64) -> u32 {
    threadwise_statistics::blocks_needed(tested, FAMILY_SHARE * alpha)
}

/// Runs the tests and answers each comparison; returns the number of tests.
fn add_links(
    setting: &Setting<'_>,
    observed: &Observed,
    (pairs, known): (&[Pair<'_>], &[Known]),
    comparisons: &mut [Compared],
) -> u32 {
    let (mut places, mut tested) = (Vec::new(), Vec::new());
    let explained = pairs.iter().zip(comparisons).filter(|(pair, _)| pair.has_difference());
    let mut explained: Vec<_> = explained.collect();
    for (pair, compared) in &mut explained {
        for quantity in &mut compared.quantities {
            let one = known.iter().find(|one| one.metric == quantity.metric);
            if let Some(one) = one.and_then(|one| of_pair(observed, pair, one)) {
                places.push(quantity);
                tested.push(one);
            }
        }
    }
    let links = judge_links(&tested, setting.alpha, setting.study.seed);
    let count = links.iter().flatten().count() as u32;
    for (quantity, link) in places.into_iter().zip(links).filter(|(_, link)| link.is_some()) {
        (quantity.link, quantity.not_tested) = (link, None);
    }
    let needed = blocks_needed(count as usize, setting.alpha);
    for (_, compared) in explained {
        compared.answer = answer(compared, needed);
    }
    count
}

fn answer(compared: &Compared, needed: u32) -> Explained {
    let links: Vec<&Link> =
        compared.quantities.iter().filter_map(|quantity| quantity.link.as_ref()).collect();
    match () {
        () if links.is_empty() => Explained::NotTested,
        () if links.iter().any(|link| link.shown) => Explained::Moves,
        () if compared.blocks >= needed => Explained::Unexplained,
        () => Explained::TooFewBlocks,
    }
}

/// The ratio and a quantity in each tested form, in the blocks that have both; `None` if it has no form.
fn of_pair(observed: &Observed, pair: &Pair<'_>, one: &Known) -> Option<Tested> {
    let correlation = pair.estimate?.ratio.correlation;
    let log_rate = |run: &Digest| run.work().rows_per_s().map(f64::ln);
    let sides = || pair.sides.below.iter().chain([&pair.sides.top]);
    let series = |value: &dyn Fn(&Digest) -> Option<f64>| {
        let runs =
            observed.blocks.iter().flat_map(|block| sides().filter_map(|at| observed.usable(block, *at)));
        // A value of 0 has no logarithm; ranks are the same on any scale that rises with it.
        let is_ratio = one.scale.of(runs.filter_map(value).all(|value| value > 0.0)) == Scale::Ratio;
        let form = |run: &Digest| value(run).map(|value| if is_ratio { value.ln() } else { value });
        observed.differences(pair.sides.top, &pair.sides.below, &form)
    };
    let forms = match &one.test {
        Test::Never => return None,
        Test::WhereCpusAreBusy if !pair.keeps_cpus_busy() => return None,
        Test::AsItIs | Test::WhereCpusAreBusy => vec![(Form::AsItIs, series(&one.value))],
        Test::Amount(per_s) => {
            let per_row = |run: &Digest| Some(per_s(run)? / run.work().rows_per_s()?);
            vec![(Form::PerSecond, series(per_s)), (Form::PerRow, series(&per_row))]
        }
    };
    let ratio = observed.differences(pair.sides.top, &pair.sides.below, &log_rate);
    let blocks: Vec<u32> =
        forms[0].1.blocks.iter().copied().filter(|block| ratio.blocks.contains(block)).collect();
    let in_both = |series: &Series| -> Vec<f64> {
        let all = series.blocks.iter().zip(&series.d);
        all.filter(|(block, _)| blocks.contains(block)).map(|(_, d)| *d).collect()
    };
    let quantity = forms.iter().map(|(form, series)| (*form, in_both(series))).collect();
    Some(Tested { ratio: in_both(&ratio), correlation, quantity })
}

/// Most comparisons in a sentence.
const MAX_SHOWN: usize = 2;
/// Most quantities of a comparison in a sentence.
const MAX_NAMED: usize = 2;

/// The finding; none if nothing moves with any ratio and there are too few blocks to say so.
pub(crate) fn finding_of(facts: &Facts<'_>) -> Option<Finding> {
    let changed = facts.analysis.get::<ChangedWith>()?;
    let moved: Vec<&Compared> = with(changed, Explained::Moves);
    let unexplained: Vec<&Compared> = with(changed, Explained::Unexplained);
    let clauses = moved.iter().filter_map(|one| clause(one, true));
    let mut sentences: Vec<Prose> = limited(clauses, MAX_SHOWN).into_iter().collect();
    if !unexplained.is_empty() {
        let names: Vec<String> =
            unexplained.iter().take(MAX_SHOWN).map(|one| one.treatment.clone()).collect();
        let more = unexplained.len().saturating_sub(MAX_SHOWN);
        let more = if more > 0 { format!(" and {more} more in the table") } else { String::new() };
        let links = |one: &&Compared| one.quantities.iter().filter(|one| one.link.is_some()).count();
        let most = unexplained.iter().map(links).max().unwrap_or(0);
        sentences.push(prose!(
            "{}{} unexplained ({} tested, none moves with the ratio)",
            list(&names),
            more,
            counted(most, "figure")
        ));
    }
    let evidence: Vec<&str> = moved.iter().chain(&unexplained).map(|one| one.comparison.as_str()).collect();
    let text = prose!("Why, from block to block: {}.", Prose::join(sentences, "; "));
    (!evidence.is_empty()).then(|| finding(FindingKind::Why, text, &evidence))
}

/// What each ratio moves with: `the ratio of two falls with more time with a neighbour`.
pub(crate) fn moved(changed: &ChangedWith) -> Vec<Prose> {
    with(changed, Explained::Moves).into_iter().filter_map(|one| clause(one, false)).collect()
}

fn with(changed: &ChangedWith, answer: Explained) -> Vec<&Compared> {
    changed.comparisons.iter().filter(|one| one.answer == answer).collect()
}

/// `the ratio of T rises with clock (rank correlation 0.83 [0.64, 0.93])`.
fn clause(one: &Compared, has_figures: bool) -> Option<Prose> {
    let shown = one.quantities.iter().filter_map(|quantity| {
        let link = quantity.link.as_ref().filter(|link| link.shown)?;
        let how = if link.correlation.mean > 0.0 { "rises with" } else { "falls with more" };
        Some(match has_figures {
            true => prose!("{} {} (rank correlation {})", how, &quantity.name, &link.correlation),
            false => prose!("{} {}", how, &quantity.name),
        })
    });
    Some(prose!("the ratio of {} {}", &one.treatment, limited(shown, MAX_NAMED)?))
}

/// More comparisons than this are folded one by one.
const MAX_OPEN: usize = 3;

/// The section; `None` if no quantity is known of both sides of any comparison.
pub(crate) fn section(facts: &Facts<'_>) -> Option<Section> {
    let nouns = &facts.study.nouns();
    let changed = facts.analysis.get::<ChangedWith>()?;
    let mut blocks = vec![Block::on_page(ABOUT), Block::on_page(tested(changed))];
    blocks.extend(changed.comparisons.iter().map(|one| {
        let (title, table) = (format!("{} ({})", one.comparison, said(one.answer)), table(one, nouns));
        match changed.comparisons.len() > MAX_OPEN {
            true => Block::Fold(Fold {
                above: "What changed, comparison by comparison",
                title,
                tables: vec![table],
                ..Fold::default()
            }),
            false => Block::Table(Table { caption: title.into(), ..table }),
        }
    }));
    let line = prose!(
        "what changed with {}: see the HTML report or --json. {}",
        counted(changed.comparisons.len(), "ratio"),
        tested(changed)
    );
    blocks.push(Block::Text(line, Shown::Terminal));
    Some(Section::new("changed-with", "What changed with each ratio", blocks))
}

const ABOUT: &str = "Figures of both sides are means over the blocks that both have; changes are paired by block, and their intervals \
     hold for all figures of a table together. A figure that differs between the sides need not be the cause of the \
     ratio: everything that a placement changes differs. A figure that moves with the ratio from block to block is \
     evidence of another kind, but not of cause.";

/// What was tested, and how many blocks a negative answer needs.
fn tested(changed: &ChangedWith) -> Prose {
    if let Some(why) = changed.not_tested {
        return prose!("Whether a figure moves with the ratio was not tested: {}.", why);
    }
    if changed.tested == 0 {
        return "Whether a figure moves with the ratio was not tested: no figure that is free of the rate varies in 12 \
         blocks or more."
            .into();
    }
    let most = changed.comparisons.iter().map(|one| one.blocks).max().unwrap_or(0);
    let needed = changed.blocks_needed;
    let enough = if most >= needed { "there are" } else { "here are" };
    prose!(
        "Figures that move with the ratio: {} tested together; to say that none does takes {} blocks, and {} {}.",
        counted(changed.tested as usize, "link"),
        needed,
        enough,
        most
    )
}

/// The answer to a comparison, in a few words.
fn said(answer: Explained) -> &'static str {
    match answer {
        Explained::Moves => "something moves with it",
        Explained::Unexplained => "unexplained",
        Explained::TooFewBlocks => "too few blocks to say what moves with it",
        Explained::NoDifference => "no difference shown",
        Explained::NotTested => "not tested",
    }
}

fn table(one: &Compared, nouns: &Nouns) -> Table {
    let below = one.baseline.split(" and ").next().unwrap_or(&one.baseline);
    let mut columns: Vec<ColumnOf<'_, &Quantity>> = Vec::new();
    let named = |quantity: &&Quantity| Cell::Text(label(quantity, nouns));
    columns.push((Column::text("figure"), &named));
    columns.push((Column::figure(below), &|quantity| Cell::Interval(quantity.baseline.clone())));
    columns.push((Column::figure(&one.treatment), &|quantity| Cell::Interval(quantity.treatment.clone())));
    columns.push((Column::figure("change"), &|quantity| change(quantity)));
    columns.push((Column::figure("blocks"), &|quantity| Cell::count(quantity.change.blocks)));
    if one.quantities.iter().any(|quantity| quantity.link.is_some()) {
        columns.push((Column::figure("rank correlation with the ratio"), &|quantity| {
            Cell::interval(quantity.link.as_ref().map(|link| &link.correlation))
        }));
        columns.push((Column::text("moves with it"), &|quantity| match &quantity.link {
            Some(link) => Cell::Text(link_words(link)),
            None => Cell::text(quantity.not_tested.unwrap_or("not tested")),
        }));
    }
    Table::of("", &one.quantities, &columns).shown(Shown::Page)
}

/// A figure's name with its unit, and the workload's word for a row.
fn label(quantity: &Quantity, nouns: &Nouns) -> String {
    let name = quantity.name.clone();
    let name = match nouns.row {
        "row" => name,
        row if name.ends_with(" per row") => format!("{} per {row}", name.trim_end_matches(" per row")),
        _ if name == "rows per joule" => format!("{} per joule", nouns.noun),
        _ => name,
    };
    match quantity.baseline.unit.as_str() {
        unit @ ("MHz" | "W") => format!("{name}, {unit}"),
        _ => name,
    }
}

fn change(quantity: &Quantity) -> Cell {
    let adjusted = quantity.change.decisive().interval();
    match adjusted.unit.as_str() {
        "points" => Cell::Share(adjusted),
        _ => Cell::Interval(adjusted),
    }
}

fn link_words(link: &Link) -> String {
    let form = match link.form {
        Form::AsItIs => "",
        Form::PerSecond => " (per second)",
        Form::PerRow => " (per row)",
    };
    format!("{}{form}", if link.shown { "yes" } else { "not shown" })
}
