//! What more parallelism gains step by step, and where it stops to.

use super::choice::{Choice, NamedRatio, judged};
use crate::Facts;
use crate::Finding;
use crate::queries::{DopStep, HeatMap, Plateau, Queries, StepMark};
use crate::words::finding;
use threadwise_document::numbers::{counted, percent, set_percent};
use threadwise_document::{Prose, prose};
use threadwise_study::Role;

/// Most steps that are reported, those to the highest DOPs.
const MAX_STEPS: usize = 3;

/// Most steps of single queries that are reported where nothing else is.
const MAX_MARKED: usize = 2;

/// Most plateaus that are reported.
const MAX_PLATEAUS: usize = 2;

/// So many DOPs above 2 make a plateau worth a word where there are no streams.
const MIN_DOPS: usize = 2;

/// Steps of all queries together that the totals do not tell, and queries whose steps are unusual.
/// `None` of streams, where the plateau tells what a higher DOP brings.
pub fn steps(facts: &Facts<'_>, queries: &Queries, choice: &Choice<'_>) -> Option<Finding> {
    if queries.is_throughput {
        return None;
    }
    let is_new = |step: &&DopStep| step.query.is_none() && !is_reported(facts, choice, step);
    let all: Vec<&DopStep> = queries.steps.iter().filter(is_new).collect();
    let mut sentences: Vec<Prose> = together(&all).into_iter().collect();
    let marked = |mark: StepMark| -> Vec<&DopStep> {
        queries.steps.iter().filter(|step| step.query.is_some() && step.mark == mark).collect()
    };
    let most = MAX_MARKED - sentences.len().min(1);
    if let Some(steps) = listed(&marked(StepMark::SuperScaling), most) {
        sentences.push(prose!("Better than linear: {}.", steps));
    }
    if let Some(steps) = listed(&marked(StepMark::PoorThenGood), most) {
        sentences.push(prose!("Little at first and much at the next step: {}.", steps));
    }
    let mut names: Vec<&str> = queries.steps.iter().map(|step| step.to.as_str()).collect();
    names.dedup();
    (!sentences.is_empty()).then(|| finding("dop-step", Prose::join(sentences, " "), &names))
}

/// Whether a step is what the totals tell: from the baseline to a treatment that is reported there.
fn is_reported(facts: &Facts<'_>, choice: &Choice<'_>, step: &DopStep) -> bool {
    let from_baseline =
        facts.study.treatment(&step.from).is_some_and(|(_, treatment)| treatment.role == Role::Baseline);
    from_baseline
        && step.mark == StepMark::None
        && choice.named.iter().any(|measured| measured.treatment == step.to && measured.total.speed.is_some())
}

/// `Speed by DOP, geometric mean: 8 over 4 on all 1.38x [1.35, 1.41]`.
fn together(all: &[&DopStep]) -> Option<Prose> {
    let mut by_dop: Vec<usize> = (0..all.len()).collect();
    by_dop.sort_by_key(|at| std::cmp::Reverse(all[*at].to_dop));
    let clauses =
        all.iter().enumerate().filter(|(at, _)| by_dop.iter().take(MAX_STEPS).any(|index| index == at));
    let tell = |(_, step): (usize, &&DopStep)| {
        let linear = if step.mark == StepMark::SuperScaling { "better than linear" } else { "" };
        NamedRatio::of(&name(step), &step.speed, linear)
    };
    let clauses = judged(&clauses.map(tell).collect::<Vec<_>>())?;
    let more = match all.len().saturating_sub(MAX_STEPS) {
        0 => String::new(),
        more => format!("; {} to lower DOPs not listed here", counted(more, "step")),
    };
    Some(prose!("Speed by DOP, geometric mean: {}{}.", clauses, more))
}

/// `4 over 2 on all`.
fn name(step: &DopStep) -> String {
    format!("{} over {} on {}", step.to_dop, step.from_dop, step.placement.trim())
}

/// `Q2 (2 over 1 on all)`; the largest first. By rank alone: intervals of the largest of many steps and queries would not
/// account for the choice, and the table has all of them.
fn listed(steps: &[&DopStep], most: usize) -> Option<Prose> {
    let mut steps = steps.to_vec();
    steps.sort_by(|a, b| b.speed.value.total_cmp(&a.speed.value));
    let tell = |step: &&DopStep| prose!("Q{} ({})", u32::from(step.query.unwrap_or_default()), name(step));
    let mut clauses: Vec<Prose> = steps.iter().take(most).map(tell).collect();
    let more = steps.len().saturating_sub(most);
    clauses.extend((more > 0).then(|| prose!("{} more", more)));
    (!clauses.is_empty()).then(|| Prose::list(clauses))
}

/// The smallest DOP that is shown to be within the margin of the best, for numbers of streams: the most, and the
/// fewest. Of one stream alone only where the DOPs go beyond two.
pub fn plateau(queries: &Queries, margin: f64) -> Option<Finding> {
    let is_wide =
        |map: &&HeatMap| queries.is_throughput || map.dops.iter().filter(|dop| **dop > 2).count() >= MIN_DOPS;
    let maps: Vec<&HeatMap> = queries.heat.iter().filter(is_wide).collect();
    // Of each map the most streams first, then the fewest, then those between.
    let mut all: Vec<(usize, &HeatMap, &Plateau)> = Vec::new();
    for map in &maps {
        let [most @ .., last] = map.plateaus.as_slice() else { continue };
        let rest = most.iter().enumerate().map(|(at, plateau)| (at + 1, *map, plateau));
        all.extend([(0, *map, last)].into_iter().chain(rest));
    }
    all.sort_by_key(|(rank, ..)| *rank);
    let clauses: Vec<Prose> =
        all.iter().take(MAX_PLATEAUS).map(|(_, map, plateau)| tell_plateau(map, plateau)).collect();
    let more = match all.len() - clauses.len() {
        0 => String::new(),
        more => format!("; {more} more in the HTML report"),
    };
    let is_any = !clauses.is_empty();
    let text = prose!(
        "Smallest DOP that is shown to be within {} of the best: {}{}.",
        Prose::figure(set_percent(margin)),
        Prose::join(clauses, "; "),
        more
    );
    let names: Vec<&str> =
        maps.iter().flat_map(|map| map.cells.iter().map(|cell| cell.treatment.as_str())).collect();
    is_any.then(|| finding("plateau", text, &names))
}

/// `with 2 streams on all 4 (2 may be), asking for 100% of its cores`; `on all none (4 may be)`.
fn tell_plateau(map: &HeatMap, plateau: &Plateau) -> Prose {
    let variant = if map.variant.is_empty() { String::new() } else { format!(" ({})", map.variant) };
    let has_streams = map.streams.len() > 1 || plateau.streams > 1;
    let streams = match has_streams {
        true => format!("with {} ", counted(plateau.streams as usize, "stream")),
        false => String::new(),
    };
    let may = match plateau.dop {
        Some(dop) if plateau.dop_low < dop => format!(" ({} may be)", plateau.dop_low),
        Some(_) => String::new(),
        None => format!(" ({} may be)", plateau.dop_low),
    };
    let dop = plateau.dop.map_or_else(|| "none".to_owned(), |dop| dop.to_string());
    let mut text = prose!("{}on {}{} {}{}", streams, map.placement.trim(), variant, dop, may);
    if let Some(share) = plateau.percent_of_cores {
        text.push(prose!(", asking for {} of its cores", Prose::figure(percent(share / 100.0))));
    }
    text
}
