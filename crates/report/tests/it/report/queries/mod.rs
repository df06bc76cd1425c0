//! A study of queries in every form.

pub mod fixture;
mod forms;
mod made;
mod screen;

use crate::report::page::HOSTILE;
use crate::support::Fixture;
use fixture::fixture;
use threadwise_analysis::queries::{Queries, TreatmentQueries};

/// All treatments, and both runs of a baseline together.
fn both(queries: &mut Queries) -> impl Iterator<Item = &mut TreatmentQueries> {
    let baselines = queries.baselines.iter_mut().map(|baseline| &mut baseline.both);
    queries.treatments.iter_mut().chain(baselines)
}

/// A study of queries in which every text that comes from outside is hostile.
pub fn hostile() -> Fixture {
    let mut fixture = fixture(4, true);
    let evil = |text: &mut String| text.push_str(HOSTILE);
    fixture.study.treatments.iter_mut().for_each(|treatment| evil(&mut treatment.name));
    fixture.analysis.treatments.iter_mut().for_each(|summary| evil(&mut summary.name));
    fixture.runs.iter_mut().for_each(|run| evil(&mut run.treatment));
    let queries = fixture.analysis.queries.as_mut().unwrap();
    queries.baselines.iter_mut().flat_map(|baseline| &mut baseline.twin).for_each(evil);
    for measured in both(queries) {
        [&mut measured.treatment, &mut measured.placement].into_iter().for_each(evil);
        measured.queries.values_mut().for_each(|query| {
            query.counters.insert(HOSTILE.to_owned(), f64::NAN);
        });
    }
    queries.steps.iter_mut().for_each(|step| {
        [&mut step.placement, &mut step.from, &mut step.to].into_iter().for_each(evil);
    });
    queries.plans.iter_mut().for_each(|plan| [&mut plan.name, &mut plan.text].into_iter().for_each(evil));
    for change in &mut queries.changes {
        change.treatments.iter_mut().for_each(evil);
        change.lines.iter_mut().for_each(|(left, right)| left.iter_mut().chain(right).for_each(evil));
    }
    for outlier in &mut queries.outliers {
        evil(&mut outlier.treatment);
        outlier.text.push(HOSTILE);
    }
    for map in &mut queries.heat {
        [&mut map.placement, &mut map.variant].into_iter().for_each(evil);
        map.cells.iter_mut().for_each(|cell| evil(&mut cell.treatment));
    }
    fixture
}

/// One block: no interval, no plan, no CPU, no busy times.
pub fn bare() -> Fixture {
    let mut fixture = fixture(2, false);
    let queries = fixture.analysis.queries.as_mut().unwrap();
    let infinite = |ratio: &mut threadwise_analysis::Ratio| {
        (ratio.low, ratio.high, ratio.answer, ratio.floor) =
            (0.0, f64::INFINITY, threadwise_analysis::Answer::Undecided, None);
        (ratio.adjusted_low, ratio.adjusted_high, ratio.blocks) = (0.0, f64::INFINITY, 1);
    };
    queries.baselines.iter_mut().for_each(|baseline| {
        baseline.noise.iter_mut().chain(&mut baseline.noise_geometric).for_each(infinite);
    });
    for measured in both(queries) {
        measured.blocks = 1;
        measured.cores = None;
        let total = &mut measured.total;
        let ratios = &mut total.ratios;
        (ratios.cpu, total.cpu_s, ratios.speed_same_plans, ratios.geometric_same_plans) =
            (None, None, None, None);
        ratios.speed.iter_mut().chain(&mut ratios.geometric).for_each(infinite);
        total
            .elapsed_s
            .iter_mut()
            .for_each(|interval| (interval.low, interval.high) = (f64::NEG_INFINITY, f64::INFINITY));
        for query in measured.queries.values_mut() {
            query.speed.iter_mut().for_each(infinite);
            (query.cpu, query.cpu_ms, query.planning_ms, query.plan) = (None, None, None, None);
            (query.dop_min, query.dop_max) = (None, None);
            query.plan_change = threadwise_analysis::queries::Change::Unknown;
            query.elapsed_ms.high = f64::INFINITY;
        }
    }
    (queries.plans, queries.changes, queries.outliers) = (vec![], vec![], vec![]);
    queries.steps.iter_mut().for_each(|step| infinite(&mut step.speed));
    fixture
}

/// A study of which no block was complete.
pub fn empty() -> Fixture {
    let mut fixture = fixture(2, false);
    fixture.runs.clear();
    fixture.analysis.estimates.clear();
    fixture.analysis.treatments.iter_mut().for_each(|summary| {
        summary.metrics.clear();
        summary.runs = 0;
    });
    let queries = fixture.analysis.queries.as_mut().unwrap();
    queries
        .baselines
        .iter_mut()
        .for_each(|baseline| (baseline.noise, baseline.noise_geometric) = (None, None));
    for measured in both(queries) {
        (measured.blocks, measured.cores) = (0, None);
        measured.queries.clear();
        measured.total = Default::default();
    }
    (queries.plans, queries.changes, queries.outliers) = (vec![], vec![], vec![]);
    queries.steps.clear();
    fixture
}
