//! Queries of TPC-H: one by one in turn, or whole streams at once.

use super::{Kind, Nouns, command};
use crate::Facts;
use crate::estimate::THROUGHPUT;
use crate::findings::{Parts, activity, queries as findings, trust};
use crate::queries::short_reason;
use crate::queries::{Change, Reason, TreatmentQueries};
use threadwise_document::chart::ChartWords;
use threadwise_document::{Fact, Prose, Section, numbers, prose};
use threadwise_study::Study;
use threadwise_study::tpch::{self, Test};

/// The kind.
pub struct Queries;

/// Longest reason that is written out.
const MAX_REASON: usize = 200;

const NOUNS: Nouns = Nouns {
    rate: "queries/s",
    rate_in_full: "Queries per second",
    cpu: "CPU/query",
    row: "query",
    session: "stream",
    sessions: "streams",
};

/// Queries that take turns: throughput is a geometric mean over them.
const IN_TURN: Nouns =
    Nouns { rate: "queries/s (geo. mean)", rate_in_full: "Queries per second (geometric mean)", ..NOUNS };

/// Whether a study's queries take turns one by one, so that its throughput is a geometric mean over queries and not
/// how many end in an hour.
fn is_power(study: &Study) -> bool {
    study.treatments.first().is_none_or(|first| tpch::test(&first.options) == Test::Power)
}

impl Kind for Queries {
    fn is(&self, study: &Study) -> bool {
        study.workload == tpch::WORKLOAD
    }

    fn nouns(&self, study: &Study) -> Nouns {
        if is_power(study) { IN_TURN } else { NOUNS }
    }

    /// `cpu_ns_per_row` is `cpu_ns_per_query`, and `rows_per_s` is `queries_per_s` where whole streams run; query by
    /// query it is `queries_per_s_geometric`, the geometric mean over queries of 1 / execution time, as Power@Size of
    /// the TPC-H specification (clause 5.4.1) has it.
    fn metric_name(&self, study: &Study, metric: &str) -> String {
        if let Some(what) = metric.strip_suffix("_per_row") {
            return format!("{what}_per_query");
        }
        let rate = if is_power(study) { "queries_per_s_geometric" } else { "queries_per_s" };
        match metric.strip_prefix(THROUGHPUT) {
            Some(rest) => format!("{rate}{}", rest.replace("session", "stream")),
            None => metric.to_owned(),
        }
    }

    fn floor(&self, facts: &Facts<'_>) -> Option<Fact> {
        command::floor(facts)
    }

    fn turn(&self, facts: &Facts<'_>) -> String {
        let within = numbers::nanoseconds(facts.study.design.slice_ns as f64);
        match &facts.analysis.queries {
            Some(queries) if queries.is_throughput => {
                format!("executes all its streams at once, within {within}")
            }
            _ => format!("executes the round's query once, within {within}"),
        }
    }

    fn method(&self) -> Vec<Prose> {
        vec![prose!(
            "The queries and the data are derived from the TPC-H benchmark; the figures are no TPC-H results and not \
             comparable with published ones. Every answer was compared with that of a second engine on the same data. \
             Ratios of queries are a family of their own for Holm's method; their noise floor is the A/A interval of the \
             same query."
        )]
    }

    /// Engines that execute queries add advice over several lines, which the JSON report has.
    fn reason(&self, message: &str) -> String {
        short_reason(message, MAX_REASON)
    }

    fn comparable(&self) -> &'static str {
        "Ratios may be compared side by side: each is of an engine to itself. Times of queries may be compared only where \
         scale, parameters, storage and machine are the same."
    }

    fn findings(&self, facts: &Facts<'_>) -> Parts {
        let found = facts.analysis.queries.as_ref().filter(|_| facts.throughput().next().is_some());
        let Some(queries) = found else {
            let mut parts = trust::nothing_found(facts);
            if let Some(queries) = &facts.analysis.queries {
                parts.limits = vec![findings::scope(facts, queries)];
            }
            return parts;
        };
        let mut found = findings::queries(facts, queries);
        found.extend(activity::of_queries(facts));
        Parts {
            validity: trust::validity(facts).into_iter().collect(),
            found,
            setting: findings::data_size(queries).into_iter().collect(),
            limits: vec![findings::trust(facts, queries), findings::scope(facts, queries)],
            lead: None,
        }
    }

    fn answers(&self, _facts: &Facts<'_>) -> Vec<Section> {
        Vec::new()
    }

    fn tables(&self, _facts: &Facts<'_>) -> Vec<Section> {
        Vec::new()
    }

    fn chart_words(&self, facts: &Facts<'_>) -> ChartWords {
        let nouns = self.nouns(facts.study);
        let (ratio, slice) = match is_power(facts.study) {
            true => ("geometric mean of the queries' speeds as a ratio", "speed over its usual"),
            false => ("ratio of queries/s", nouns.rate),
        };
        ChartWords { rate: nouns.rate, ratio, slice, sessions: nouns.sessions }
    }
}

/// Queries whose plan is another one than the baseline's.
pub fn changed(own: &TreatmentQueries) -> Vec<u8> {
    let other = own.queries.iter().filter(|(_, query)| query.plan_change == Change::Different);
    other.map(|(number, _)| *number).collect()
}

/// Why an execution stands out, in a word.
pub fn reason_words(reason: Reason) -> &'static str {
    match reason {
        Reason::Plan => "plan",
        Reason::Clock => "clock",
        Reason::Io => "I/O",
        Reason::Neighbour => "neighbour",
        Reason::Dop => "parallelism",
        Reason::Unexplained => "unexplained",
    }
}
