//! Queries of TPC-H: one by one in turn, or whole streams at once.

use super::rate;
use crate::estimate::{ROWS_PER_JOULE, THROUGHPUT};
use crate::findings::{activity, trust};
use crate::kind::Kind;
use crate::queries::{
    Baseline, PLAN_SIGN, QueryStudy, cores, data_words, heat, outliers, pairs, plans, short, short_reason,
    steps, treatments, verdict,
};
use crate::{Facts, Finding};
use threadwise_document::chart::ChartWords;
use threadwise_document::numbers::{counted, percent, set_percent};
use threadwise_document::{Block, Fact, Mark, Prose, Section, Shown, prose};
use threadwise_study::Study;
use threadwise_study::tpch::{self};

/// The kind.
pub struct Queries;

/// Longest reason that is written out.
const MAX_REASON: usize = 200;

impl Kind for Queries {
    /// `cpu_ns_per_row` is `cpu_ns_per_query`, and `rows_per_s` is `queries_per_s` if whole streams run; query by query
    /// it is `queries_per_s_geometric`, the geometric mean over queries of 1 / execution time, like Power@Size of the
    /// TPC-H specification (clause 5.4.1).
    fn metric_name(&self, study: &Study, metric: &str) -> String {
        if let Some(what) = metric.strip_suffix("_per_row") {
            return format!("{what}_per_query");
        }
        if metric == ROWS_PER_JOULE {
            return "queries_per_joule".to_owned();
        }
        let rate = if study.has_queries_in_turn() { "queries_per_s_geometric" } else { "queries_per_s" };
        match metric.strip_prefix(THROUGHPUT) {
            Some(rest) => format!("{rate}{}", rest.replace("session", "stream")),
            None => metric.to_owned(),
        }
    }

    /// The title with the number of queries, if not all are run.
    fn title(&self, study: &Study) -> String {
        let title = if study.title.is_empty() { &study.name } else { &study.title };
        let asked = study.treatments.first().map(|first| tpch::queries(&first.options).len());
        let Some(asked) = asked.filter(|asked| *asked < usize::from(tpch::QUERIES)) else {
            return title.clone();
        };
        let all = format!("{} queries", tpch::QUERIES);
        match title.contains(&all) {
            true => title.replacen(&all, &format!("{asked} of the {all}"), 1),
            false => format!("{title} ({asked} of the {all})"),
        }
    }

    fn about(&self, facts: &Facts<'_>) -> Option<String> {
        Some(data_words(facts.analysis.queries.as_ref()?)?.to_string())
    }

    /// The floor of totals, the widest of all groups.
    fn floor(&self, facts: &Facts<'_>) -> Option<Fact> {
        let queries = facts.analysis.queries.as_ref()?;
        let floors =
            queries.treatments.iter().filter_map(|measured| measured.total.ratios.speed.as_ref()?.floor);
        let widest = floors.max_by(f64::total_cmp).filter(|widest| widest.is_finite())?;
        let note = match queries.baselines.as_slice() {
            [Baseline { twin: Some(twin), both, .. }] => {
                format!("{twin} against {} (noise)", both.treatment)
            }
            _ => "A′ against A (noise)".to_owned(),
        };
        let name = if queries.is_throughput { "noise floor" } else { "noise floor of totals" };
        Some(Fact { name: name.to_owned(), value: format!("±{}", percent(widest - 1.0)), note })
    }

    fn turn(&self, facts: &Facts<'_>) -> String {
        let within = threadwise_document::numbers::nanoseconds(facts.study.design.slice_ns as f64);
        match &facts.analysis.queries {
            Some(queries) if queries.is_throughput => {
                format!("executes all its streams at once, within {within}")
            }
            _ => format!("executes the round's query once, within {within}"),
        }
    }

    fn method(&self, facts: &Facts<'_>) -> Vec<Prose> {
        let share = || Prose::figure(set_percent(1.0 - facts.level()));
        vec![
            prose!(
                "The queries and the data are derived from the TPC-H benchmark; the figures are not TPC-H results and \
                 not comparable with published ones. Every answer was compared with that of a second engine on the \
                 same data. The noise floor of a query is the A/A interval of the same query."
            ),
            prose!(
                "The queries of one comparison, or of one step of DOP, are a family. The variance of each is shrunk \
                 towards what is usual among them (moderated t, Smyth 2004; with at least 5 queries and 8 blocks). \
                 Which of them differ is judged by Benjamini and Hochberg's method: on average at most {} of those \
                 reported to differ do not. Intervals of queries that are reported to differ are adjusted for \
                 selection: on average at most {} of them miss (false coverage rate, Benjamini and Yekutieli 2005). \
                 Those of the others are plain. Totals are judged by Holm's method. A treatment is named fastest if \
                 it is shown by Holm's method to be ahead of each of the others; otherwise all that may be fastest \
                 are named.",
                share(),
                share()
            ),
        ]
    }

    /// Engines that execute queries add advice over several lines, which the JSON report has.
    fn reason(&self, message: &str) -> String {
        short_reason(message, MAX_REASON)
    }

    fn comparable(&self) -> &'static str {
        "Ratios may be compared side by side: each is of an engine to itself. Times of queries may be compared only where \
         scale, parameters, storage and machine are the same."
    }

    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let found = facts.analysis.queries.as_ref().map(|queries| QueryStudy { facts: *facts, queries });
        let Some(found) = found.filter(|_| facts.throughput().next().is_some()) else {
            return trust::nothing_found(facts, self);
        };
        let mut findings = verdict::findings(found);
        findings.extend(activity::of_queries(facts));
        findings.extend(verdict::data_size(found.queries));
        findings.extend([verdict::trust(found), verdict::scope(found)]);
        findings
    }

    fn answers(&self, facts: &Facts<'_>) -> Vec<Section> {
        let Some(queries) = &facts.analysis.queries else { return Vec::new() };
        let found = QueryStudy { facts: *facts, queries };
        let mut sections = vec![
            treatments::section(found),
            Section::new("comparison", "Treatments compared", rate::comparison(facts, self)),
            treatments::by_query_section(found),
        ];
        let others = [
            short::section(found),
            pairs::section(found),
            steps::section(found),
            heat::section(found),
            cores::section(found),
            plans::section(found),
            outliers::section(found),
        ];
        sections.extend(others.into_iter().flatten());
        // After everything that a terminal shows of them.
        sections.push(Section::new("legend", "", vec![Block::Legend(legend(found), Shown::Terminal)]));
        sections
    }

    /// None: the sections that answer the question have each treatment's figures.
    fn tables(&self, _facts: &Facts<'_>) -> Vec<Section> {
        Vec::new()
    }

    fn chart_words(&self, facts: &Facts<'_>) -> ChartWords {
        let nouns = facts.study.nouns();
        let (ratio, slice) = match facts.study.has_queries_in_turn() {
            true => ("geometric mean of the queries' speeds as a ratio", "speed over its usual"),
            false => ("ratio of queries/s", nouns.rate),
        };
        ChartWords { rate: nouns.rate, ratio, slice, sessions: nouns.sessions }
    }
}

fn legend(found: QueryStudy<'_>) -> Vec<Prose> {
    let (facts, queries) = (&found.facts, found.queries);
    let level = set_percent(facts.level());
    let blocks = counted(facts.analysis.blocks as usize, "block");
    let baseline = facts.common_baseline();
    let mut parts = vec![
        prose!("±, [low, high]: {} interval over {}.", level, blocks),
        match queries.is_throughput {
            true => prose!(
                "ratio: queries per hour over those of {}, above 1 is more; query by query it is speed.",
                baseline
            ),
            false => prose!("Ratios are speeds against {}: above 1 is faster.", baseline),
        },
    ];
    if queries.baselines.iter().any(|baseline| baseline.twin.is_some()) {
        parts.push(prose!(
            "{}: both of its runs in every block, as in ratios; noise: its second run against its first",
            baseline
        ));
    }
    parts.extend(Mark::ALL.map(Prose::sign));
    parts.push(prose!(
        "Of queries that differ (Benjamini and Hochberg's method at {}) intervals are adjusted for selection.",
        set_percent(1.0 - facts.level())
    ));
    if !queries.changed().is_empty() {
        parts.push(prose!("{} another plan than {}", PLAN_SIGN, baseline));
    }
    if found.any(|measured| measured.total.ratios.cpu.is_some()) {
        parts.push(prose!("CPU: CPU seconds against the baseline's, above 1 is more"));
    }
    if found.any(|measured| measured.cores.is_some()) {
        parts.push(prose!(
            "core-s: seconds in which a physical core {} with at least one thread; two figures are bounds",
            cores::activity(found)
        ));
    }
    parts.extend(data_words(queries).map(|words| prose!("Data: {}", words)));
    parts
}
