//! The section "The hardware, measured" and the page of a probe alone.

use super::cores::sides;
use super::data::{Charts, Fact, Figure, Page, PairChart, Section, TableView};
use super::heat::MAX_PAIRS;
use super::page::parts;
use super::tables::view;
use super::{ProbeHead, machine};
use crate::hardware::{clocks, extent, latency_ns, level_name, mhz, slowdown, source_words, words};
use crate::text::{counted, cpu_list, grouped, share, significant};
use std::collections::BTreeMap;
use threadwise_analysis::hardware::Hardware;
use threadwise_machine::Topology;
use threadwise_study::probe::{CoRunner, LatencyFigures, PairLatency, Probe};

/// Rows of a table of pairs; `probe --json` has all.
const MAX_ROWS: usize = 500;
/// Logical CPUs that have a row of their own; of more, those with the busiest siblings.
const MAX_CPUS: usize = 64;
/// The figures of one of the two methods.
type Method = fn(&PairLatency) -> LatencyFigures;

/// Groups of a level that are listed.
const MAX_GROUPS: usize = 24;

/// The page of a probe alone.
pub fn probe_page(
    topology: &Topology,
    probe: &Probe,
    hardware: &Hardware,
    head: &ProbeHead<'_>,
    charts: &Charts,
) -> Page {
    let own = section(probe, hardware, charts);
    Page {
        title: head.title.to_owned(),
        subtitle: head.created_utc.to_owned(),
        simulated: false,
        verdict: hardware.verdict.iter().map(|finding| parts(&finding.text)).collect(),
        no_verdict: "No finding: nothing was measured.",
        facts: facts(probe, hardware),
        sections: vec![
            Section { lines: vec![], ..own },
            Section { id: "machine", title: "The machine, declared", machine: true, ..Section::default() },
        ],
        machine: machine::machine(topology),
        footer: format!("threadwise {}", head.program_version),
    }
}

fn facts(probe: &Probe, hardware: &Hardware) -> Vec<Fact> {
    let fact = |name, value, note| Fact { name, value, note };
    let seconds = format!("{} s", significant(probe.duration_s, 3));
    let pairs = hardware.pairs;
    vec![
        fact("logical CPUs", probe.cpus.len().to_string(), cpu_list(&probe.cpus)),
        fact("time", seconds, format!("{} form", probe.form.word())),
        fact("pairs as declared", grouped(pairs.agree), format!("{} otherwise", grouped(pairs.differ))),
        fact(
            "pairs without an answer",
            grouped(pairs.masked + pairs.moving + pairs.unclear + pairs.unknown),
            "masked, moving, unclear or not measured".to_owned(),
        ),
    ]
}

/// The section in a study's report.
pub fn section(probe: &Probe, hardware: &Hardware, charts: &Charts) -> Section {
    let figures = charts.hardware.as_ref().map(|chart| figures(probe, hardware, chart));
    let mut tables = Vec::new();
    tables.extend(differences(hardware));
    tables.extend(co_runners(probe));
    tables.extend(clock_table(probe));
    tables.extend(gaps(probe));
    Section {
        id: "hardware",
        title: "The hardware, measured",
        paragraphs: paragraphs(probe),
        lines: hardware.verdict.iter().map(|finding| parts(&finding.text)).collect(),
        sides: sides(hardware),
        figures: figures.unwrap_or_default(),
        tables,
        ..Section::default()
    }
}

fn paragraphs(probe: &Probe) -> Vec<String> {
    let mut lines = vec![format!(
        "Probed: {} ({}), {} form, {} s.",
        counted(probe.cpus.len(), "logical CPU"),
        cpu_list(&probe.cpus),
        probe.form.word(),
        significant(probe.duration_s, 3),
    )];
    if probe.interrupted {
        lines.push("The probe was stopped before its end: what stands here was measured.".to_owned());
    }
    lines
}

fn figures(probe: &Probe, hardware: &Hardware, chart: &PairChart) -> Vec<Figure> {
    let mut figures = Vec::new();
    let wide = chart.cpus.len() > 16;
    if !chart.grouped && !probe.pairs.is_empty() {
        figures.push(Figure {
            chart: "sharing",
            index: 0,
            wide: true,
            title: "What two logical CPUs share".to_owned(),
            description:
                "The answer for each pair; an exclamation mark where the system declares it otherwise."
                    .to_owned(),
            table: sharing_table(probe, hardware),
        });
    }
    if !probe.latencies.is_empty() {
        let methods: [(&str, Method); 2] = [
            ("Cache-line latency by compare-and-swap", |pair| pair.cas),
            ("Cache-line latency by one writer and one reader", |pair| pair.two_lines),
        ];
        figures.extend(methods.into_iter().enumerate().map(|(index, (title, of))| Figure {
            chart: "latency",
            index,
            wide,
            title: title.to_owned(),
            description: latency_words(probe, chart),
            table: if chart.grouped { level_table(probe) } else { latency_table(title, probe, of) },
        }));
    }
    figures
}

fn latency_words(probe: &Probe, chart: &PairChart) -> String {
    let mut words = "Least time one way in nanoseconds; more ink is farther. ".to_owned();
    if chart.grouped {
        words.push_str(
            "Rows stand by measured groups. Blue points were measured, grey squares follow from groups.",
        );
    } else if chart.pairs.iter().any(|(_, _, cas, _, level, ..)| cas.is_none() && level.is_some()) {
        words.push_str("Grey cells were not measured and follow from the groups of others.");
    }
    if chart.grouped && probe.latencies.len() > MAX_PAIRS {
        words.push_str(&format!(
            " Of {} measured pairs {} are drawn.",
            probe.latencies.len(),
            chart.pairs.len()
        ));
    }
    words
}

fn cut_caption(caption: &str, shown: usize, all: usize) -> String {
    if shown < all {
        format!("{caption}: {shown} of {all}, `probe --json` has all")
    } else {
        caption.to_owned()
    }
}

fn sharing_table(probe: &Probe, hardware: &Hardware) -> TableView {
    let rows = probe.pairs.iter().take(MAX_ROWS).map(|pair| {
        let differs = crate::hardware::contradicts(hardware, pair.a, pair.b, pair.sharing);
        vec![
            format!("{}, {}", pair.a, pair.b),
            format!("{}{}", words(pair.sharing), if differs { " (declared otherwise)" } else { "" }),
            pair.why.clone(),
            slowdown(pair.wide),
            slowdown(pair.chain),
            slowdown(pair.load_store),
            pair.on_cpu_share.map_or("-".to_owned(), share),
            format!("{} of {}", pair.rounds_used, pair.rounds),
        ]
    });
    let headers = [
        "pair",
        "answer",
        "why",
        "wide (independent adds)",
        "chain (dependent adds)",
        "load/store",
        "on a CPU",
        "rounds used",
    ];
    let caption = cut_caption("Time together over time alone", rows.len(), probe.pairs.len());
    view(&caption, &headers, 3, rows.collect())
}

fn latency_table(title: &str, probe: &Probe, of: Method) -> TableView {
    let rows = probe.latencies.iter().take(MAX_ROWS).map(|pair| {
        let figures = of(pair);
        vec![
            format!("{}, {}", pair.a, pair.b),
            pair.level.map_or("-".to_owned(), |level| level_name(probe, level as usize)),
            latency_ns(figures.min_ns),
            latency_ns(figures.median_ns),
            significant(figures.spread_ns, 2),
            figures.samples.to_string(),
        ]
    });
    let caption = cut_caption(&format!("{title}, ns"), rows.len(), probe.latencies.len());
    view(&caption, &["pair", "level", "least", "median", "spread", "samples"], 2, rows.collect())
}

fn level_table(probe: &Probe) -> TableView {
    let rows = probe.levels.iter().enumerate().map(|(at, level)| {
        let pairs = probe.latencies.iter().filter(|pair| pair.level == Some(at as u32)).count();
        let shown: Vec<String> = level.groups.iter().take(MAX_GROUPS).map(cpu_list).collect();
        let more = level.groups.len().saturating_sub(MAX_GROUPS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        vec![
            level_name(probe, at),
            format!("{}{more}", shown.join("  ")),
            latency_ns(level.low_ns),
            latency_ns(level.high_ns),
            pairs.to_string(),
            level.groups.len().to_string(),
        ]
    });
    let headers = ["level", "logical CPUs of a group", "least ns", "most ns", "pairs measured", "groups"];
    view("Levels of latency", &headers, 2, rows.collect())
}

fn differences(hardware: &Hardware) -> Option<TableView> {
    let rows: Vec<Vec<String>> = hardware
        .differences
        .iter()
        .map(|difference| {
            vec![
                cpu_list(&difference.cpus),
                difference.declared.clone(),
                difference.measured.clone(),
                difference.text.clone(),
            ]
        })
        .collect();
    let headers = ["logical CPUs", "declared", "measured", "figures"];
    (!rows.is_empty()).then(|| view("Where declaration and measurement differ", &headers, 4, rows))
}

fn co_runners(probe: &Probe) -> Option<TableView> {
    let mut all: Vec<&CoRunner> = probe.co_runners.iter().collect();
    let mut caption = "A co-runner on the siblings".to_owned();
    if all.len() > MAX_CPUS {
        all.sort_by(|a, b| b.busy_share.unwrap_or(-1.0).total_cmp(&a.busy_share.unwrap_or(-1.0)));
        all.truncate(MAX_CPUS);
        caption = format!("{caption}: the busiest {MAX_CPUS} of {}", probe.co_runners.len());
    }
    let adds = |adds: Option<f64>| adds.map_or("-".to_owned(), |adds| significant(adds, 3));
    let rows = all.iter().map(|own| {
        vec![
            own.cpu.to_string(),
            own.why.clone(),
            own.busy_share.map_or("unknown".to_owned(), share),
            adds(own.adds_per_step_p10),
            adds(own.adds_per_step_p50),
            adds(own.adds_per_step_p90),
            share(own.off_cpu_share),
            own.windows.to_string(),
        ]
    });
    let headers =
        ["logical CPU", "why", "sibling busy", "adds a step p10", "p50", "p90", "off the CPU", "windows"];
    (!all.is_empty()).then(|| view(&caption, &headers, 2, rows.collect()))
}

/// Terms as in turbostat's manual page; a row a reading, or a row a range where there are many CPUs.
fn clock_table(probe: &Probe) -> Option<TableView> {
    if probe.clocks.is_empty() {
        return None;
    }
    if clocks(probe).len() > MAX_CPUS {
        return Some(clock_ranges(probe));
    }
    let figure = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.0}"));
    let percent = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
    let rows = probe.clocks.iter().map(|own| {
        vec![
            own.cpu.to_string(),
            source_words(own.source).to_owned(),
            own.busy_cpus.to_string(),
            figure(own.avg_mhz),
            percent(own.busy_pct),
            figure(own.bzy_mhz),
            figure(own.tsc_mhz),
        ]
    });
    let headers = ["logical CPU", "source", "busy CPUs", "Avg_MHz", "Busy%", "Bzy_MHz", "TSC_MHz"];
    Some(view("Clocks", &headers, 2, rows.collect()))
}

fn clock_ranges(probe: &Probe) -> TableView {
    let mut ranges: BTreeMap<(u32, &str), Vec<f64>> = BTreeMap::new();
    for reading in &probe.clocks {
        let key = (reading.busy_cpus, source_words(reading.source));
        ranges.entry(key).or_default().extend(mhz(reading));
    }
    let rows = ranges.iter().filter_map(|((busy, source), values)| {
        let (least, middle, most) = extent(values.iter().copied())?;
        let figures = [least, middle, most].map(|value| format!("{value:.0}"));
        let heads = [(*source).to_owned(), busy.to_string(), values.len().to_string()];
        Some(heads.into_iter().chain(figures).collect())
    });
    let headers = ["source", "busy CPUs", "readings", "least MHz", "middle MHz", "most MHz"];
    view("Clocks while not idle", &headers, 1, rows.collect())
}

fn gaps(probe: &Probe) -> Option<TableView> {
    let rows: Vec<Vec<String>> = probe.gaps.iter().map(|gap| vec![gap.clone()]).collect();
    (!rows.is_empty()).then(|| view("What could not be had", &[""], 1, rows))
}
