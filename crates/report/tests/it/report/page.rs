//! The HTML text: nothing breaks out, everything is there, nothing is fetched.

use crate::report::probes::{eight, hostile_probe, many, probe_page, two};
use crate::support::Fixture;
use std::io::Write;
use std::process::{Command, Stdio};
use threadwise_analysis::BlockCovariates;
use threadwise_report::html;

pub const HOSTILE: &str =
    "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7777*7 }}\u{202e}\u{0}\u{1b}[31m&";

/// A document in which every text that comes from outside is hostile.
pub fn hostile() -> Fixture {
    let mut fixture = Fixture::generated(2, 3);
    let evil = |text: &mut String| text.push_str(HOSTILE);
    let study = &mut fixture.study;
    [&mut study.name, &mut study.title, &mut study.engine].into_iter().for_each(evil);
    study.workload = format!("{}{HOSTILE}", study.workload).into();
    study.left_out.push(HOSTILE.to_owned());
    for treatment in &mut study.treatments {
        [&mut treatment.name, &mut treatment.group, &mut treatment.placement.text].into_iter().for_each(evil);
        treatment.options.insert(HOSTILE.to_owned(), threadwise_study::OptionValue::Text(HOSTILE.to_owned()));
        treatment.factors.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
    }
    let analysis = &mut fixture.analysis;
    for summary in &mut analysis.treatments {
        [&mut summary.name, &mut summary.group, &mut summary.placement].into_iter().for_each(evil);
        let metric = summary.metrics["rows_per_s"].clone();
        summary.metrics.insert(HOSTILE.to_owned(), metric);
        summary.metrics.values_mut().for_each(|metric| evil(&mut metric.unit));
    }
    for estimate in &mut analysis.estimates {
        let texts =
            [&mut estimate.name, &mut estimate.treatment, &mut estimate.baseline, &mut estimate.method];
        texts.into_iter().for_each(evil);
        estimate.kind = HOSTILE.into();
    }
    let activity = crate::report::activity::activity(&[(HOSTILE, 0.4), ("running", 0.6)]);
    analysis.treatments[1].activity = activity;
    analysis.estimates[0].metric = HOSTILE.to_owned();
    analysis.noise_floors.iter_mut().for_each(|floor| {
        evil(&mut floor.group);
        evil(&mut floor.metric);
    });
    analysis.excluded_blocks.push(HOSTILE.to_owned());
    fixture.findings.iter_mut().for_each(|finding| {
        finding.line.push(HOSTILE);
        finding.evidence.push(HOSTILE.to_owned());
    });
    for run in &mut fixture.runs {
        evil(&mut run.treatment);
        let counters = run.slices.iter_mut().flat_map(|slice| &mut slice.sessions);
        counters.for_each(|session| {
            session.counters.insert(HOSTILE.to_owned(), 1);
        });
        run.slices.iter_mut().for_each(|slice| {
            slice.counters.insert(format!("waits/{HOSTILE}"), 1);
        });
    }
    let last = fixture.runs.last_mut().unwrap();
    last.status =
        threadwise_study::RunStatus::Invalid { kind: HOSTILE.to_owned(), message: HOSTILE.to_owned() };
    let identity = &mut fixture.topology.identity;
    for field in
        [&mut identity.cpu_model, &mut identity.cpu_vendor, &mut identity.hypervisor, &mut identity.kernel]
    {
        *field = Some(HOSTILE.to_owned());
    }
    fixture.topology.limits.quota_source = Some(HOSTILE.replace('\0', "").into());
    fixture.topology.kinds.iter_mut().for_each(|kind| kind.name = HOSTILE.to_owned());
    fixture.topology.kinds.push(fixture.topology.kinds[0].clone());
    fixture.notes.push(HOSTILE.into());
    fixture.source = HOSTILE.to_owned();
    let probed = hostile_probe();
    (fixture.probe, fixture.hardware) = (Some(probed.probe), Some(probed.hardware));
    fixture
}

#[test]
fn the_page_has_every_section_and_fetches_nothing() {
    let fixture = Fixture::generated(8, 20);
    let page = html::render(&fixture.document()).unwrap();
    let ids = [
        "verdict",
        "throughput",
        "comparison",
        "cpus",
        "machine",
        "time",
        "table",
        "method",
        "configuration",
        "failures",
    ];
    let places: Vec<usize> = ids.map(|id| page.find(&format!("<section id=\"{id}\"")).expect(id)).into();
    assert!(places.is_sorted(), "sections in order");
    assert!(page.contains("default-src 'none'"));
    let markup = page.split_once("<script type=\"application/json\"").unwrap().0;
    for attribute in [" src=", "<link", "@import", "url("] {
        assert!(!markup.contains(attribute), "{attribute}");
    }
    assert!(page.contains("worker 3 ended with signal 9"), "failures are reported");
    assert!(page.contains("class=\"banner\"") && page.contains("SIMULATED"));
    let titles = page.matches("data-title=\"").count();
    assert_eq!(page.matches("data-title=\"SIMULATED · ").count(), titles);
    // Every chart has its table beside it.
    assert_eq!(page.matches("<summary>The same figures as a table").count(), titles);
}

/// What stands inside the data element of a page.
fn data_of(page: &str) -> serde_json::Value {
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(data).unwrap()
}

#[test]
fn a_probe_has_a_page_of_its_own() {
    let page = probe_page(&eight());
    for text in [
        "<h1>The hardware, measured</h1>",
        "<section id=\"hardware\"",
        "<section id=\"machine\"",
        "Measured otherwise than declared: CPUs 2 and 10.",
        "Where declaration and measurement differ",
        "no window reached the width of a free core",
        "<td class=\"n\">unknown</td>",
        "Bzy_MHz",
        "waking a sleeping thread",
        "TCP, idle",
        "Declared: 4 cores, 1 of them different on the other side",
        "Measured: 4 cores, 2 of them different on the other side, undecided: 4,12",
        "2026-01-01T12:00:00Z",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("SIMULATED") && !page.contains("<section id=\"throughput\""));
    assert_eq!(page.matches("class=\"core differs\"").count(), 3);
    assert_eq!(page.matches("class=\"undecided\"").count(), 2);
    let titles = page.matches("data-title=\"").count();
    assert_eq!((titles, page.matches("<summary>The same figures as a table").count()), (3, 3));
    let pairs = data_of(&page)["pairs"]["pairs"].as_array().unwrap().clone();
    assert_eq!(pairs.len(), 28, "every pair of 8");
    let (one, inferred) = (&pairs[0], pairs.iter().find(|pair| pair[0] == 6 && pair[1] == 7).unwrap());
    // CPUs 0 and 1: least, median, spread; level; answer; as declared.
    assert_eq!(one[2], serde_json::json!([30.25, 32.07, 0.61]));
    assert_eq!((&one[4], &one[5], &one[6]), (&1.into(), &0.into(), &false.into()));
    // CPUs 10 and 12 were not measured, and are together only in the group of all.
    assert!(inferred[2].is_null() && inferred[3].is_null() && inferred[4] == 2, "{inferred}");
    let differs: Vec<_> = pairs.iter().filter(|pair| pair[6] == true).collect();
    assert_eq!(differs.len(), 1, "2 and 10 alone");
}

#[test]
fn a_large_machine_is_drawn_by_its_groups() {
    let page = probe_page(&many());
    let chart = data_of(&page)["pairs"].clone();
    assert_eq!(chart["grouped"], true);
    // Siblings stand side by side: 0, 384, 1, 385.
    assert_eq!(
        (&chart["cpus"][1], &chart["cpus"][2], &chart["cpus"][3]),
        (&384.into(), &1.into(), &385.into())
    );
    let squares = chart["squares"].as_array().unwrap();
    assert_eq!(squares.len(), 384 + 48 + 4 + 1);
    assert_eq!((&squares[0][0], &squares[0][1], &squares[0][2]), (&3.into(), &0.into(), &767.into()));
    let pairs = chart["pairs"].as_array().unwrap().len();
    assert!(page.contains(&format!("Of {} measured pairs {pairs} are drawn.", many().probe.latencies.len())));
    assert!(page.contains("the busiest 64 of 768"));
    assert!(!page.contains("What two logical CPUs share"), "294,528 cells");
    assert!(page.len() < 1_500_000, "{}", page.len());
}

#[test]
fn a_study_shows_its_probe_between_machine_and_drift() {
    let mut fixture = Fixture::generated(2, 3);
    let page = html::render(&fixture.document()).unwrap();
    assert!(!page.contains("The hardware, measured"));
    let probed = two();
    (fixture.probe, fixture.hardware) = (Some(probed.probe), Some(probed.hardware));
    let page = html::render(&fixture.document()).unwrap();
    let places =
        ["machine", "hardware", "time"].map(|id| page.find(&format!("<section id=\"{id}\"")).unwrap());
    assert!(places.is_sorted());
    assert!(
        page.contains("<li>Your 2 logical CPUs are one core: WIDE work slowed <span class=\"figure\">1.98x")
    );
}

#[test]
fn what_disturbed_the_study_is_reported_by_block() {
    let mut fixture = Fixture::generated(2, 3);
    let page = html::render(&fixture.document()).unwrap();
    let row = |name: &str, value: &str| format!("<th scope=\"row\">{name}</th><td class=\"n\">{value}</td>");
    assert!(page.contains(&row("a neighbour on the siblings of used logical CPUs", "unknown")));
    assert!(!page.contains("Disturbances of each block"), "nothing was recorded by block");
    let covariates = &mut fixture.analysis.covariates;
    covariates.neighbour_share = Some(0.123);
    covariates.neighbour_share_max = Some(0.5);
    covariates.straggler_share = Some(0.02);
    covariates.telemetry_cpu_share = Some(0.0011);
    covariates.blocks = vec![
        BlockCovariates {
            block: 0,
            neighbour_before_share: Some(0.246),
            neighbour_share: Some(0.246),
            causes: vec!["neighbour"],
            ..BlockCovariates::default()
        },
        BlockCovariates { block: 1, telemetry_cpu_share: Some(0.0011), ..BlockCovariates::default() },
    ];
    let page = html::render(&fixture.document()).unwrap();
    for (name, value) in [
        ("a neighbour on the siblings of used logical CPUs", "12%"),
        ("the same of one treatment in the worst block", "50%"),
        ("siblings of one core busy while another core idled", "2.0%"),
        ("the samplers&#x27; own CPU time, share of one CPU", "0.1%"),
    ] {
        assert!(page.contains(&row(name, value)), "{name}");
    }
    let (_, blocks) = page.split_once("Disturbances of each block").unwrap();
    let first =
        "<th scope=\"row\">0</th><td>neighbour</td><td class=\"n\">25%</td><td class=\"n\">unknown</td>";
    assert!(blocks.contains(first));
}

#[test]
fn comparisons_of_the_study_file_have_their_names() {
    let mut fixture = Fixture::generated(2, 3);
    let mut estimate = fixture.analysis.estimates[1].clone();
    (estimate.name, estimate.kind) = ("spread or packed/l2".to_owned(), "named".into());
    fixture.analysis.estimates.push(estimate);
    let page = html::render(&fixture.document()).unwrap();
    let value = data_of(&page);
    let rows = value["ratios"][0]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["label"] == "spread or packed").unwrap();
    assert_eq!(row["against"], "same-core to alone and alone'");
    let pair = rows.iter().find(|row| row["label"] == "smt-yield").unwrap();
    assert_eq!(pair["against"], "same-core to one-cpu");
    // Beside the chart; among all estimates, and among those without flagged blocks.
    assert_eq!(page.matches("<th scope=\"row\">spread or packed</th>").count(), 1);
    assert_eq!(page.matches("<td>spread or packed</td>").count(), 2);
}

#[test]
fn a_real_study_is_not_called_simulated() {
    let mut fixture = Fixture::generated(2, 3);
    fixture.study.engine_properties = None;
    fixture.analysis.simulated = false;
    let page = html::render(&fixture.document()).unwrap();
    assert!(!page.contains("SIMULATED"));
}

#[test]
fn nothing_measured_is_a_page_too() {
    let mut fixture = Fixture::generated(2, 3);
    fixture.runs.clear();
    fixture.analysis = threadwise_analysis::analyse(&fixture.study, &[], 1.0);
    let page = html::render(&threadwise_analysis::document(&fixture.facts())).unwrap();
    assert!(page.contains("Nothing can be said: no run is finished."));
}

#[test]
fn more_slices_than_can_be_drawn_are_thinned_and_reported() {
    let fixture = Fixture::generated(8, 200);
    let page = html::render(&fixture.document()).unwrap();
    // 16 treatments, 8 blocks, 200 rounds, less the failed run.
    assert!(page.contains("Of 25400 slices 12700 are drawn, one in 2 of each treatment"));
}

/// The policy names scripts by their hashes; after a change of a script this prints the new ones.
#[test]
fn the_policy_names_the_scripts_of_the_page() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let of_page =
        ["watch.js", "d3.min.js", "plot.umd.min.js", "bars.js", "timelines.js", "strip.js", "report.js"];
    for (file, scripts) in [("hashes.txt", &of_page[..]), ("gallery.hash.txt", &["gallery.js"])] {
        let hash = |name: &&str| {
            format!("'sha256-{}'", base64_of_hex(&sha256(&std::fs::read(folder.join(name)).unwrap())))
        };
        let hashes = scripts.iter().map(hash).collect::<Vec<_>>().join(" ");
        let kept = std::fs::read_to_string(folder.join(file)).unwrap();
        assert_eq!(kept.trim(), hashes, "assets/{file} must hold:\n{hashes}\n");
    }
}

/// SHA-256 in hexadecimal by coreutils, which every Linux has.
fn sha256(bytes: &[u8]) -> String {
    let mut child = Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().split_whitespace().next().unwrap().to_owned()
}

fn base64_of_hex(hex: &str) -> String {
    use base64::Engine as _;
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    base64::prelude::BASE64_STANDARD.encode(bytes)
}
