//! The tables of queries: treatments, ratios, each treatment query by query, steps, DOP and streams,
//! core-seconds.

use super::super::data::TableView;
use super::super::tables::view;
use super::charts::{about, step_rows};
use super::data::{DopChart, Fold};
use crate::Document;
use crate::queries::{
    PLAN_SIGN, bounds_words, change_words, changed, changed_words, compared, core_words, group_of,
    interval_words, label, mark, measured, noise, query_name, query_names, role_words, seconds, step_words,
    summary,
};
use crate::text::{bytes, compact, nanoseconds, ratio, runs_words};
use threadwise_analysis::queries::{
    Change, CoreSeconds, HeatMap, Queries, QueryEstimates, StepMark, TreatmentQueries,
};
use threadwise_analysis::{Interval, Ratio};

fn none() -> String {
    "-".to_owned()
}

fn bounds(own: &Ratio) -> String {
    match own.high.is_finite() {
        true => format!("[{}, {}]", ratio(own.low), ratio(own.high)),
        false => none(),
    }
}

/// A ratio with its interval in one cell.
fn ratio_cell(value: Option<&Ratio>) -> String {
    value.map_or_else(none, |own| {
        format!("{} {}", ratio(own.value), bounds(own)).trim_end_matches(" -").to_owned()
    })
}

/// All treatments of a group: totals, ratios, CPU, core-seconds, plans.
pub fn treatments(
    document: &Document,
    queries: &Queries,
    group: &str,
    members: &[&TreatmentQueries],
) -> TableView {
    let without = queries.treatments.iter().any(|own| own.total.speed_same_plans.is_some());
    let streams = queries.treatments.iter().any(|own| own.streams != 1);
    let rows = members.iter().map(|own| treatment_row(document, own, queries, without, streams));
    let mut headers = vec!["treatment", "placement", "DOP"];
    headers.extend(streams.then_some("streams"));
    headers.push(if queries.is_throughput { "elapsed s" } else { "total s" });
    headers.extend(queries.is_throughput.then_some("queries/h"));
    headers.extend(["ratio", "effect", "geo. mean"]);
    headers.extend(without.then_some(["ratio *", "geo. mean *"]).into_iter().flatten());
    headers.extend(["CPU s", "CPU ratio", "core-s", "plans", "runs"]);
    let words = document.group_words(group);
    let same = match queries.changed() {
        _ if !without => String::new(),
        changed => format!("; *: without {}, whose plan is another one in a treatment", query_names(changed)),
    };
    let caption = format!("Treatments {words}");
    let caption = format!("{}{same}", caption.trim_end());
    view(&caption, &headers, 2, rows.collect())
}

fn treatment_row(
    document: &Document,
    own: &TreatmentQueries,
    queries: &Queries,
    without: bool,
    streams: bool,
) -> Vec<String> {
    let total = &own.total;
    let known = summary(document, &own.treatment);
    let role = role_words(document, &own.treatment);
    let mark = match (role, &total.speed) {
        (Some(role), _) => role.to_owned(),
        (None, Some(speed)) => mark(document, speed).words().to_owned(),
        (None, None) => none(),
    };
    let mut cells = vec![label(document, &own.treatment).to_owned(), own.placement.clone()];
    cells.push(own.dop.map_or_else(none, |dop| dop.to_string()));
    cells.extend(streams.then(|| own.streams.to_string()));
    if let Some((speed, mean)) = noise(document, queries, &own.treatment) {
        // Its own figures are in those of the baseline.
        cells.push(none());
        cells.extend(queries.is_throughput.then(none));
        cells.extend([ratio_cell(speed), "noise".to_owned(), ratio_cell(mean)]);
        cells.extend(vec![none(); if without { 6 } else { 4 }]);
        cells.push(known.map_or_else(none, runs_words));
        return cells;
    }
    cells.push(interval_words(total.elapsed_s.as_ref()).join(" ").trim_end_matches(" -").to_owned());
    cells.extend(queries.is_throughput.then(|| per_hour(total.queries_per_h.as_ref())));
    cells.extend([ratio_cell(total.speed.as_ref()), mark, ratio_cell(total.geometric.as_ref())]);
    if without {
        cells.push(ratio_cell(total.speed_same_plans.as_ref()));
        cells.push(ratio_cell(total.geometric_same_plans.as_ref()));
    }
    cells.push(total.cpu_s.as_ref().map_or_else(none, |cpu| seconds(cpu.mean)));
    cells.push(ratio_cell(total.cpu.as_ref()));
    cells.push(own.cores.as_ref().map_or_else(none, core_words));
    cells.push(if role.is_some() { none() } else { changed_words(own) });
    cells.push(known.map_or_else(none, runs_words));
    cells
}

fn per_hour(rate: Option<&Interval>) -> String {
    rate.map_or_else(none, |rate| compact(rate.mean, 4))
}

/// What the chart over DOP shows.
pub fn dops(chart: &DopChart) -> TableView {
    let figure =
        |value: f64| if chart.unit.starts_with("queries") { compact(value, 4) } else { ratio(value) };
    let rows = chart.lines.iter().flat_map(|line| {
        line.points.iter().map(|(dop, mean, low, high, treatment)| {
            let interval = match (low, high) {
                (Some(low), Some(high)) => format!("[{}, {}]", figure(*low), figure(*high)),
                _ => none(),
            };
            vec![line.name.clone(), treatment.clone(), dop.to_string(), figure(*mean), interval]
        })
    });
    view("", &["placement", "treatment", "DOP", chart.unit, "interval"], 2, rows.collect())
}

/// Ratios, queries down and treatments across.
pub fn ratios(
    document: &Document,
    queries: &Queries,
    group: &str,
    members: &[&TreatmentQueries],
) -> TableView {
    let others = compared(members);
    let rows = queries.numbers.iter().map(|number| {
        let cell = |own: &&TreatmentQueries| {
            let Some(query) = own.queries.get(number) else { return none() };
            let sign =
                if query.plan_change == Change::Different { format!(" {PLAN_SIGN}") } else { String::new() };
            format!("{}{sign}", ratio_cell(query.speed.as_ref()))
        };
        std::iter::once(query_name(*number)).chain(others.iter().map(cell)).collect()
    });
    let total = |name: &str, of: fn(&TreatmentQueries) -> Option<&Ratio>| {
        std::iter::once(name.to_owned())
            .chain(others.iter().map(|own| ratio_cell(of(own))))
            .collect::<Vec<_>>()
    };
    let totals = [
        total("totals", |own| own.total.speed.as_ref()),
        total("geometric mean", |own| own.total.geometric.as_ref()),
    ];
    let headers: Vec<&str> =
        std::iter::once("query").chain(others.iter().map(|own| label(document, &own.treatment))).collect();
    let caption = format!("Speed against {}; {PLAN_SIGN}: another plan", document.baseline_label(group));
    view(&caption, &headers, 1, rows.chain(totals).collect())
}

/// One treatment, query by query.
pub fn fold(document: &Document, queries: &Queries, own: &TreatmentQueries) -> Fold {
    let is_base = role_words(document, &own.treatment).is_some();
    let known = |value: &Option<Interval>| value.as_ref().map_or_else(none, |own| milliseconds(own.mean));
    let counters = |query: &QueryEstimates, name: &str| {
        query.counters.get(name).map_or_else(none, |size| bytes(size.max(0.0).round() as u64))
    };
    let rows = own.queries.iter().map(|(number, query)| {
        let mut cells = vec![
            query_name(*number),
            milliseconds(query.elapsed_ms.mean),
            interval_of(&query.elapsed_ms),
            known(&query.planning_ms),
            known(&query.cpu_ms),
            query.dop.map_or_else(none, |(least, most)| bounds_of(least, most)),
        ];
        cells.push(ratio_cell(query.speed.as_ref()));
        cells.push(query.speed.as_ref().map_or_else(none, |speed| mark(document, speed).words().to_owned()));
        cells.push(ratio_cell(query.cpu.as_ref()));
        let plan = query.plan.and_then(|at| queries.plans.get(at)).map_or_else(none, |plan| {
            let others = query.plans_seen.saturating_sub(1);
            if others == 0 { plan.name.clone() } else { format!("{} and {others} more", plan.name) }
        });
        let change = if is_base { "-" } else { change_words(query.plan_change) };
        cells.extend([plan, change.to_owned()]);
        cells.extend([counters(query, "read_bytes"), counters(query, "spill_bytes")]);
        cells
    });
    let headers = [
        "query",
        "elapsed",
        "interval",
        "planning",
        "CPU",
        "DOP seen",
        "speed",
        "effect",
        "CPU ratio",
        "plan",
        "plan is",
        "read",
        "spilled",
    ];
    let group = document.group_words(group_of(document, &own.treatment));
    let changed = match changed(own) {
        changed if changed.is_empty() => String::new(),
        changed => format!(" · other plans: {}", query_names(changed)),
    };
    let name = format!("{} {group}", label(document, &own.treatment));
    let both = if is_base { " · the baseline: both of its runs in every block" } else { "" };
    Fold {
        title: format!("{} · {}{both}{changed}", name.trim_end(), about(own)),
        tables: vec![view("", &headers, 1, rows.collect())],
        ..Fold::default()
    }
}

fn milliseconds(value: f64) -> String {
    nanoseconds(value * 1e6)
}

fn interval_of(own: &Interval) -> String {
    match own.high.is_finite() {
        true => format!("[{}, {}]", milliseconds(own.low), milliseconds(own.high)),
        false => none(),
    }
}

fn bounds_of(least: u32, most: u32) -> String {
    if least == most { least.to_string() } else { format!("{least}–{most}") }
}

/// Steps of DOP: queries down, steps across; `None` where there is none.
pub fn steps(document: &Document, queries: &Queries) -> Option<TableView> {
    let rows = step_rows(document, queries);
    if rows.is_empty() {
        return None;
    }
    let line = |query: Option<u8>| {
        let cell = |(_, steps): &(String, std::collections::BTreeMap<Option<u8>, &_>)| {
            let step: Option<&&threadwise_analysis::queries::DopStep> = steps.get(&query);
            step.map_or_else(none, |step| {
                let sign = if step.plan_change == Change::Different {
                    format!(" {PLAN_SIGN}")
                } else {
                    String::new()
                };
                let said = match step.mark {
                    StepMark::None => String::new(),
                    mark => format!(" {}", step_words(mark)),
                };
                format!("{}{sign}{said}", ratio_cell(Some(&step.speed)))
            })
        };
        let name = query.map_or("all (geometric mean)".to_owned(), query_name);
        std::iter::once(name).chain(rows.iter().map(cell)).collect::<Vec<String>>()
    };
    let lines = queries.numbers.iter().map(|query| line(Some(*query))).chain([line(None)]);
    let headers: Vec<&str> =
        std::iter::once("query").chain(rows.iter().map(|(name, _)| name.as_str())).collect();
    Some(view(&format!("Speed-up by step; {PLAN_SIGN}: the plan changed"), &headers, 1, lines.collect()))
}

/// One map of throughput over DOP and streams.
pub fn heat(map: &HeatMap) -> TableView {
    let rows = map.cells.iter().map(|cell| {
        let rate = &cell.queries_per_h;
        let interval = match rate.high.is_finite() {
            true => format!("[{}, {}]", compact(rate.low, 4), compact(rate.high, 4)),
            false => none(),
        };
        let plateau = map.plateaus.iter().find(|own| own.streams == cell.streams);
        let said = plateau.map_or("", |own| match (own.dop == cell.dop, own.best_dop == cell.dop) {
            (true, true) => "best, and the smallest within the noise floor of it",
            (true, false) => "smallest within the noise floor of the best",
            (false, true) => "best",
            (false, false) => "",
        });
        vec![
            cell.treatment.clone(),
            said.to_owned(),
            cell.dop.to_string(),
            cell.streams.to_string(),
            compact(rate.mean, 4),
            interval,
        ]
    });
    view("", &["treatment", "plateau", "DOP", "streams", "queries/h", "interval"], 2, rows.collect())
}

/// CPU seconds beside core-seconds; `None` where busy times are unknown.
pub fn cores(document: &Document, queries: &Queries) -> Option<TableView> {
    let row = |own: &TreatmentQueries| {
        let cores = own.cores.as_ref()?;
        let base = queries.baseline(group_of(document, &own.treatment))?.both.cores.as_ref();
        let base = base.filter(|base| base.core_low_s > 0.0);
        let against = |base: &CoreSeconds| {
            ratio_bounds(cores.core_low_s / base.core_high_s, cores.core_high_s / base.core_low_s)
        };
        let cpu = |base: &CoreSeconds| Some(ratio(cores.engine_cpu_s? / base.engine_cpu_s?));
        Some(vec![
            own.treatment.clone(),
            own.placement.clone(),
            cores.cores.to_string(),
            seconds(cores.elapsed_s),
            cores.engine_cpu_s.map_or_else(none, seconds),
            core_words(cores),
            base.and_then(cpu).unwrap_or_else(none),
            base.map_or_else(none, against),
            seconds(cores.logical_s),
            seconds(cores.slice_s),
            bounds_words(cores.straggler_low_s, cores.straggler_high_s),
        ])
    };
    let rows: Vec<Vec<String>> = measured(document, queries).into_iter().filter_map(row).collect();
    let headers = [
        "treatment",
        "placement",
        "cores",
        "elapsed s",
        "engine's CPU s",
        "core-s",
        "CPU to the baseline",
        "core-s to the baseline",
        "logical CPUs busy s, with others",
        "of s",
        "siblings busy while a core idled, s",
    ];
    (!rows.is_empty()).then(|| view("Means of blocks", &headers, 2, rows))
}

/// Both bounds of a ratio, or one figure.
fn ratio_bounds(low: f64, high: f64) -> String {
    let words = |value: f64| if value.is_finite() { ratio(value) } else { "n/a".to_owned() };
    let [low, high] = [low, high].map(words);
    if low == high { low } else { format!("{low}–{high}") }
}
