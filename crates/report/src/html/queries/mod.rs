//! The sections of a study of queries: treatments, bars query by query, steps of DOP, DOP and streams,
//! core-seconds, plans side by side, what stands out.

mod charts;
pub mod data;
mod plans;
mod tables;

pub use charts::{charts, only_query, usual};

use super::data::{Charts, Figure, Section, TableView};
use super::page::{parts, titled};
use crate::Document;
use crate::queries::{PLAN_SIGN, by_group, core_work, count_words, measured, ordered_outliers};
use crate::text::{counted, grouped, set_share, significant};
use data::QueryCharts;
use threadwise_analysis::queries::{HeatMap, Plateau, Queries};

/// What stands where other studies have throughput against sessions.
pub fn treatments(document: &Document, queries: &Queries, charts: &Charts) -> Section {
    let level = set_share(document.level());
    let groups = by_group(document, queries);
    let data = charts.queries.as_ref();
    let figure = |(index, chart): (usize, &data::DopChart)| Figure {
        chart: "dops",
        index,
        wide: data.is_some_and(|data| data.dops.len() == 1),
        title: titled(document, "Degree of parallelism", &chart.group),
        description: format!(
            "{} at each DOP, with {level} intervals over blocks; a line is a placement. {}",
            if queries.is_throughput { "Queries per hour" } else { "Geometric mean of the queries' speeds" },
            if queries.is_throughput { "" } else { "The baseline is 1." },
        )
        .trim_end()
        .to_owned(),
        table: tables::dops(chart),
    };
    let ratio = match queries.is_throughput {
        true => {
            "A ratio is queries per hour over those of the baseline: above 1 is more. Elapsed is the time from the common \
             start to the end of the last stream, planning included; query by query it is the execution alone."
        }
        false => {
            "A ratio is the elapsed time of the baseline over that of the treatment: above 1 is faster. A total is the sum \
             of the executions of a block, so long queries weigh most; in the geometric mean all weigh the same. Planning is \
             left out."
        }
    };
    let both = "The baseline's figures are of both of its runs in every block together, as ratios have it; the row below has its \
                second run against its first: noise.";
    let count = count_words(queries.numbers.len());
    let mut paragraphs =
        vec![format!("{ratio} {both} Plans: how many of the {count} have another plan than the baseline's.")];
    paragraphs.extend(crate::queries::data_words(queries).map(|words| format!("Data: {words}.")));
    Section {
        id: "table",
        title: "All treatments",
        paragraphs,
        figures: data.iter().flat_map(|data| data.dops.iter().enumerate()).map(figure).collect(),
        tables: groups
            .iter()
            .map(|(group, members)| tables::treatments(document, queries, group, members))
            .collect(),
        ..Section::default()
    }
}

/// The sections that only a study of queries has; empty ones are left out.
pub fn sections(document: &Document, queries: &Queries, charts: &Charts) -> Vec<Section> {
    let Some(data) = &charts.queries else { return Vec::new() };
    let all = [
        Some(by_query(document, queries, data)),
        steps(document, queries),
        heats(document, queries),
        cores(document, queries),
        plans::section(document, queries),
        outliers(queries),
    ];
    all.into_iter().flatten().collect()
}

fn figure(chart: &'static str, title: String, description: String, table: TableView) -> Figure {
    Figure { chart, index: 0, wide: true, title, description, table }
}

fn by_query(document: &Document, queries: &Queries, data: &QueryCharts) -> Section {
    let level = set_share(document.level());
    let groups = by_group(document, queries);
    let figures = data.bars.iter().enumerate().map(|(index, chart)| {
        let members = groups.iter().find(|(group, _)| *group == chart.group);
        let table = members.map(|(group, members)| tables::ratios(document, queries, group, members));
        Figure {
            index,
            ..figure(
                "bars",
                titled(document, "Speed of each query against the baseline", &chart.group),
                format!(
                    "One panel a treatment, one bar a query, from 1 upwards where it is faster and downwards where it is \
                     slower, with {level} intervals. A full bar is an effect, a pale one is not; the grey band is the query's \
                     noise floor. Striped and {PLAN_SIGN}: \
                     the plan is another one than the baseline's. The dashed line is the geometric mean.",
                ),
                table.unwrap_or_default(),
            )
        }
    });
    Section {
        id: "queries",
        title: "Query by query",
        figures: figures.collect(),
        folds_title: "Each treatment: elapsed, planning, CPU, plans",
        folds: measured(document, queries)
            .into_iter()
            .map(|own| tables::fold(document, queries, own))
            .collect(),
        ..Section::default()
    }
}

fn steps(document: &Document, queries: &Queries) -> Option<Section> {
    let table = tables::steps(document, queries)?;
    let words = "Speed-up of each query from one DOP to the next under the same placement. The darker, the nearer to the \
                 ratio of the DOPs; orange is slower than before. ▲ super-scaling: better than the ratio of the DOPs, beyond \
                 interval and noise floor. ◆ poor, then good: this step gained little and the next one much.";
    let words = format!("{words} {PLAN_SIGN}: the plan changed with the step.");
    Some(Section {
        id: "steps",
        title: "Steps of parallelism",
        figures: vec![figure("steps", titled(document, "Speed-up by step of DOP", ""), words, table)],
        ..Section::default()
    })
}

fn heats(document: &Document, queries: &Queries) -> Option<Section> {
    // With one number of streams there is no map to draw, and the chart over DOP has its figures.
    let maps: Vec<&HeatMap> = queries.heat.iter().filter(|map| map.streams.len() > 1).collect();
    let figures = maps.iter().enumerate().map(|(index, map)| Figure {
        chart: "heats",
        index,
        wide: maps.len() == 1,
        title: titled(document, &format!("Queries per hour on {}", place_words(map)), ""),
        description: "Throughput by DOP and number of streams; a frame marks the smallest DOP within the noise floor of \
                      the best one with as many streams, ★ the best."
            .to_owned(),
        table: tables::heat(map),
    });
    let lines = queries
        .heat
        .iter()
        .flat_map(|map| map.plateaus.iter().map(|plateau| parts(&plateau_words(map, plateau))));
    (!queries.heat.is_empty()).then(|| Section {
        id: "heat",
        title: "Parallelism and streams",
        lines: lines.collect(),
        figures: figures.collect(),
        ..Section::default()
    })
}

/// Placement, and what else sets its treatments apart.
fn place_words(map: &HeatMap) -> String {
    if map.variant.is_empty() {
        map.placement.clone()
    } else {
        format!("{} ({})", map.placement, map.variant)
    }
}

/// Where more parallelism stops to give more, as a sentence.
fn plateau_words(map: &HeatMap, plateau: &Plateau) -> String {
    let percent = plateau.percent_of_cores.map(|percent| {
        let range = plateau.percent_range.map_or(String::new(), |(low, high)| {
            format!(" [{}, {}]", significant(low, 3), significant(high, 3))
        });
        let cores = map.cores.map_or("the physical cores".to_owned(), |cores| {
            format!("{} physical {}", cores, if cores == 1 { "core" } else { "cores" })
        });
        format!(": {}%{range} of {cores}", significant(percent, 3))
    });
    let (low, high) = plateau.dop_range;
    format!(
        "{}, {}: DOP {} [{low}, {high}] is the smallest within the noise floor of the best, DOP {}{}.",
        place_words(map),
        counted(plateau.streams as usize, "stream"),
        plateau.dop,
        plateau.best_dop,
        percent.unwrap_or_default(),
    )
}

fn cores(document: &Document, queries: &Queries) -> Option<Section> {
    let table = tables::cores(document, queries)?;
    let known = queries.treatments.iter().filter_map(|own| own.cores.as_ref());
    let line = match known.clone().count() > 0 && known.clone().all(|cores| cores.engine_cpu_s.is_some()) {
        true => "the engine's CPU seconds",
        false => "busy seconds of its logical CPUs, others' work included",
    };
    let words = format!(
        "Seconds of one block, all queries once. Full: seconds in which a physical core {} with at least one thread, at \
         the least; pale: up to the most that it can have been. The line: {line}.",
        core_work(queries)
    );
    Some(Section {
        id: "core-seconds",
        title: "CPU seconds and physical cores",
        paragraphs: vec![
            "CPU seconds count a busy logical CPU as a whole, also where its sibling on the same core is busy at the same \
             time: they rise when siblings share a core, although no more cores are at work. When siblings were busy is not \
             known, only how long, so the time of a core lies between two bounds: at the same moments, or one after the \
             other. The lower bound is what the engine's own CPU seconds need at the least on logical CPUs that were busy \
             for so long; the upper one is those CPU seconds, and no more than the executions' time on each core. Busy \
             times of logical CPUs, which are in the table, are of everything that ran there, over a little more than the \
             executions."
                .to_owned(),
        ],
        figures: vec![figure("core_seconds", titled(document, "Core-seconds against CPU seconds", ""), words, table)],
        ..Section::default()
    })
}

fn outliers(queries: &Queries) -> Option<Section> {
    let all = ordered_outliers(queries);
    let lines = all.iter().map(|outlier| parts(&outlier.text));
    let more = queries.outliers_left_out;
    let more = (more > 0).then(|| format!("{} more stand out less.", grouped(more as u64)));
    (!all.is_empty()).then(|| Section {
        id: "outliers",
        title: "What stands out",
        paragraphs: more.into_iter().collect(),
        lines: lines.collect(),
        ..Section::default()
    })
}
