//! What the figures of a study of queries are about: engine, queries, parameters, data, memory.

use super::choice::query_list;
use crate::Facts;
use crate::Finding;
use crate::findings::trust::{factors, headline, next};
use crate::queries::Queries;
use crate::words::{finding, list};
use threadwise_document::numbers::counted;
use threadwise_document::prose;
use threadwise_study::Study;
use threadwise_study::tpch::{self, QUERIES, Test};

/// Most queries that are named.
const MAX_NAMED: usize = 6;

/// Engine, workload, data, memory, what is left out, what to run next.
pub fn scope(facts: &Facts<'_>, queries: &Queries) -> Finding {
    let study = facts.study;
    // The rest of a version says who built it.
    let version = facts.engine_version.split_once(" (").map_or(facts.engine_version, |(version, _)| version);
    let engine = format!("{} {}", study.engine, version.trim());
    let mut parts = vec![format!("engine {}, workload {}", engine.trim_end(), study.workload)];
    parts.extend(factors(facts));
    parts.extend([asked(study), streams(study), parameters(study), data(study), memory(study)]);
    parts.extend(spilled(queries));
    parts.extend(
        levels(study, "hold_plan", "false")
            .iter()
            .any(|held| held == "true")
            .then(|| "plans held".to_owned()),
    );
    let mut text = prose!("Scope: {}.", parts.join(", "));
    if !study.left_out.is_empty() {
        let what: Vec<String> = study.left_out.iter().map(|line| headline(line)).collect();
        text.push(prose!(" Left out: {}.", list(&what)));
    }
    if let Some(next) = next(facts, &[]) {
        text.push(prose!(" Next: {}.", next));
    }
    finding("scope", text, &[])
}

/// The values that treatments have of an option, in order of first appearance.
fn levels(study: &Study, name: &str, default: &str) -> Vec<String> {
    let mut levels: Vec<String> = Vec::new();
    for treatment in &study.treatments {
        let level = treatment.options.get(name).map_or_else(|| default.to_owned(), ToString::to_string);
        if !levels.contains(&level) {
            levels.push(level);
        }
    }
    levels
}

/// `all 22 queries`, or which of them.
fn asked(study: &Study) -> String {
    let numbers = study.treatments.first().map(|first| tpch::queries(&first.options)).unwrap_or_default();
    match numbers.len() {
        all if all == usize::from(QUERIES) => format!("all {QUERIES} queries"),
        some => format!("{some} of the {QUERIES} queries ({})", query_list(&numbers, MAX_NAMED)),
    }
}

fn test(study: &Study) -> Test {
    study.treatments.first().map_or(Test::Power, |first| tpch::test(&first.options))
}

fn streams(study: &Study) -> String {
    let short = study.treatments.iter().map(|treatment| study.short_sessions(treatment)).max().unwrap_or(0);
    match (test(study), short) {
        (Test::Power, _) => "one stream, query by query".to_owned(),
        (Test::Throughput, 0) => "whole streams at the same time".to_owned(),
        (Test::Throughput, short) => {
            format!(
                "whole streams at the same time, {} of short queries beside",
                counted(short as usize, "session")
            )
        }
    }
}

fn parameters(study: &Study) -> String {
    let default = match test(study) {
        Test::Throughput => "seeded",
        Test::Power => "validation",
    };
    format!("{} parameters", list(&levels(study, "parameters", default)))
}

/// Where rows lie, in which order, and what of it is in memory before a query.
fn data(study: &Study) -> String {
    let storage = levels(study, "storage", if study.properties().reads_files { "parquet" } else { "" });
    let stores: Vec<String> = storage
        .iter()
        .map(|storage| match storage.as_str() {
            "parquet" => "Parquet files".to_owned(),
            "memory" => "tables in memory".to_owned(),
            _ => "the engine's own tables".to_owned(),
        })
        .collect();
    let caches: Vec<String> = match storage.as_slice() {
        [only] if only == "memory" => Vec::new(),
        _ => levels(study, "cache", "warm"),
    };
    let caches = match caches.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["cold"] => ", cleared from caches before every query",
        ["warm"] => " read once before",
        [] => "",
        _ => ", read once before or cleared from caches",
    };
    let orders: Vec<String> = levels(study, "cluster", "orderkey")
        .iter()
        .map(|cluster| if cluster == "shipdate" { "ship date" } else { "order key" }.to_owned())
        .collect();
    format!("{}{caches}, lineitem by {}", list(&stores), list(&orders))
}

fn memory(study: &Study) -> String {
    match levels(study, "memory_limit_mb", "").as_slice() {
        [none] if none.is_empty() => "no memory limit asked for".to_owned(),
        limits => {
            let each: Vec<String> = limits
                .iter()
                .map(|limit| if limit.is_empty() { "none".to_owned() } else { format!("{limit} MB") })
                .collect();
            format!("memory limit {}", list(&each))
        }
    }
}

/// Queries that wrote to disk what did not fit; `None` where engines do not tell.
fn spilled(queries: &Queries) -> Option<String> {
    let all = || queries.treatments.iter().flat_map(|measured| &measured.queries);
    let bytes =
        all().filter_map(|(number, estimates)| Some((*number, *estimates.counters.get("spill_bytes")?)));
    let known: Vec<(u8, f64)> = bytes.collect();
    let mut numbers: Vec<u8> =
        known.iter().filter(|(_, bytes)| *bytes > 0.0).map(|(number, _)| *number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    match (known.len(), numbers.as_slice()) {
        (0, _) => None,
        (_, []) => Some("nothing spilled".to_owned()),
        (_, numbers) => Some(format!("spilled: {}", query_list(numbers, MAX_NAMED))),
    }
}
