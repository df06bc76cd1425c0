//! A study of work lists in every form: terminal, page, JSON, CSV.

pub mod fixture;

use crate::report::exports::estimate;
use crate::support::Fixture;
use fixture::{NAMES, fixture, schedules};
use serde_json::Value;
use threadwise_report::terminal::{Style, sections};
use threadwise_report::{csv, html, json};

const UNICODE: Style = Style { color: false, unicode: true, width: 100 };

/// What the terminal shows of the list, without what every command has.
fn screen_of(fixture: &Fixture, width: usize) -> String {
    let text = sections(&fixture.document(), Style { width, ..UNICODE });
    let end = text.find("\ntreatment").expect("the table of treatments follows");
    text[..end].to_owned()
}

#[test]
fn a_terminal_shows_the_published_table_first() {
    insta::assert_snapshot!(screen_of(&fixture(8), 140), @r"
    work list: firebird, 40 items
    Seconds per item by number of jobs
    jobs                s/item                    list             idle  step
    ─────────────────────────────────────────────────────────────────────────────────────────
    no-smt
      1   22.41 [22.19, 22.63]        896 s [887, 905]        0% [0, 0]  -
      2      12.2 [12.1, 12.4]        490 s [485, 494]  2.0% [1.8, 2.2]  ▲ 1.83x [1.79, 1.87]
      4   10.77 [10.66, 10.88]  430.8 s [426.5, 435.1]  6.0% [5.4, 6.6]  ▲ 1.14x [1.11, 1.16]
    all
      1      22.9 [22.7, 23.2]  918.0 s [908.8, 927.2]        0% [0, 0]  -
      2      12.6 [12.4, 12.7]        503 s [498, 508]  2.0% [1.8, 2.2]  ▲ 1.83x [1.79, 1.86]
      4   9.560 [9.464, 9.656]        382 s [379, 386]  6.0% [5.4, 6.6]  ▲ 1.31x [1.29, 1.34]
    Speed at the same number of jobs
    compared         jobs  speed
    ───────────────────────────────────────────
    all over no-smt     1  ▼ 0.98x [0.96, 1.00]
    all over no-smt     2  ▼ 0.97x [0.95, 0.99]
    all over no-smt     4  ▲ 1.13x [1.10, 1.15]
    The whole list by other schedules, computed from the items of the same runs
    jobs            schedule                                 list  time over the run's
    ──────────────────────────────────────────────────────────────────────────────────
    no-smt, 2 jobs  queue, as given              495 s [490, 500]   1.01x [1.00, 1.02]
    no-smt, 2 jobs  fixed parts, as given        529 s [523, 534]   1.08x [1.07, 1.09]
    no-smt, 4 jobs  queue, as given        445.0 s [440.6, 449.5]   1.03x [1.03, 1.04]
    no-smt, 4 jobs  fixed parts, as given  534.2 s [528.9, 539.5]   1.24x [1.23, 1.25]
    all, 2 jobs     queue, as given        508.3 s [503.2, 513.4]   1.01x [1.00, 1.02]
    all, 2 jobs     fixed parts, as given        543 s [538, 548]   1.08x [1.07, 1.09]
    all, 4 jobs     queue, as given              395 s [391, 399]   1.03x [1.03, 1.04]
    all, 4 jobs     fixed parts, as given  474.2 s [469.4, 478.9]   1.24x [1.23, 1.25]
    list: time of the whole list  idle: share of the jobs' time in which nothing was left to do  step: speed over the row above
    ");
    insta::assert_snapshot!(screen_of(&fixture(8), 60), @r"
    work list: firebird, 40 items
    Seconds per item by number of jobs
    jobs       s/item           list       idle  step
    ──────────────────────────────────────────────────────────
    no-smt
      1   22.41 ±1.0%    896 s ±1.0%         0%  -
      2    12.2 ±1.0%    490 s ±1.0%  2.0% ±10%  ▲ 1.83x ±2.0%
      4   10.77 ±1.0%  430.8 s ±1.0%  6.0% ±10%  ▲ 1.14x ±2.0%
    all
      1    22.9 ±1.0%  918.0 s ±1.0%         0%  -
      2    12.6 ±1.0%    503 s ±1.0%  2.0% ±10%  ▲ 1.83x ±2.0%
      4   9.560 ±1.0%    382 s ±1.0%  6.0% ±10%  ▲ 1.31x ±2.0%
    Speed at the same number of jobs
    compared         jobs  speed
    ───────────────────────────────────────────
    all over no-smt     1  ▼ 0.98x [0.96, 1.00]
    all over no-smt     2  ▼ 0.97x [0.95, 0.99]
    all over no-smt     4  ▲ 1.13x [1.10, 1.15]
    The whole list by other schedules, computed from the items
    of the same runs
    no-smt, 2 jobs
        schedule queue, as given  list 495 s ±1.0%
        time over the run's 1.01x ±0.6%
    no-smt, 2 jobs
        schedule fixed parts, as given  list 529 s ±1.0%
        time over the run's 1.08x ±0.6%
    no-smt, 4 jobs
        schedule queue, as given  list 445.0 s ±1.0%
        time over the run's 1.03x ±0.6%
    no-smt, 4 jobs
        schedule fixed parts, as given  list 534.2 s ±1.0%
        time over the run's 1.24x ±0.6%
    all, 2 jobs
        schedule queue, as given  list 508.3 s ±1.0%
        time over the run's 1.01x ±0.6%
    all, 2 jobs
        schedule fixed parts, as given  list 543 s ±1.0%
        time over the run's 1.08x ±0.6%
    all, 4 jobs
        schedule queue, as given  list 395 s ±1.0%
        time over the run's 1.03x ±0.6%
    all, 4 jobs
        schedule fixed parts, as given  list 474.2 s ±1.0%
        time over the run's 1.24x ±0.6%
    list: time of the whole list
    idle: share of the jobs' time in which nothing was left to
    do  step: speed over the row above
    ");
}

#[test]
fn one_series_and_one_block_are_a_table_too() {
    let mut one = fixture(1);
    one.analysis.worklist.as_mut().unwrap().series.truncate(1);
    one.analysis.worklist.as_mut().unwrap().pairs.clear();
    insta::assert_snapshot!(screen_of(&one, 80), @r"
    work list: firebird, 40 items
    Seconds per item by number of jobs
    jobs  s/item   list  idle  step
    ──────────────────────────────────
    no-smt
      1     22.4  896 s    0%  -
      2     12.2  490 s  2.0%  ? 1.83x
      4     10.8  431 s  6.0%  ? 1.14x
    The whole list by other schedules, computed from the items of the same runs
    jobs            schedule                list  time over the run's
    ─────────────────────────────────────────────────────────────────
    no-smt, 2 jobs  queue, as given        495 s                1.01x
    no-smt, 2 jobs  fixed parts, as given  529 s                1.08x
    no-smt, 4 jobs  queue, as given        445 s                1.03x
    no-smt, 4 jobs  fixed parts, as given  534 s                1.24x
    list: time of the whole list
    idle: share of the jobs' time in which nothing was left to do
    step: speed over the row above
    ");
    insta::assert_snapshot!(screen_of(&schedules(), 80), @r"
    work list: firebird, 40 items
    Seconds per item by number of jobs
    jobs                s/item              list             idle
    ─────────────────────────────────────────────────────────────
    all
      4   9.560 [9.464, 9.656]  382 s [379, 386]  6.0% [5.4, 6.6]
    all, as given
      4   9.560 [9.464, 9.656]  382 s [379, 386]  6.0% [5.4, 6.6]
    all, split
      4   9.560 [9.464, 9.656]  382 s [379, 386]  6.0% [5.4, 6.6]
    Speed at the same number of jobs
    compared                jobs  speed
    ──────────────────────────────────────────────────
    all over all, as given     4  ▲ 1.13x [1.10, 1.15]
    The whole list by other schedules, computed from the items of the same runs
    jobs                   schedule                        list  time over the run's
    ────────────────────────────────────────────────────────────────────────────────
    all, 4 jobs            queue, as given          395 s ±1.0%          1.03x ±0.6%
    all, 4 jobs            fixed parts, as given  474.2 s ±1.0%          1.24x ±0.6%
    all, as given, 4 jobs  queue, as given          395 s ±1.0%          1.03x ±0.6%
    all, as given, 4 jobs  fixed parts, as given  474.2 s ±1.0%          1.24x ±0.6%
    all, split, 4 jobs     queue, as given          395 s ±1.0%          1.03x ±0.6%
    all, split, 4 jobs     fixed parts, as given  474.2 s ±1.0%          1.24x ±0.6%
    list: time of the whole list
    idle: share of the jobs' time in which nothing was left to do
    ");
}

#[test]
fn nothing_is_reported_twice() {
    // Steps and pairs stand in the table of jobs, not as ratios of seconds once more.
    let plain = sections(&fixture(8).document(), UNICODE);
    assert!(!plain.contains("comparisons\n"), "{plain}");
    // Nor do seconds per item, the whole list and the idle share.
    for word in ["item_s", "elapsed", "idle_share", "run of the command"] {
        let (_, rest) = plain.split_once("\ntreatment").unwrap();
        assert!(!rest.replace("over elapsed time", "").contains(word), "{word} in {rest}");
    }
    assert!(plain.contains("s/item over all j1") && plain.contains("run of the list"), "{plain}");
}

#[test]
fn the_page_begins_with_the_jobs() {
    let page = html::render(&fixture(8).document()).unwrap();
    let ids = ["verdict", "worklist", "comparison", "metrics", "cpus", "machine", "time", "table", "method"];
    let places: Vec<usize> = ids.map(|id| page.find(&format!("<section id=\"{id}\"")).expect(id)).into();
    assert!(places.is_sorted(), "sections in order");
    for text in [
        "40 items in the list. Recipe: firebird.",
        "<h3>Items by number of jobs</h3>",
        "<h3>One run, item by item</h3>",
        "<th scope=\"rowgroup\" colspan=\"6\">no-smt</th>",
        "<th scope=\"row\">4</th><td>no-smt j4</td><td class=\"n\">10.77<span class=\"interval\"> [10.66, 10.88]</span></td>",
        "<td>1.14x<span class=\"interval\"> [1.11, 1.16]</span><span class=\"mark\"> faster</span></td>",
        "all over no-smt",
        "computed from the items of the same runs",
        "fixed parts, as given",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let section = page.split_once("<section id=\"worklist\"").unwrap().1.split_once("</section>").unwrap().0;
    assert_eq!(section.matches("data-chart=\"").count(), 2);
    let outcome =
        page.split_once("<section id=\"comparison\"").unwrap().1.split_once("</section>").unwrap().0;
    assert!(outcome.contains("A run is the whole list. A ratio") && !outcome.contains("One process"));
    assert!(
        !page.contains("<h3>Elapsed</h3>") && page.contains("does the whole list once"),
        "reported above"
    );
    // Other pages do not carry what draws it.
    let other = html::render(&Fixture::generated(2, 2).document()).unwrap();
    assert!(page.contains("globalThis.worklistCharts =") && !other.contains("globalThis.worklistCharts ="));
}

#[test]
fn json_has_the_documented_form() {
    let report: Value = serde_json::from_str(&fixture(8).json()).unwrap();
    let list = &report["details"]["worklist"];
    assert_eq!((&list["recipe"], &list["items"]), (&"firebird".into(), &40.into()));
    let of_point = |figure: &str, fields: &[(&str, &str)]| {
        let fields = [&[("treatment", "all j4"), ("jobs", "4")], fields].concat();
        estimate(&report, &format!("worklist.{figure}"), &fields)
    };
    assert_eq!(of_point("series.points.item_s", &[])["unit"], "s/item");
    assert!(of_point("series.points.idle_share", &[])["low"].is_number());
    let fixed = of_point("series.points.computed.ratio", &[("schedule", "fixed parts, as given")]);
    assert!(fixed["value"].as_f64().unwrap() > 1.0);
    let step = [("label", "all"), ("from_jobs", "1"), ("to_jobs", "2")];
    assert_eq!(estimate(&report, "worklist.series.steps.speed", &step)["answer"], "larger");
    assert_eq!(of_point("pairs.speed", &[("kind", "placement")])["baseline"], "no-smt j4");
    let run = &list["timelines"][0];
    assert_eq!(run["items"].as_array().unwrap().len(), 40);
    assert!(run["items"][0]["elapsed_s"].is_number() && run["block"].is_number());
    // One block has no interval; other workloads do not have the field at all.
    let one: Value = serde_json::from_str(&fixture(1).json()).unwrap();
    assert_eq!(estimate(&one, "worklist.series.points.item_s", &[])["high"], Value::Null);
    let other: Value = serde_json::from_str(&Fixture::generated(2, 2).json()).unwrap();
    assert!(!other["details"].as_object().unwrap().contains_key("worklist"));
}

#[test]
fn items_are_exported_one_by_one() {
    let fixture = fixture(2);
    let mut text = Vec::new();
    csv::items_csv(&fixture.facts(), &mut text).unwrap();
    let mut reader = ::csv::Reader::from_reader(text.as_slice());
    let head = reader.headers().unwrap().clone();
    let column = |name: &str| head.iter().position(|title| title == name).expect(name);
    let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    // Of each run the items that were reported; the last run failed before any.
    assert_eq!(rows.len(), (fixture.runs.len() - 1) * NAMES.len());
    let second = &rows[1];
    assert_eq!(&second[column("treatment")], "all j1");
    assert_eq!([&second[column("index")], &second[column("job")], &second[column("jobs")]], ["1", "0", "1"]);
    assert_eq!(&second[column("item")], NAMES[1]);
    assert_eq!([&second[column("started_ns")], &second[column("elapsed_ns")]], ["1000000000", "1000000000"]);
    let names: Vec<&str> = rows[..NAMES.len()].iter().map(|row| &row[column("item")]).collect();
    assert_eq!(names[2], format!("'{}", NAMES[2]), "no cell is a formula");
    let mut lines = Vec::new();
    json::items_jsonl(&fixture.facts(), &mut lines).unwrap();
    let lines: Vec<Value> =
        String::from_utf8(lines).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), rows.len());
    assert_eq!((&lines[2]["item"], &lines[2]["index"]), (&NAMES[2].into(), &2.into()));
    assert_eq!(lines[2]["started_ns"], 2_000_000_000_u64);
}
