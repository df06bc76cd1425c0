//! Clock, busy share and power of logical CPUs, and what changed with each ratio, as each form shows them.

use crate::report::exports::{estimate, find_estimate};
use crate::support::Fixture;
use serde_json::Value;
use threadwise_analysis::changed_with::{ChangedWith, Compared, Explained, Form, Link, Quantity};
use threadwise_analysis::cpus::{CpuRow, Cpus, PackageRow, TreatmentCpus, Use};
use threadwise_analysis::diagnostics::QuestionAnswer;
use threadwise_analysis::{Answer, Direction, Estimate, Interval, Ratio};
use threadwise_report::html;
use threadwise_report::terminal::{Style, sections};
use threadwise_study::{Note, NoteCode};

const UNICODE: Style = Style { color: false, unicode: true, width: 100 };

fn interval(mean: f64, unit: &str) -> Interval {
    Interval { mean, low: mean * 0.99, high: mean * 1.01, unit: unit.to_owned() }
}

/// Logical CPU 4 in use at a clock, and its idle sibling 20.
fn cpus_of(treatment: &str, mhz: f64, watts: f64) -> TreatmentCpus {
    let used = CpuRow {
        cpu: 4,
        package: Some(0),
        core: Some(4),
        usage: Use::Used,
        blocks: 8,
        busy_share: Some(interval(0.96, "share")),
        busy_mhz: Some(interval(mhz, "MHz")),
        average_mhz: Some(interval(0.96 * mhz, "MHz")),
        cpufreq_mhz: None,
        instructions_per_cycle: None,
    };
    let idle = CpuRow {
        cpu: 20,
        usage: Use::IdleSibling,
        busy_share: Some(interval(0.01, "share")),
        busy_mhz: None,
        average_mhz: None,
        ..used.clone()
    };
    let package = PackageRow {
        package: "0".to_owned(),
        blocks: 8,
        power_w: Some(interval(watts, "W")),
        memory_power_w: None,
    };
    let treatment = treatment.to_owned();
    TreatmentCpus { treatment, logical_cpus: vec![used, idle], packages: vec![package] }
}

fn change(value: f64) -> Ratio {
    Ratio {
        value,
        low: value * 0.99,
        high: value * 1.01,
        unit: "ratio",
        adjusted_low: value * 0.98,
        adjusted_high: value * 1.02,
        blocks: 24,
        level: 0.95,
        p: 0.001,
        adjusted_p: 0.004,
        family: 2,
        correlation: 0.0,
        floor: None,
        margin: 0.0,
        answer: if value > 1.0 { Answer::Larger } else { Answer::Smaller },
        direction: Direction::Neither,
    }
}

/// A comparison in which the clock moves with the ratio, and CPU time a row cannot be tested.
fn compared(name: &str, treatment: &str, baseline: &str) -> Compared {
    let link = Link {
        form: Form::AsItIs,
        correlation: Interval { mean: 0.83, low: 0.64, high: 0.93, unit: "1".to_owned() },
        p: 0.0001,
        adjusted_p: 0.0042,
        shown: true,
    };
    let clock = Quantity {
        metric: "clock_mhz".to_owned(),
        name: "clock".to_owned(),
        baseline: interval(3600.0, "MHz"),
        treatment: interval(3240.0, "MHz"),
        change: change(0.9),
        link: Some(link),
        not_tested: None,
    };
    let cpu = Quantity {
        metric: "cpu_ns_per_row".to_owned(),
        name: "CPU time per row".to_owned(),
        baseline: interval(400.0, "ns"),
        treatment: interval(640.0, "ns"),
        change: change(1.6),
        link: None,
        not_tested: Some("it contains the rate"),
    };
    Compared {
        comparison: name.to_owned(),
        treatment: treatment.to_owned(),
        baseline: baseline.to_owned(),
        answer: Explained::Moves,
        blocks: 24,
        quantities: vec![clock, cpu],
    }
}

pub fn fixture() -> Fixture {
    let mut fixture = Fixture::generated(8, 5);
    let first = fixture.study.comparisons[0].clone();
    let names: Vec<String> = fixture.study.treatments.iter().take(2).map(|one| one.name.clone()).collect();
    let ratio =
        Ratio { low: 0.89, high: 0.91, adjusted_low: 0.88, adjusted_high: 0.92, blocks: 8, ..change(0.9) };
    let below = first.baseline.join(" and ");
    fixture.analysis.cpus =
        Some(Cpus { treatments: vec![cpus_of(&names[0], 3600.0, 117.0), cpus_of(&names[1], 3240.0, 113.0)] });
    let clock = Estimate {
        name: first.name.clone(),
        kind: "clock".into(),
        treatment: first.treatment.clone(),
        baseline: below.clone(),
        metric: "clock".to_owned(),
        ratio,
        method: String::new(),
        p_sign_flip: None,
        unflagged: None,
        adjusted: None,
    };
    fixture.analysis.diagnostics =
        vec![QuestionAnswer { question: "clock", estimates: vec![clock], ..QuestionAnswer::default() }];
    for (summary, watts) in fixture.analysis.treatments.iter_mut().zip([117.0, 113.0]) {
        summary.metrics.insert("power_w".to_owned(), interval(watts, "W"));
        summary.metrics.insert("rows_per_joule".to_owned(), interval(8000.0, "1/J"));
    }
    let changed_with = ChangedWith {
        comparisons: vec![compared(&first.name, &first.treatment, &below)],
        tested: 1,
        blocks_needed: 17,
        not_tested: None,
    };
    fixture.analysis.answers.put("changed_with", Some(changed_with));
    fixture.notes.push(Note::new(
        NoteCode::NoReadings("counters".to_owned()),
        "no readings of counters: the hypervisor gives this virtual machine none",
    ));
    fixture
}

#[test]
fn a_page_has_a_row_for_each_logical_cpu_and_one_line_for_what_is_unknown() {
    let page = html::render(&fixture().document()).unwrap();
    for text in [
        "<section id=\"logical-cpus\"",
        "<th scope=\"row\">4</th><td>0</td><td>4</td><td>used</td><td class=\"n\">8</td><td class=\"n\">96%",
        "<th scope=\"row\">20</th><td>0</td><td>4</td><td>idle sibling</td>",
        "MHz while busy",
        "W, all packages",
        "&#x2f;J</th>",
        "Unknown: instructions per cycle: the hypervisor gives this virtual machine none",
        "<section id=\"changed-with\"",
        "clock, MHz",
        "it contains the rate",
        "something moves with it",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("instructions/cycle"), "what is unknown has no column");
    assert_eq!(
        page.matches("the hypervisor gives this virtual machine none").count(),
        2,
        "the line and the note"
    );
}

#[test]
fn a_terminal_has_a_line_of_each() {
    let text = sections(&fixture().document(), UNICODE);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in [
        "logical CPUs in use, ranges of means: busy 96%; MHz while busy 3240 to 3600; 113 to 117 W; instructions per cycle unknown",
        "what changed with 1 ratio: see the HTML report or --json. Figures that move with the ratio: 1 link tested together",
    ] {
        assert!(words.contains(line), "{line}\n{words}");
    }
    assert!(!text.contains("idle sibling"), "rows are the page's");
}

#[test]
fn json_has_every_figure() {
    let report: Value = serde_json::from_str(&fixture().json()).unwrap();
    let details = &report["details"];
    let mhz = |usage: &str| {
        find_estimate(&report, "logical_cpus.treatments.logical_cpus.busy_mhz", &[("use", usage)])
    };
    assert_eq!(mhz("used").unwrap()["value"], 3600.0);
    assert_eq!(mhz("idle-sibling"), None);
    assert_eq!(estimate(&report, "logical_cpus.treatments.packages.power_w", &[])["value"], 117.0);
    assert_eq!(estimate(&report, "clock.estimates", &[])["adjusted_high"], 0.92);
    assert_eq!(details["logical_cpu_gaps"][0]["what"], "instructions per cycle");
    let changed = &details["changed_with"]["comparisons"][0];
    assert_eq!(
        (&changed["answer"], &changed["quantities"][0]["not_tested"]),
        (&"moves".into(), &"it contains the rate".into())
    );
    let link = estimate(&report, "changed_with.comparisons.quantities.link", &[]);
    assert_eq!(link["place"]["form"], "as-it-is");
}
