//! The page's sections in order: verdict, throughput, comparison, CPUs, machine, hardware, time, table,
//! method, configuration, failures. A study of queries begins with its treatments, and has sections of
//! its own after the comparison; one of commands has the headline and its metrics in their place, after
//! the jobs of a work list.

use super::charts::MAX_POINTS;
use super::data::{Charts, Fact, Figure, Page, Part, Section};
use super::{activity, commands, hardware, machine, method, queries, tables, worklist};
use crate::Document;
use crate::activity::latency_gap;
use crate::queries::{data_words, floor_words, noise_words, title};
use crate::text::{counted, set_share, share};
use crate::words::{has_runs, words};
use std::collections::BTreeSet;
use threadwise_analysis::validity::Counts;

/// Everything around the charts. `slices` is the number of slices in all.
pub fn page(document: &Document, charts: &Charts, slices: usize) -> Page {
    let study = document.study;
    let engine = format!("{} {}", study.engine, document.engine_version);
    let data = document.analysis.queries.as_ref().and_then(data_words).unwrap_or_default();
    let subtitle = [engine.trim(), &study.workload, &data, document.created_utc, document.source];
    let subtitle: Vec<&str> = subtitle.into_iter().filter(|part| !part.is_empty()).collect();
    Page {
        title: title(study),
        subtitle: subtitle.join(" · "),
        simulated: document.is_simulated(),
        verdict: document.findings.iter().map(|finding| parts(&finding.line.to_string())).collect(),
        no_verdict: "No finding: no block was complete.",
        facts: facts(document),
        sections: sections(document, charts, slices),
        machine: machine::machine(document.topology),
        footer: format!(
            "threadwise {} · study {} · seed {}",
            document.program_version, study.name, study.seed
        ),
    }
}

fn sections(document: &Document, charts: &Charts, slices: usize) -> Vec<Section> {
    let own = document.analysis.queries.as_ref();
    let runs = document.analysis.commands.as_ref();
    let mut sections = match (own, runs) {
        (Some(own), _) => vec![queries::treatments(document, own, charts), comparison(document, charts)],
        (None, Some(runs)) => match &document.analysis.worklist {
            Some(own) => worklist::sections(document, own, runs, charts),
            None => commands::sections(document, runs, charts),
        },
        (None, None) => vec![throughput(document, charts), comparison(document, charts)],
    };
    sections.extend(own.into_iter().flat_map(|own| queries::sections(document, own, charts)));
    sections.push(usage(document, charts));
    sections.extend(activity::section(document, charts));
    sections.extend([Section { id: "machine", title: "The machine", machine: true, ..Section::default() }]);
    let measured = document.probe.zip(document.hardware);
    sections.extend(measured.map(|(probe, hardware)| hardware::section(probe, hardware, charts)));
    sections.push(time_order(document, charts, slices));
    sections.extend(own.is_none().then(|| match runs {
        Some(runs) => commands::all_treatments(document, runs),
        None => all_treatments(document),
    }));
    sections.extend([method::method(document), method::configuration(document), method::failures(document)]);
    sections
}

/// Cuts a line where figures, intervals and commands begin and end, so that they can be set apart:
/// `1.27x [1.24, 1.30]`.
pub fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut push = |class: &'static str, text: &str| match parts.last_mut().filter(|last| last.class == class)
    {
        Some(last) => last.text.push_str(text),
        None if text.is_empty() => {}
        None => parts.push(Part { class, text: text.to_owned() }),
    };
    for (at, piece) in text.split('`').enumerate() {
        if at % 2 == 1 {
            push("command", piece);
            continue;
        }
        let mut bracket = false;
        for word in piece.split_inclusive(' ') {
            bracket |= word
                .strip_prefix('[')
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '-'));
            let (class, end) = match () {
                () if bracket => ("interval", word.find(']').map_or(word.len(), |end| end + 1)),
                () => figure_end(word).map_or(("", word.len()), |end| ("figure", end)),
            };
            bracket &= !word.contains(']');
            push(class, &word[..end]);
            push("", &word[end..]);
        }
    }
    parts
}

/// Where a ratio or share at the start of a word ends: `1.27x`, `+57%`, `±0.9%`.
fn figure_end(word: &str) -> Option<usize> {
    let bare = word.trim_end().trim_end_matches([',', '.', ';', ':', ')']);
    let number = bare.trim_start_matches(['+', '-', '±', '−', '~']);
    let unit = number.ends_with('x') || number.ends_with('%');
    (unit && number.starts_with(|c: char| c.is_ascii_digit())).then_some(bare.len())
}

fn facts(document: &Document) -> Vec<Fact> {
    let analysis = document.analysis;
    let mut facts = Vec::new();
    facts.push(Fact {
        name: "blocks",
        value: analysis.blocks.to_string(),
        note: match has_runs(document.study) {
            true => "a run of each treatment".to_owned(),
            false => format!("of {}", counted(document.study.design.rounds as usize, "round")),
        },
    });
    let name = document.common_baseline();
    match &analysis.queries {
        Some(own) => facts.extend(floor_words(own).map(|value| Fact {
            name: if own.is_throughput { "noise floor" } else { "noise floor of totals" },
            value,
            note: noise_words(own),
        })),
        None => facts.extend(method::floor_words(document).map(|value| Fact {
            name: "noise floor",
            value,
            note: format!("{name} against {name}"),
        })),
    }
    let steal = share(analysis.covariates.steal_share);
    let worst = format!("worst block {}", share(analysis.covariates.steal_share_max));
    facts.push(Fact { name: "stolen time", value: steal, note: worst });
    let counts = Counts::of(analysis);
    facts.push(Fact {
        name: "valid runs",
        value: format!("{}/{}", counts.used, counts.all()),
        note: format!("{} failed, {} left out", counts.failed, counts.excluded),
    });
    facts
}

/// A heading with its group, and that it is of a model where it is.
pub fn titled(document: &Document, title: &str, group: &str) -> String {
    let simulated = if document.is_simulated() { "SIMULATED · " } else { "" };
    format!("{simulated}{title} {}", document.group_words(group)).trim_end().to_owned()
}

fn throughput(document: &Document, charts: &Charts) -> Section {
    let level = set_share(document.level());
    let own = words(document.study);
    let figure = |(index, chart): (usize, &super::data::RateChart)| Figure {
        chart: "throughput",
        index,
        wide: charts.throughput.len() == 1,
        title: titled(document, "Throughput", &chart.group),
        description: format!(
            "{} of all {} together, with {level} intervals over blocks.",
            own.rate_in_full, own.sessions
        ),
        table: tables::rates(charts, chart),
    };
    Section {
        id: "throughput",
        title: if own.sessions == "streams" {
            "Throughput against streams"
        } else {
            "Throughput against sessions"
        },
        figures: charts.throughput.iter().enumerate().map(figure).collect(),
        ..Section::default()
    }
}

fn comparison(document: &Document, charts: &Charts) -> Section {
    let level = set_share(document.level());
    let (title, what) = match &document.analysis.queries {
        Some(queries) if !queries.is_throughput => {
            ("Geometric mean of speeds", "Geometric mean of the queries' speeds".to_owned())
        }
        _ => ("Ratio of throughput", format!("{} as a ratio", words(document.study).rate_in_full)),
    };
    let figure = |(index, chart): (usize, &super::data::RatioChart)| Figure {
        chart: "ratios",
        index,
        wide: charts.ratios.len() == 1,
        title: titled(document, title, &chart.group),
        description: format!(
            "{what}, with {level} intervals. A filled dot is an effect, a hollow one is not. The band around 1 is the \
             noise floor."
        ),
        table: tables::ratios(chart, charts.words.ratio),
    };
    Section {
        id: "comparison",
        title: match &document.analysis.queries {
            Some(_) => "Treatments compared",
            None => "Placements compared",
        },
        figures: charts.ratios.iter().enumerate().map(figure).collect(),
        ..Section::default()
    }
}

fn usage(document: &Document, charts: &Charts) -> Section {
    let usage = &charts.usage;
    let figure = |chart, title: &str, description: String, table| Figure {
        chart,
        index: 0,
        wide: true,
        title: titled(document, title, ""),
        description,
        table,
    };
    let spans = match usage.span {
        0 | 1 => String::new(),
        span => format!(" Each column is the mean of {span} neighbours."),
    };
    let mut figures = Vec::new();
    let mut paragraphs = Vec::new();
    if usage.rows.is_empty() {
        paragraphs.push("No readings of /proc/stat were taken.".to_owned());
    } else {
        let around = match has_runs(document.study) {
            // A run of half a second after a pause of one looks idle here.
            true => " What is done before and after a run is in it: pauses, checks, further commands.",
            false => "",
        };
        let words = format!(
            "Mean busy share while the treatment's slices ran: of the logical CPUs that its {} used, of the idle siblings \
             of their cores, and of all others. Blocks draw different cores.{around}",
            words(document.study).sessions,
        );
        figures.push(figure("roles", "Busy time by use", words, tables::roles(usage)));
        let words = format!(
            "Mean busy share of each logical CPU while the treatment's slices ran, over all blocks.{spans}"
        );
        figures.push(figure("busy", "Busy time by logical CPU", words, tables::by_cpu(usage, false)));
        if usage.steal {
            let words = format!("Mean share of time that the hypervisor took from each logical CPU.{spans}");
            figures.push(figure("steal", "Stolen time by logical CPU", words, tables::by_cpu(usage, true)));
        } else {
            paragraphs
                .push("The hypervisor took less than 0.1% of the time of every logical CPU.".to_owned());
        }
    }
    Section {
        id: "cpus",
        title: "Logical CPUs during each treatment",
        paragraphs,
        figures,
        ..Section::default()
    }
}

fn time_order(document: &Document, charts: &Charts, slices: usize) -> Section {
    let what = match &document.analysis.queries {
        Some(queries) if !queries.is_throughput => {
            "Each execution's speed over the usual one (the median) of its query and treatment".to_owned()
        }
        _ if has_runs(document.study) => "Elapsed time of each run".to_owned(),
        _ => format!("{} of each slice", words(document.study).rate_in_full),
    };
    let shown: usize = charts.slices.iter().map(|chart| chart.points.len()).sum();
    let thinned = match shown < slices {
        true => format!(
            " Of {slices} slices {shown} are drawn, one in {} of each treatment: more than {MAX_POINTS} points would \
             slow the page down. `threadwise export --what slices` writes them all.",
            slices.div_ceil(MAX_POINTS)
        ),
        false => String::new(),
    };
    let figure = |(index, chart): (usize, &super::data::SliceChart)| Figure {
        chart: "slices",
        index,
        wide: true,
        title: match has_runs(document.study) {
            true => titled(document, "Every run in time order", &chart.group),
            false => titled(document, "Every slice in time order", &chart.group),
        },
        description: format!("{what}; thin lines mark the starts of blocks."),
        table: tables::block_means(document, &chart.group),
    };
    Section {
        id: "time",
        title: "Drift",
        paragraphs: vec![format!(
            "A machine that slows down or speeds up during the study shows here as a slope common to all treatments; \
             the ratios above are taken within {}, where it cancels.{thinned}",
            if has_runs(document.study) { "blocks" } else { "rounds" },
        )],
        figures: charts.slices.iter().enumerate().map(figure).collect(),
        ..Section::default()
    }
}

fn all_treatments(document: &Document) -> Section {
    let groups = document.groups();
    let tables = groups.iter().map(|(group, members)| tables::treatments(document, group, members)).collect();
    let measured = document.analysis.treatments.iter().filter(|own| own.runs > 0);
    let lacking = measured.filter(|own| !own.metrics.contains_key("latency_ns_p99"));
    let why: BTreeSet<&str> = lacking.map(latency_gap).collect();
    let paragraphs = why.into_iter().map(|why| format!("p50 and p99 where there is a dash: {why}."));
    Section {
        id: "table",
        title: "All treatments",
        paragraphs: paragraphs.collect(),
        tables,
        ..Section::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_intervals_are_set_apart() {
        let cut = parts("A core does 1.27x [1.24, 1.30], CPU per read +57%. See [a]: `list`");
        let classes: Vec<(&str, &str)> = cut.iter().map(|part| (part.class, part.text.as_str())).collect();
        assert_eq!(
            classes,
            [
                ("", "A core does "),
                ("figure", "1.27x"),
                ("", " "),
                ("interval", "[1.24, 1.30]"),
                ("", ", CPU per read "),
                ("figure", "+57%"),
                ("", ". See [a]: "),
                ("command", "list"),
            ]
        );
    }
}
