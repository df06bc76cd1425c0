//! The sections that say how far to trust the figures, and what was set: method, configuration,
//! failures.

use super::data::{Section, TableView};
use super::tables::{estimate_name, view};
use crate::Document;
use crate::csv::status_words;
use crate::text::{
    bytes, counted, metric, nanoseconds, p_value, ratio, ratio_interval, set_share, share, significant,
};
use crate::words::{has_queries, has_runs, metric_name};
use threadwise_analysis::queries::short_reason;
use threadwise_analysis::{BlockCovariates, Estimate};
use threadwise_study::Stopping;

/// Failures beyond this many are counted and not listed.
const MAX_FAILURES: usize = 200;

/// Method and noise.
pub fn method(document: &Document) -> Section {
    let mut tables = vec![noise_floors(document), estimates(document)];
    tables.extend(other_metrics(document));
    tables.push(covariates(document));
    tables.extend(covariates_by_block(document));
    tables.extend(unflagged(document));
    Section {
        id: "method",
        title: "Method and noise",
        paragraphs: paragraphs(document),
        tables,
        ..Section::default()
    }
}

fn paragraphs(document: &Document) -> Vec<String> {
    let design = &document.study.design;
    let analysis = document.analysis;
    let mut lines = vec![
        format!(
            "A block is one draw of cores with one warmed worker per treatment. In each of its {} every treatment \
             {}, in shuffled order. The block is the statistical unit: {} counted. Stopping rule: {}.",
            counted(design.rounds as usize, "round"),
            turn(document),
            counted(analysis.blocks as usize, "block"),
            stopping(design.stopping),
        ),
        format!(
            "Intervals are at {} and come from differences of logarithms within rounds. An effect is shown where \
             the interval, adjusted by Holm's method for the number of comparisons, excludes 1 and the ratio is \
             further from 1 than the noise floor. The noise floor is the interval of the baseline compared with \
             itself under a second name (A/A). An estimate is conclusive where its half-width is within {}.",
            set_share(document.level()),
            set_share(design.target_half_width),
        ),
    ];
    if has_queries(&document.study.workload) {
        lines.push(
            "The queries and the data are derived from the TPC-H benchmark; the figures are no TPC-H results and not \
             comparable with published ones. Every answer was compared with that of a second engine on the same data. \
             Ratios of queries are a family of their own for Holm's method; their noise floor is the A/A interval of the \
             same query."
                .to_owned(),
        );
    }
    lines.extend(has_runs(document.study).then(|| runs_words(document)));
    if !analysis.excluded_blocks.is_empty() {
        let left_out: Vec<String> =
            analysis.excluded_blocks.iter().map(|line| reason(document, line)).collect();
        lines.push(format!("Left out: {}.", left_out.join("; ")));
    }
    if !document.study.left_out.is_empty() {
        lines.push(format!("Not measured on this machine: {}.", document.study.left_out.join("; ")));
    }
    lines
}

/// What is said of the method where the work is runs of a command.
const COMMANDS: &str = "is a whole run, so a block has one number of each treatment, and of the \
     baseline two, whose logarithms are averaged: in figures of its own too. The ratios of the headline are a family of \
     their own for Holm's method; those of all other quantities together are another one. Each quantity has its own noise \
     floor. A number of 0 or less has no ratio: then there is none of that comparison, since leaving the block out would \
     leave out just what is small.";

fn runs_words(document: &Document) -> String {
    format!("A run of the {} {COMMANDS}", if is_list(document) { "list" } else { "command" })
}

fn is_list(document: &Document) -> bool {
    document.study.workload == threadwise_study::worklist::WORKLOAD
}

/// What a treatment does in a round.
fn turn(document: &Document) -> String {
    let design = &document.study.design;
    let [slice, rewarm] = [design.slice_ns, design.rewarm_ns].map(|ns| nanoseconds(ns as f64));
    match document.study.is_fixed_work() {
        true if has_queries(&document.study.workload) => {
            format!("{}, within {slice}", queries_turn(document))
        }
        true if is_list(document) => "does the whole list once".to_owned(),
        true if has_runs(document.study) => "runs its command once, to the end".to_owned(),
        true => format!(
            "does its fixed amount of work once, after {rewarm} of re-warming and within {slice}: elapsed is the time \
             from the common start to the end of the last session"
        ),
        false => format!("gets one slice of {slice} after {rewarm} of re-warming"),
    }
}

fn queries_turn(document: &Document) -> &'static str {
    match &document.analysis.queries {
        Some(queries) if queries.is_throughput => "executes all its streams at once",
        _ => "executes the round's query once",
    }
}

fn stopping(rule: Stopping) -> String {
    match rule {
        Stopping::Budget { budget_s } => {
            format!("number of blocks fixed before the first look, from a budget of {budget_s} s")
        }
        Stopping::Until { half_width, budget_s } => {
            format!(
                "up to five looks until every half-width is within {}, at most {budget_s} s",
                set_share(half_width)
            )
        }
        Stopping::Blocks { blocks } => format!("exactly {}", counted(blocks as usize, "block")),
    }
}

fn noise_floors(document: &Document) -> TableView {
    let analysis = document.analysis;
    let floors = analysis.commands.as_ref().map_or(&analysis.noise_floors, |commands| &commands.floors);
    let rows = floors.iter().map(|floor| {
        let percent = format!("±{}", share(floor.floor.exp_m1()));
        let metric = metric_name(document.study, &floor.metric);
        vec![group_name(&floor.group), metric, ratio3(floor.low), ratio3(floor.high), percent]
    });
    view("Noise floor (A/A)", &["group", "metric", "low", "high", "floor"], 2, rows.collect())
}

/// Near 1 two decimals hide what a noise floor is about.
fn ratio3(value: f64) -> String {
    if value.is_finite() { format!("{value:.3}") } else { "n/a".to_owned() }
}

fn group_name(group: &str) -> String {
    if group.is_empty() { "all".to_owned() } else { group.to_owned() }
}

fn estimates(document: &Document) -> TableView {
    // One method for all is said once.
    let mut methods: Vec<&str> =
        document.throughput_ratios().map(|estimate| estimate.method.as_str()).collect();
    methods.dedup();
    let common = methods.len() <= 1;
    let rows = document.throughput_ratios().map(|estimate| {
        let [group, label, against] = estimate_name(document, estimate);
        let method = (!common).then(|| estimate.method.clone());
        let yes = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
        let figures = [
            ratio(estimate.value),
            format!("[{}, {}]", ratio3(estimate.low), ratio3(estimate.high)),
            format!("[{}, {}]", ratio3(estimate.holm_low), ratio3(estimate.holm_high)),
            p_value(estimate.p_t),
            p_value(estimate.p_sign_flip),
            signed(estimate.lag1),
            estimate.blocks.to_string(),
            yes(estimate.conclusive),
            yes(estimate.effect),
        ];
        [group_name(&group), label, against].into_iter().chain(method).chain(figures).collect()
    });
    let texts = ["group", "comparison", "compared"].into_iter().chain((!common).then_some("method"));
    let figures = [
        "ratio",
        "interval",
        "Holm interval",
        "p (t)",
        "p (sign flip)",
        "lag-1",
        "blocks",
        "conclusive",
        "effect",
    ];
    let headers: Vec<&str> = texts.chain(figures).collect();
    let headline = document.analysis.commands.as_ref().and_then(|commands| commands.headline());
    let what = match headline {
        Some(headline) => format!("Ratios of {}", headline.name),
        None => "Throughput ratios".to_owned(),
    };
    let caption = match methods.first().filter(|_| common) {
        Some(method) => format!("{what} ({method})"),
        None => what,
    };
    view(&caption, &headers, headers.len() - figures.len(), rows.collect())
}

fn signed(value: f64) -> String {
    if value.is_finite() { format!("{value:+.2}") } else { "n/a".to_owned() }
}

fn other_metrics(document: &Document) -> Option<TableView> {
    let headline = document.analysis.headline();
    let others = document.analysis.estimates.iter().filter(|estimate| estimate.metric != headline);
    let rows: Vec<Vec<String>> = others
        .map(|estimate| {
            let [group, label, against] = estimate_name(document, estimate);
            let figures = ratio_interval(estimate.value, estimate.low, estimate.high);
            let metric = metric_name(document.study, &estimate.metric);
            vec![group_name(&group), label, against, metric, better(estimate), figures]
        })
        .collect();
    let headers = ["group", "comparison", "compared", "metric", "direction", "ratio"];
    (!rows.is_empty()).then(|| view("Ratios of other metrics", &headers, 5, rows))
}

fn better(estimate: &Estimate) -> String {
    estimate.direction.replace('-', " ")
}

fn covariates(document: &Document) -> TableView {
    let covariates = &document.analysis.covariates;
    let blocks: Vec<String> = covariates.flagged_blocks.iter().map(u32::to_string).collect();
    let flagged = if blocks.is_empty() { "none".to_owned() } else { blocks.join(", ") };
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row("time stolen by the hypervisor on used logical CPUs", share(covariates.steal_share)),
        row("the same in the worst block", share(covariates.steal_share_max)),
        row("idle siblings of used cores: busy with something else", share(covariates.left_over_busy_share)),
        row("other logical CPUs: busy with something else", share(covariates.others_busy_share)),
    ];
    let known = [
        ("a co-runner on the siblings of used logical CPUs", covariates.co_runner_share.map(share)),
        ("the same of one treatment in the worst block", covariates.co_runner_share_max.map(share)),
        ("siblings of one core busy while another core idled", covariates.straggler_share.map(share)),
        (
            "clock of used logical CPUs while not idle",
            covariates.clock_mhz.map(|mhz| format!("{} MHz", significant(mhz, 4))),
        ),
        ("the samplers' own CPU time, share of one CPU", covariates.telemetry_cpu_share.map(share)),
    ];
    let unknown = || "unknown".to_owned();
    rows.extend(known.into_iter().map(|(name, value)| row(name, value.unwrap_or_else(unknown))));
    rows.push(row("blocks flagged by one of these", flagged));
    view("What disturbed the study", &["covariate", "figure"], 1, rows)
}

/// Block by block, where co-runners, stragglers or the samplers' cost were recorded.
fn covariates_by_block(document: &Document) -> Option<TableView> {
    let blocks = &document.analysis.covariates.blocks;
    let recorded = |own: &&BlockCovariates| {
        [own.co_runner_share, own.straggler_share, own.telemetry_cpu_share].iter().any(Option::is_some)
    };
    blocks.iter().find(recorded)?;
    let known = |value: Option<f64>| value.map_or("unknown".to_owned(), share);
    let rows = blocks.iter().map(|own| {
        vec![
            own.block.to_string(),
            if own.causes.is_empty() { "-".to_owned() } else { own.causes.join(", ") },
            known(own.co_runner_before_share),
            known(own.co_runner_after_share),
            known(own.co_runner_share_max),
            share(own.steal_share),
            share(own.left_over_busy_share),
            share(own.others_busy_share),
            known(own.straggler_share),
            known(own.telemetry_cpu_share),
            own.clock_mhz.map_or("unknown".to_owned(), |mhz| significant(mhz, 4)),
        ]
    });
    let headers = [
        "block",
        "flagged for",
        "co-runner before",
        "co-runner after",
        "worst treatment",
        "steal",
        "idle siblings busy",
        "others busy",
        "stragglers",
        "samplers",
        "MHz",
    ];
    Some(view("What disturbed each block", &headers, 2, rows.collect()))
}

fn unflagged(document: &Document) -> Option<TableView> {
    let rows: Vec<Vec<String>> = document
        .throughput_ratios()
        .filter_map(|estimate| {
            let (value, low, high, blocks) = estimate.unflagged?;
            let [group, label, against] = estimate_name(document, estimate);
            let with = ratio_interval(estimate.value, estimate.low, estimate.high);
            Some(vec![
                group_name(&group),
                label,
                against,
                with,
                ratio_interval(value, low, high),
                blocks.to_string(),
            ])
        })
        .collect();
    let headers = ["group", "comparison", "compared", "all blocks", "without flagged", "blocks left"];
    (!rows.is_empty()).then(|| view("The same without the flagged blocks", &headers, 3, rows))
}

/// Raw configuration: study and machine.
pub fn configuration(document: &Document) -> Section {
    let identity = &document.topology.identity;
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut machine = vec![
        row("processor", known(&identity.cpu_model)),
        row("vendor", known(&identity.cpu_vendor)),
        row("hypervisor", identity.hypervisor.clone().unwrap_or_else(|| "none seen".to_owned())),
        row("SMT control", known(&identity.smt_control)),
        row("kernel", known(&identity.kernel)),
        row("memory", identity.memory_bytes.map_or("unknown".to_owned(), bytes)),
    ];
    machine.extend([
        row("program", format!("threadwise {}", document.program_version)),
        row("engine", format!("{} {}", document.study.engine, document.engine_version)),
        row("result file", document.source.to_owned()),
        row("began", document.created_utc.to_owned()),
    ]);
    let notes = document.notes.iter().map(|text| vec![text.clone()]).collect::<Vec<_>>();
    let mut tables = vec![view("Machine and program", &["", ""], 2, machine)];
    tables.extend((!notes.is_empty()).then(|| view("Notes", &[""], 1, notes)));
    Section {
        id: "configuration",
        title: "Raw configuration",
        tables,
        verbatim: Some(threadwise_study::load::to_toml(document.study)),
        ..Section::default()
    }
}

/// Runs that do not count, with their reasons.
pub fn failures(document: &Document) -> Section {
    let bad: Vec<_> = document.runs.iter().filter(|run| !run.status.is_valid()).collect();
    let rows = bad.iter().take(MAX_FAILURES).map(|run| {
        let (status, kind, message) = status_words(&run.status);
        vec![
            run.treatment.clone(),
            status.to_owned(),
            kind.to_owned(),
            reason(document, message),
            run.block.to_string(),
            run.attempt.to_string(),
        ]
    });
    let headers = ["treatment", "status", "kind", "message", "block", "attempt"];
    let more = bad.len().saturating_sub(MAX_FAILURES);
    let sentence = match bad.len() {
        0 => "Every run was valid.".to_owned(),
        count => format!("{} not counted{}.", counted(count, "run"), more_words(more)),
    };
    let tables = if bad.is_empty() { vec![] } else { vec![view("Runs", &headers, 4, rows.collect())] };
    Section { id: "failures", title: "Failures", paragraphs: vec![sentence], tables, ..Section::default() }
}

/// Longest message of an engine that executes queries: they give advice over several lines, which the
/// JSON report has.
const MAX_REASON: usize = 200;

fn reason(document: &Document, message: &str) -> String {
    match has_queries(&document.study.workload) {
        true => short_reason(message, MAX_REASON),
        false => message.to_owned(),
    }
}

fn more_words(more: usize) -> String {
    match more {
        0 => String::new(),
        more => format!("; {more} more than are listed here, see `threadwise export`"),
    }
}

/// Facts beside the verdict need a noise floor in words.
pub fn floor_words(document: &Document) -> Option<String> {
    document.widest_floor().map(|floor| format!("±{}", metric(floor.floor.exp_m1(), "share")))
}
