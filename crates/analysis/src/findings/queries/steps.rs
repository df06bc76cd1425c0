//! What more parallelism gains step by step, and where it stops to.

use super::{MAX_QUERIES, MAX_TOLD, finding, limited};
use crate::Finding;
use crate::findings::words::plural;
use crate::queries::words::{judged, ratio};
use crate::queries::{DopStep, HeatMap, Plateau, Queries, StepMark};

/// Steps of all queries together, and queries whose steps are unusual.
pub fn steps(queries: &Queries) -> Option<Finding> {
    let all: Vec<&DopStep> = queries.steps.iter().filter(|step| step.query.is_none()).collect();
    let told = limited(all.iter().map(|step| tell(step)).collect(), MAX_TOLD)?;
    let mut text = format!("Speed by DOP, geometric mean of the queries: {told}.");
    let marked = |mark: StepMark| -> Vec<&DopStep> {
        queries.steps.iter().filter(|step| step.query.is_some() && step.mark == mark).collect()
    };
    if let Some(told) = listed(&marked(StepMark::SuperScaling)) {
        text += &format!(" Better than linear: {told}.");
    }
    if let Some(told) = listed(&marked(StepMark::PoorThenGood)) {
        text += &format!(" Little at first and much at the next step: {told}.");
    }
    let mut names: Vec<&str> = all.iter().map(|step| step.to.as_str()).collect();
    names.dedup();
    Some(finding("dop-step", text, &names))
}

fn place(step: &DopStep) -> String {
    let streams =
        if step.streams > 1 { format!(", {}", plural(step.streams, "stream")) } else { String::new() };
    format!("on {}{streams}", step.placement.trim())
}

fn tell(step: &DopStep) -> String {
    let linear = match step.mark {
        StepMark::SuperScaling => ", better than linear",
        StepMark::None | StepMark::PoorThenGood => "",
    };
    format!("{} over {} {} {}{linear}", step.to_dop, step.from_dop, place(step), judged(&step.speed))
}

/// `Q2 (DOP 2 over 1 on all 2.31x [2.20, 2.42])`.
fn listed(steps: &[&DopStep]) -> Option<String> {
    let tell = |step: &&DopStep| {
        let query = step.query.unwrap_or_default();
        format!(
            "Q{query} (DOP {} over {} {} {})",
            step.to_dop,
            step.from_dop,
            place(step),
            ratio(&step.speed)
        )
    };
    limited(steps.iter().map(tell).collect(), MAX_QUERIES)
}

/// The smallest DOP within the noise floor of the best, for each number of streams.
pub fn plateau(queries: &Queries) -> Option<Finding> {
    let all = queries.heat.iter().flat_map(|map| map.plateaus.iter().map(move |plateau| (map, plateau)));
    let told = limited(all.map(|(map, plateau)| tell_plateau(map, plateau)).collect(), MAX_TOLD)?;
    let text = format!("Smallest DOP within the noise floor of the best one's throughput: {told}.");
    let names: Vec<&str> =
        queries.heat.iter().flat_map(|map| map.cells.iter().map(|cell| cell.treatment.as_str())).collect();
    Some(finding("plateau", text, &names))
}

fn tell_plateau(map: &HeatMap, plateau: &Plateau) -> String {
    let variant = if map.variant.is_empty() { String::new() } else { format!(" ({})", map.variant) };
    let streams = if map.streams.len() > 1 || plateau.streams > 1 {
        format!(" with {}", plural(plateau.streams, "stream"))
    } else {
        String::new()
    };
    let (low, high) = plateau.dop_range;
    let percent =
        plateau.percent_of_cores.zip(plateau.percent_range).map_or_else(String::new, |(own, (low, high))| {
            format!(", {own:.0}% [{low:.0}, {high:.0}] of the physical cores")
        });
    format!(
        "on {}{variant}{streams} {} [{low}, {high}] (best {}){percent}",
        map.placement.trim(),
        plateau.dop,
        plateau.best_dop
    )
}
