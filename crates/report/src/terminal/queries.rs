//! A study of queries: the table of treatments, the ratios query by query, what changed in plans.

mod ratios;

use super::lines::{Aligned, columns, flow, wrap};
use super::{Style, activity, comparisons, paint_signs};
use crate::queries::{
    PLAN_SIGN, by_group, changed_words, core_words, core_work, data_words, instead, interval_words, label,
    mark, noise, query_name, query_names, role_words, some_names, summary,
};
use crate::text::{compact, counted, plain, ratio, ratio_interval, runs_words, set_share};
use crate::{Document, Mark};
use std::collections::BTreeSet;
use threadwise_analysis::Ratio;
use threadwise_analysis::queries::{Change, Queries, TreatmentQueries};

/// Everything below the verdict.
pub fn table(document: &Document, queries: &Queries, style: Style) -> String {
    let mut text = treatments(document, queries, style);
    text.push_str(&without_changed(document, queries, style));
    text.push_str(&comparisons(document, style));
    text.push_str(&ratios::ratios(document, queries, style));
    text.push_str(&plan_changes(document, queries, style));
    text.push_str(&activity::activity(document, style));
    let text = paint_signs(&text, style);
    text + &style.paint(super::DIM, &legend(document, queries, style).join("\n"))
}

/// A column of the table of treatments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    /// Treatment, with its placement where the name does not say it.
    Named,
    /// Treatment.
    Name,
    Dop,
    Streams,
    Total,
    PerHour,
    Speed,
    /// Geometric mean with its interval.
    Geometric,
    /// Geometric mean alone.
    Mean,
    Cpu,
    Cores,
    Plans,
    Runs,
}

use Column::{Cores, Cpu, Dop, Geometric, Mean, Name, Named, PerHour, Plans, Runs, Speed, Streams, Total};

/// Which columns stand in the table, the widest choice first.
const SHAPES: [&[Column]; 6] = [
    &[Named, Dop, Streams, Total, PerHour, Speed, Geometric, Cpu, Cores, Plans, Runs],
    &[Named, Dop, Streams, Total, PerHour, Speed, Mean, Cpu, Cores, Plans, Runs],
    &[Name, Dop, Streams, Total, PerHour, Speed, Mean, Cpu, Cores, Plans, Runs],
    &[Name, Dop, Streams, Total, PerHour, Speed, Mean, Cpu, Cores, Plans],
    &[Name, Dop, Streams, Total, PerHour, Speed, Cpu, Plans],
    &[Name, Dop, Streams, Total, PerHour, Speed],
];

/// What stands where there is no figure.
const NONE: &str = "-";

impl Column {
    fn header(self, queries: &Queries) -> &'static str {
        match self {
            Named | Name => "treatment",
            Dop => "DOP",
            Streams => "streams",
            Total if queries.is_throughput => "elapsed s",
            Total => "total s",
            PerHour => "queries/h",
            Speed if queries.is_throughput => "ratio",
            Speed => "ratio of totals",
            Geometric | Mean => "geo. mean",
            Cpu => "CPU",
            Cores => "core-s",
            Plans => "plans",
            Runs => "runs",
        }
    }

    /// Whether a study has anything to show in it.
    fn is_used(self, queries: &Queries) -> bool {
        let any = |has: &dyn Fn(&TreatmentQueries) -> bool| queries.treatments.iter().any(has);
        match self {
            Streams => any(&|own| own.streams != 1),
            PerHour => queries.is_throughput,
            Mean => !queries.is_throughput,
            Dop => any(&|own| own.dop.is_some()),
            Cores => any(&|own| own.cores.is_some()),
            Cpu => any(&|own| own.total.cpu.is_some()),
            _ => true,
        }
    }

    fn cell(self, document: &Document, queries: &Queries, own: &TreatmentQueries, style: Style) -> String {
        let none = || NONE.to_owned();
        let total = &own.total;
        let bare =
            |value: Option<&Ratio>| value.map_or_else(none, |value| format!("{}x", ratio(value.value)));
        if let Some((speed, mean)) = noise(document, queries, &own.treatment) {
            match self {
                // Its own figures are in those of the baseline.
                Total => return "noise".to_owned(),
                Speed => return speed.map_or_else(none, figures),
                Geometric => return mean.map_or_else(none, figures),
                Mean => return bare(mean),
                PerHour | Cpu | Cores => return none(),
                _ => {}
            }
        }
        match self {
            Name => label(document, &own.treatment).to_owned(),
            Named => {
                let label = label(document, &own.treatment);
                // `all d4` on `all` says it.
                match label.split(' ').any(|word| word == own.placement) {
                    true => label.to_owned(),
                    false => super::named(label, &own.placement),
                }
            }
            Dop => own.dop.map_or_else(none, |dop| dop.to_string()),
            Streams => own.streams.to_string(),
            Total => interval_words(total.elapsed_s.as_ref())[0].clone(),
            PerHour => total.queries_per_h.as_ref().map_or_else(none, |rate| compact(rate.mean, 4)),
            Speed => match (&total.speed, role_words(document, &own.treatment)) {
                (_, Some(role)) => role.to_owned(),
                (Some(speed), None) => marked(document, speed, style),
                (None, None) => none(),
            },
            Geometric => total.geometric.as_ref().map_or_else(none, |mean| marked(document, mean, style)),
            Mean => bare(total.geometric.as_ref()),
            Cpu => bare(total.cpu.as_ref()),
            Cores => own.cores.as_ref().map_or_else(none, core_words),
            Plans if role_words(document, &own.treatment).is_some() => none(),
            Plans => changed_words(own),
            Runs => summary(document, &own.treatment).map_or_else(none, runs_words),
        }
    }
}

/// A ratio with its interval, where it has one.
fn figures(value: &Ratio) -> String {
    match value.high.is_finite() {
        true => ratio_interval(value.value, value.low, value.high),
        false => format!("{}x", ratio(value.value)),
    }
}

/// The same with its mark.
fn marked(document: &Document, value: &Ratio, style: Style) -> String {
    format!("{} {}", style.sign(mark(document, value)), figures(value))
}

fn treatments(document: &Document, queries: &Queries, style: Style) -> String {
    let groups = by_group(document, queries);
    for shape in SHAPES {
        let shown: Vec<Column> = shape.iter().copied().filter(|column| column.is_used(queries)).collect();
        let headers: Vec<String> = shown.iter().map(|column| column.header(queries).to_owned()).collect();
        let mut rows = vec![headers];
        // Lines that a group's name stands before.
        let mut heads: Vec<(usize, String)> = Vec::new();
        for (group, members) in &groups {
            let words = document.group_words(group);
            heads.extend((!words.is_empty()).then(|| (rows.len(), plain(&words, style.unicode))));
            let indent = if words.is_empty() { "" } else { "  " };
            for own in members {
                let cells = shown
                    .iter()
                    .map(|column| plain(&column.cell(document, queries, own, style), style.unicode));
                let mut cells: Vec<String> = cells.collect();
                cells[0].insert_str(0, indent);
                rows.push(cells);
            }
        }
        let aligned = Aligned::new(rows, &[0], style.width);
        let lines: Vec<String> = aligned.rows.iter().map(|row| row.join(aligned.gap)).collect();
        let fits = lines.iter().all(|line| columns(line.trim_end()) <= style.width);
        if fits && (aligned.gap.len() > 1 || shape == SHAPES[SHAPES.len() - 1]) {
            return ruled(&lines, &heads, style);
        }
    }
    list(document, queries, style)
}

/// The table's lines with a rule below the header and the groups' names.
pub(super) fn ruled(lines: &[String], heads: &[(usize, String)], style: Style) -> String {
    let width = lines.iter().map(|line| columns(line.trim_end())).max().unwrap_or(0);
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        for (_, words) in heads.iter().filter(|(before, _)| *before == at) {
            wrap(words, style.width).iter().for_each(|line| text.push_str(&format!("{line}\n")));
        }
        text.push_str(&format!("{}\n", line.trim_end()));
        if at == 0 {
            text.push_str(&format!("{}\n", if style.unicode { "─" } else { "-" }.repeat(width)));
        }
    }
    text
}

/// Each treatment with its figures below its name.
fn list(document: &Document, queries: &Queries, style: Style) -> String {
    let mut text = String::new();
    for (group, members) in by_group(document, queries) {
        let words = plain(&document.group_words(group), style.unicode);
        if !words.is_empty() {
            wrap(&words, style.width).iter().for_each(|line| text.push_str(&format!("{line}\n")));
        }
        for own in members {
            let name = Named.cell(document, queries, own, style);
            wrap(&plain(&name, style.unicode), style.width)
                .iter()
                .for_each(|line| text.push_str(&format!("{line}\n")));
            let used = [Dop, Streams, Total, PerHour, Speed, Mean, Cpu, Cores, Plans, Runs];
            let used = used.into_iter().filter(|column| column.is_used(queries));
            let parts: Vec<String> = used
                .map(|column| (column.header(queries), column.cell(document, queries, own, style)))
                .map(|(header, cell)| plain(&format!("{header} {cell}"), style.unicode))
                .collect();
            for line in flow(&parts, style.width.saturating_sub(4).max(20)) {
                text.push_str(&format!("    {line}\n"));
            }
        }
    }
    text
}

/// Totals and geometric means without the queries whose plan changed; empty where none did.
fn without_changed(document: &Document, queries: &Queries, style: Style) -> String {
    let known = queries.treatments.iter().filter(|own| own.total.speed_same_plans.is_some());
    let mut text = String::new();
    for own in known {
        let Some(speed) = &own.total.speed_same_plans else { continue };
        let mean = own.total.geometric_same_plans.as_ref();
        let mean = mean.map(|mean| format!(", geo. mean {}", marked(document, mean, style)));
        let line =
            format!("  {}  {}{}", own.treatment, marked(document, speed, style), mean.unwrap_or_default());
        text.push_str(&hanging(&line, 4, style));
    }
    if text.is_empty() {
        return text;
    }
    let names = query_names(queries.changed());
    hanging(&format!("without {names}, whose plan is another one in a treatment"), 2, style) + &text
}

/// A line wrapped to the width, its further lines moved in; what it begins with is kept.
fn hanging(line: &str, indent: usize, style: Style) -> String {
    let line = plain(line, style.unicode);
    if columns(&line) <= style.width {
        return format!("{line}\n");
    }
    let start = line.chars().take_while(|c| *c == ' ').count();
    let parts = wrap(&line, style.width.saturating_sub(indent).max(20));
    let heads = std::iter::once(" ".repeat(start)).chain(std::iter::repeat(" ".repeat(indent)));
    heads.zip(parts).map(|(head, part)| format!("{head}{part}\n")).collect()
}

/// One line for each query and other plan; those that only went parallel in one line together.
fn plan_changes(document: &Document, queries: &Queries, style: Style) -> String {
    let mut changes: Vec<_> =
        queries.changes.iter().filter(|change| change.change == Change::Different).collect();
    changes.sort_by_key(|change| change.query);
    let parallel: BTreeSet<u8> = queries
        .changes
        .iter()
        .filter(|change| change.change == Change::ParallelOnly)
        .map(|change| change.query)
        .collect();
    let mut text = String::new();
    for change in &changes {
        let names: Vec<&str> = change.treatments.iter().map(|name| label(document, name)).collect();
        let line = format!("  {}: {} in {}", query_name(change.query), instead(change), some_names(&names));
        text.push_str(&hanging(&line, 6, style));
    }
    if !parallel.is_empty() {
        let line = format!("  the same plan, only run in parallel: {}", query_names(parallel));
        text.push_str(&hanging(&line, 6, style));
    }
    match text.is_empty() {
        true => text,
        false => hanging("plan changes; both plans side by side: HTML report, --json", 2, style) + &text,
    }
}

fn legend(document: &Document, queries: &Queries, style: Style) -> Vec<String> {
    let level = set_share(document.level());
    let blocks = counted(document.analysis.blocks as usize, "block");
    let baseline = document.common_baseline();
    let mut parts = vec![
        format!("±, [low, high]: {level} interval over {blocks}."),
        match queries.is_throughput {
            true => format!(
                "ratio: queries per hour over those of {baseline}, above 1 is more; query by query it is speed."
            ),
            false => format!("Ratios are speeds against {baseline}: above 1 is faster."),
        },
    ];
    if queries.baselines.iter().any(|own| own.twin.is_some()) {
        parts.push(format!(
            "{baseline}: both its runs in every block, as in ratios; noise: its second run against its first"
        ));
    }
    let marks = [Mark::Higher, Mark::Lower, Mark::NoEffect, Mark::Inconclusive];
    parts.extend(marks.map(|mark| format!("{} {}", style.sign(mark), mark.words())));
    if !queries.changed().is_empty() {
        parts.push(format!("{PLAN_SIGN} another plan than {baseline}"));
    }
    if Cpu.is_used(queries) {
        parts.push("CPU: CPU seconds against the baseline's, above 1 is more".to_owned());
    }
    if Cores.is_used(queries) {
        parts.push(format!(
            "core-s: seconds in which a physical core {} with one thread at least; two figures are bounds",
            core_work(queries)
        ));
    }
    parts.extend(data_words(queries).map(|words| format!("Data: {words}")));
    let parts: Vec<String> = parts.iter().map(|part| plain(part, style.unicode)).collect();
    flow(&parts, style.width)
}
