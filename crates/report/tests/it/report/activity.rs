//! Waits, counters, CPU, spins and fixed work, as each form shows them.

use crate::report::exports::{estimate, find_estimate};
use crate::support::Fixture;
use serde_json::{Value, json as value};
use threadwise_analysis::Interval;
use threadwise_analysis::activity::{
    Activity, CounterRate, CpuUse, Locks, ServerLock, ServerLocks, ServerWait, WaitShare, Waits,
};
use threadwise_report::terminal::{Style, sections};
use threadwise_report::{csv, html, json};

const UNICODE: Style = Style { color: false, unicode: true, width: 100 };

fn interval(mean: f64, unit: &str) -> Interval {
    Interval { mean, low: mean * 0.9, high: mean * 1.1, unit: unit.to_owned() }
}

/// Something of everything, with these shares of waits.
pub fn activity(shares: &[(&str, f64)]) -> Activity {
    let shares = shares.iter().map(|(name, share)| WaitShare {
        name: (*name).to_owned(),
        share: interval(*share, "share"),
        joint: Interval { mean: *share, low: share * 0.85, high: share * 1.15, unit: "share".to_owned() },
        change: None,
    });
    let counter = |name: &str, row: f64, unit: &str| CounterRate {
        name: name.to_owned(),
        per_row: Some(interval(row, unit)),
        per_s: Some(interval(row * 1000.0, &format!("{unit}/s"))),
        blocks: 8,
    };
    Activity {
        waits: Some(Waits { samples: 12_340, blocks: 8, enough: true, shares: shares.collect() }),
        counters: vec![counter("flush_ns", 1500.0, "ns"), counter("wal_bytes", 187.0, "bytes")],
        cpu: Some(CpuUse {
            engine_ns_per_row: Some(interval(12_300.0, "ns")),
            client_ns_per_row: Some(interval(700.0, "ns")),
            client_share: Some(interval(0.054, "share")),
        }),
        locks: Some(Locks {
            spins_per_row: Some(interval(31.2, "1")),
            spins_per_row_change: None,
            spinning_share: Some(interval(0.0016, "share")),
            spinning_share_joint_high: Some(0.0017),
            cycles_per_spin_bound: Some(interval(1106.0, "cycles")),
            cycles_per_spin: Some(interval(1.77, "cycles")),
            clock_mhz: Some(2400.0),
            clock: "the probe's chain of adds".to_owned(),
        }),
        server_loop: true,
        ..Activity::default()
    }
}

/// Two treatments of one group tell everything, a third has too few samples and no clock; a fixed
/// amount of work.
pub fn fixture() -> Fixture {
    let mut fixture = Fixture::generated(8, 5);
    fixture.study.treatments.truncate(3);
    fixture.study.comparisons.truncate(1);
    let kept = fixture.study.clone();
    fixture.runs.retain(|run| kept.treatment(&run.treatment).is_some());
    let analysis = &mut fixture.analysis;
    analysis.treatments.truncate(3);
    analysis.estimates.truncate(1);
    analysis.noise_floors.truncate(1);
    let waits = [("running", 0.5), ("LWLock:WALWrite", 0.34), ("IO:WALSync", 0.16), ("other", 0.0)];
    analysis.treatments[0].activity = activity(&waits);
    analysis.treatments[1].activity =
        activity(&[("running", 0.2), ("LWLock:WALWrite", 0.7), ("IO:WALSync", 0.0), ("other", 0.1)]);
    let mut few = activity(&waits);
    if let (Some(waits), Some(locks)) = (&mut few.waits, &mut few.locks) {
        (waits.samples, waits.enough) = (37, false);
        locks.clock_mhz = None;
        locks.clock = "the clock was not measured: the study has no probe".to_owned();
        (locks.cycles_per_spin, locks.cycles_per_spin_bound) = (None, None);
    }
    few.cpu = Some(CpuUse {
        engine_ns_per_row: None,
        client_ns_per_row: Some(interval(700.0, "ns")),
        client_share: None,
    });
    analysis.treatments[2].activity = few;
    for summary in &mut analysis.treatments {
        summary.metrics.insert("elapsed_ns".to_owned(), interval(10.4e9, "ns"));
        summary.metrics.insert("idle_tail_share".to_owned(), interval(0.03, "share"));
        summary.metrics.remove("latency_ns_p50");
        summary.metrics.remove("latency_ns_p99");
    }
    fixture
}

#[test]
fn a_terminal_shows_subject_by_subject() {
    let text = sections(&fixture().document(), UNICODE);
    let (_, rest) = text.split_once("waits, shares").unwrap();
    insta::assert_snapshot!(format!("waits, shares{rest}"), @r"
    waits, shares of samples
    treatment   samples       running  LWLock:WALWrite    IO:WALSync          other
    ───────────────────────────────────────────────────────────────────────────────
    alone/l2     12,340  50% [45, 55]     34% [31, 37]  16% [14, 18]      0% [0, 0]
    alone'/l2    12,340  20% [18, 22]     70% [63, 77]     0% [0, 0]  10% [9.0, 11]
    one-cpu/l2       37             -                -             -              -
    running -: too few samples  LWLock:WALWrite -: too few samples  IO:WALSync -: too few samples
    other -: too few samples
    Fixed work, elapsed from the common start to the last session's end
    treatment              elapsed        idle tail
    ───────────────────────────────────────────────
    alone/l2    10.4 s [9.4, 11.4]  3.0% [2.7, 3.3]
    alone'/l2   10.4 s [9.4, 11.4]  3.0% [2.7, 3.3]
    one-cpu/l2  10.4 s [9.4, 11.4]  3.0% [2.7, 3.3]
    Spins
    treatment    MHz          spins/row    time spinning        cycles/spin  cycles/spin, at most
    ─────────────────────────────────────────────────────────────────────────────────────────────
    alone/l2    2400  31.2 [28.1, 34.3]  0.2% [0.1, 0.2]  1.77 [1.59, 1.95]      1106 [995, 1217]
    alone'/l2   2400  31.2 [28.1, 34.3]  0.2% [0.1, 0.2]  1.77 [1.59, 1.95]      1106 [995, 1217]
    one-cpu/l2     -  31.2 [28.1, 34.3]  0.2% [0.1, 0.2]                  -                     -
    MHz -: the clock was not measured: the study has no probe
    CPU time per row
    treatment                 engine             client   client's share
    ────────────────────────────────────────────────────────────────────
    alone/l2    12.3 µs [11.1, 13.5]  700 ns [630, 770]  5.4% [4.9, 5.9]
    alone'/l2   12.3 µs [11.1, 13.5]  700 ns [630, 770]  5.4% [4.9, 5.9]
    one-cpu/l2                     -  700 ns [630, 770]                -
    engine counters (see the HTML report or --json): flush_ns, wal_bytes
    ");
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let mut fixture = fixture();
    let long = "Extension:something_with_a_name_that_goes_on_and_on_for_more_than_a_line_of_a_terminal";
    if let Some(waits) = &mut fixture.analysis.treatments[0].activity.waits {
        waits.shares[1].name = long.to_owned();
    }
    fixture.analysis.treatments[1].name = format!("{}/l2", "a-very-long-name-of-a-treatment".repeat(2));
    for width in [50, 64, 80, 100] {
        let text = sections(&fixture.document(), Style { width, ..UNICODE });
        let (_, rest) = text.split_once("waits, shares").unwrap();
        let wide = rest.lines().skip(1).find(|line| line.chars().count() > width);
        // A name of a treatment stays whole.
        assert!(wide.is_none_or(|line| line.contains("a-very-long-name")), "{width}: {wide:?}");
        assert!(!text.contains(long), "a name is cut");
    }
    assert!(sections(&fixture.document(), Style { unicode: false, ..UNICODE }).is_ascii());
}

#[test]
fn where_nothing_was_counted_nothing_is_shown() {
    let fixture = Fixture::generated(2, 3);
    let page = html::render(&fixture.document()).unwrap();
    assert!(!page.contains("<section id=\"activity\""));
    let text = sections(&fixture.document(), UNICODE);
    assert!(!text.contains("waits") && !text.contains("elapsed"), "{text}");
    let report: Value = serde_json::from_str(&fixture.json()).unwrap();
    let is_activity = |one: &Value| {
        let figure = one["figure"].as_str().unwrap();
        let parts = ["waits", "cpu", "locks", "counters"];
        one["family"] == "treatments" && parts.iter().any(|part| figure.starts_with(part))
    };
    assert!(!report["estimates"].as_array().unwrap().iter().any(is_activity));
}

#[test]
fn counters_that_never_move_are_not_shown() {
    let mut fixture = fixture();
    let still = |value: &mut Option<Interval>| *value = Some(interval(0.0, "1"));
    for summary in &mut fixture.analysis.treatments {
        summary.activity.counters[0].name = "index_retries".to_owned();
        still(&mut summary.activity.counters[0].per_row);
        summary.activity.locks.iter_mut().for_each(|locks| still(&mut locks.spins_per_row));
    }
    let (text, page) = (sections(&fixture.document(), UNICODE), html::render(&fixture.document()).unwrap());
    for shown in [&text, &page] {
        assert!(shown.contains("wal_bytes") && !shown.contains("index_retries"));
    }
    assert!(!text.contains("cycles") && !page.contains("cycles/spin"));
    assert!(fixture.json().contains("index_retries"), "JSON has everything");
}

#[test]
fn json_has_every_figure() {
    let report: Value = serde_json::from_str(&fixture().json()).unwrap();
    let treatment = &report["details"]["treatments"][0];
    assert_eq!(
        (&treatment["waits"]["samples"], &treatment["waits"]["enough"]),
        (&value!(12_340), &value!(true))
    );
    assert_eq!(treatment["locks"]["clock_mhz"], 2400.0);
    assert_eq!(treatment["loop_in_server"], true);
    let names = |at: usize| report["treatments"][at]["treatment"].as_str().unwrap();
    let of_first = |figure: &str, fields: &[(&str, &str)]| {
        let fields = [&[("treatment", names(0))], fields].concat();
        estimate(&report, &format!("treatments.{figure}"), &fields)
    };
    let share = of_first("waits.shares", &[("name", "LWLock:WALWrite")]);
    assert_eq!((&share["value"], &share["unit"]), (&value!(0.34), &value!("share")));
    assert_eq!(of_first("counters.per_s", &[("name", "wal_bytes")])["unit"], "bytes/s");
    assert_eq!(of_first("cpu.client_share", &[])["value"], 0.054);
    assert_eq!(of_first("locks.cycles_per_spin_bound", &[])["value"], 1106.0);
    assert_eq!(of_first("metrics.elapsed_ns", &[])["value"], 10.4e9);
    for unknown in ["cpu.engine_ns_per_row", "locks.cycles_per_spin"] {
        let figure = format!("treatments.{unknown}");
        assert_eq!(find_estimate(&report, &figure, &[("treatment", names(2))]), None);
    }
}

#[test]
fn exports_have_what_belongs_to_no_session() {
    let mut fixture = Fixture::generated(1, 1);
    fixture.runs[0].slices[0].counters.insert("waits/running".to_owned(), 7);
    fixture.runs[0].slices[0].sessions[0].finished_ns = Some(49);
    let mut text = Vec::new();
    csv::slices_csv(&fixture.facts(), &mut text).unwrap();
    let mut rows = ::csv::Reader::from_reader(text.as_slice());
    let at = rows.headers().unwrap().iter().position(|name| name == "waits/running").unwrap();
    let cells: Vec<String> = rows.records().map(|row| row.unwrap()[at].to_owned()).collect();
    assert_eq!((cells[0].as_str(), cells[1].as_str()), ("7", "0"));
    let mut text = Vec::new();
    json::slices_jsonl(&fixture.facts(), &mut text).unwrap();
    let first: Value =
        serde_json::from_str(std::str::from_utf8(&text).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!(first["counters"], value!({"waits/running": 7}));
    assert_eq!(first["sessions"][0]["finished_ns"], 49);
}

#[test]
fn a_page_has_the_picture_and_the_tables() {
    let mut fixture = fixture();
    for treatment in &mut fixture.study.treatments {
        let rows = threadwise_study::OptionValue::Integer(1000);
        treatment.options.insert("rows_per_session".to_owned(), rows);
    }
    let page = html::render(&fixture.document()).unwrap();
    for text in [
        "<section id=\"activity\"",
        "<th scope=\"row\">alone&#x2f;l2</th><td class=\"n\">12,340</td><td class=\"n\">50%<span class=\"interval\"> [45, 55]</span></td>",
        "<td class=\"n\">37</td><td class=\"n\" title=\"too few samples\">-</td>",
        "no step latencies: the loop runs inside the server",
        "Fixed work, elapsed from the common start to the last session&#x27;s end",
        "does its fixed amount of work once",
        "the clock was not measured: the study has no probe",
        "<td>wal_bytes</td><td class=\"n\">187 bytes<span class=\"interval\"> [168, 206]</span></td>",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let waits = serde_json::from_str::<Value>(data).unwrap()["waits"][0].clone();
    assert_eq!(waits["names"][0], value!(["running", "running"]));
    assert_eq!(waits["names"][3], value!(["other", "other"]));
    // Too few samples are not drawn.
    assert_eq!(waits["rows"].as_array().unwrap().len(), 2);
    assert_eq!(waits["rows"][1]["shares"], value!([0.2, 0.7, 0.0, 0.1]));
    // The answer, throughput, ratios, roles, busy, steal, waits, time.
    assert_eq!(page.matches("data-chart=\"").count(), 8);
}

#[test]
fn json_and_page_have_the_servers_locks() {
    let mut fixture = fixture();
    let lock = ServerLock {
        name: "LOGCACHE_ACCESS".to_owned(),
        spins: 113_246_628.0,
        spins_per_s: Some(interval(1e7, "1/s")),
        share: Some(interval(0.97, "share")),
        spins_per_row: Some(interval(4.5, "1")),
        spins_per_commit: Some(interval(9.1, "1")),
        spins_per_collision: Some(interval(210.0, "1")),
        spins_per_backoff: None,
        cycles_per_spin_bound: Some(interval(1106.0, "cycles")),
    };
    let locks = vec![lock];
    let clock = "the probe's chain of adds".to_owned();
    let wait = ServerWait {
        kind: "server_wait".to_owned(),
        name: "WRITELOG".to_owned(),
        wait_ns_per_row: Some(interval(40_000.0, "ns")),
        waits_per_row: Some(interval(0.08, "1")),
        ns_per_wait: Some(interval(5e5, "ns")),
    };
    let activity = &mut fixture.analysis.treatments[0].activity;
    activity.server_locks = Some(ServerLocks { locks, clock_mhz: Some(2400.0), clock });
    activity.server_waits = vec![wait];
    let report: Value = serde_json::from_str(&fixture.json()).unwrap();
    let lock = &report["details"]["treatments"][0]["server_locks"]["locks"][0];
    assert_eq!((&lock["name"], &lock["spins"]), (&value!("LOGCACHE_ACCESS"), &value!(113_246_628.0)));
    let of_lock = |figure: &str| {
        let figure = format!("treatments.server_locks.locks.{figure}");
        find_estimate(&report, &figure, &[("name", "LOGCACHE_ACCESS")])
    };
    assert_eq!(of_lock("spins_per_commit").unwrap()["value"], 9.1);
    assert_eq!(of_lock("spins_per_backoff"), None);
    let wait = estimate(&report, "treatments.server_waits.wait_ns_per_row", &[("name", "WRITELOG")]);
    assert_eq!(wait["unit"], "ns");
    let text = sections(&fixture.document(), UNICODE);
    for words in ["Spinlocks of the server", "including its other clients", "spins/commit", "1106"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}
