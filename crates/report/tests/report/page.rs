//! The HTML text: nothing breaks out, everything is there, nothing is fetched.

use crate::support::Fixture;
use std::io::Write;
use std::process::{Command, Stdio};
use threadwise_report::html;

const HOSTILE: &str =
    "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7777*7 }}\u{202e}\u{0}\u{1b}[31m&";

/// A document in which every text that comes from outside is hostile.
pub fn hostile() -> Fixture {
    let mut fixture = Fixture::generated(2, 3);
    let evil = |text: &mut String| text.push_str(HOSTILE);
    let study = &mut fixture.study;
    [&mut study.name, &mut study.title, &mut study.engine, &mut study.workload].into_iter().for_each(evil);
    study.left_out.push(HOSTILE.to_owned());
    for treatment in &mut study.treatments {
        [&mut treatment.name, &mut treatment.group, &mut treatment.placement].into_iter().for_each(evil);
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
        evil(&mut estimate.kind);
        evil(&mut estimate.direction);
    }
    analysis.estimates[0].metric = HOSTILE.to_owned();
    analysis.noise_floors.iter_mut().for_each(|floor| {
        evil(&mut floor.group);
        evil(&mut floor.metric);
    });
    analysis.excluded_blocks.push(HOSTILE.to_owned());
    fixture.findings.iter_mut().for_each(|finding| {
        evil(&mut finding.text);
        evil(&mut finding.kind);
        finding.evidence.push(HOSTILE.to_owned());
    });
    for run in &mut fixture.runs {
        evil(&mut run.treatment);
        let counters = run.slices.iter_mut().flat_map(|slice| &mut slice.sessions);
        counters.for_each(|session| {
            session.counters.insert(HOSTILE.to_owned(), 1);
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
    fixture.notes.push(HOSTILE.to_owned());
    fixture.source = HOSTILE.to_owned();
    fixture
}

#[test]
fn hostile_texts_stay_texts() {
    let page = html::render(&hostile().document()).unwrap();
    let plain = html::render(&Fixture::generated(2, 3).document()).unwrap();
    // No element of the page is begun or ended by a text.
    for tag in ["<script", "</script", "<img", "<style", "</style"] {
        assert_eq!(page.matches(tag).count(), plain.matches(tag).count(), "{tag}");
    }
    assert!(!page.contains("onerror=alert(2)>"), "an attribute was closed");
    assert!(page.contains("&lt;img src=x onerror=alert(2)&gt;"));
    assert!(page.contains("{{ 7777*7 }}") && !page.contains("54439"), "a text was taken for a template");
    // Direction marks and control characters are shown as what they are: not text.
    let deceptive = page.chars().filter(|c| matches!(c, '\u{202a}'..='\u{202e}' | '\0' | '\u{1b}'));
    assert_eq!(deceptive.count(), 0);
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    assert!(!data.contains(['<', '>', '&']));
    let value: serde_json::Value = serde_json::from_str(data).unwrap();
    assert!(value["labels"][0].as_str().unwrap().contains("</script>"));
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
    assert!(page.contains("worker 3 ended with signal 9"), "failures are told");
    assert!(page.contains("class=\"banner\"") && page.contains("SIMULATED"));
    let titles = page.matches("data-title=\"").count();
    assert_eq!(page.matches("data-title=\"SIMULATED · ").count(), titles);
    // Every chart has its table beside it.
    assert_eq!(page.matches("<summary>The same figures as a table").count(), titles);
}

#[test]
fn comparisons_of_the_study_file_have_their_names() {
    let mut fixture = Fixture::generated(2, 3);
    let mut own = fixture.analysis.estimates[1].clone();
    (own.name, own.kind) = ("spread or packed/l2".to_owned(), "named".to_owned());
    fixture.analysis.estimates.push(own);
    let page = html::render(&fixture.document()).unwrap();
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let value: serde_json::Value = serde_json::from_str(data).unwrap();
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
    fixture.study.engine = "sqlite".to_owned();
    fixture.analysis.simulated = false;
    let page = html::render(&fixture.document()).unwrap();
    assert!(!page.contains("SIMULATED"));
}

#[test]
fn nothing_measured_is_a_page_too() {
    let mut fixture = Fixture::generated(2, 3);
    fixture.runs.clear();
    fixture.findings.clear();
    fixture.analysis = threadwise_analysis::analyse(&fixture.study, &[], 1.0);
    let page = html::render(&fixture.document()).unwrap();
    assert!(page.contains("No finding: no block was complete."));
}

#[test]
fn more_slices_than_can_be_drawn_are_thinned_and_told() {
    let fixture = Fixture::generated(8, 200);
    let page = html::render(&fixture.document()).unwrap();
    // 16 treatments, 8 blocks, 200 rounds, less the failed run.
    assert!(page.contains("Of 25400 slices 12700 are drawn, one in 2 of each treatment"));
}

/// The policy names scripts by their hashes; after a change of a script this prints the new ones.
#[test]
fn the_policy_names_the_scripts_of_the_page() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let hashes: Vec<String> = ["watch.js", "d3.min.js", "plot.umd.min.js", "report.js"]
        .iter()
        .map(|name| {
            format!("'sha256-{}'", base64_of_hex(&sha256(&std::fs::read(folder.join(name)).unwrap())))
        })
        .collect();
    let kept = std::fs::read_to_string(folder.join("hashes.txt")).unwrap();
    assert_eq!(kept.trim(), hashes.join(" "), "assets/hashes.txt must hold:\n{}\n", hashes.join(" "));
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
