//! JSON, page and comparison of studies of queries.

use super::fixture::{CHANGED, fixture};
use super::{bare, empty};
use crate::report::compare::text as side_by_side;
use crate::report::exports::{estimate, find_estimate};
use crate::support::Fixture;
use serde_json::{Value, json as value};
use threadwise_report::terminal::{Style, verdict};
use threadwise_report::{Facts, html, json};
use threadwise_study::{OptionValue, RunStatus};

fn report(fixture: &Fixture) -> Value {
    serde_json::from_str(&fixture.json()).unwrap()
}

#[test]
fn json_has_every_figure() {
    let report = report(&fixture(3, false));
    let queries = &report["details"]["queries"];
    assert_eq!((&queries["test"], queries["numbers"].as_array().unwrap().len()), (&value!("power"), 22));
    assert_eq!(queries["data"][0]["llc_bytes"], 40 << 20);
    let measured = &queries["treatments"][3];
    assert_eq!(
        (&measured["treatment"], &measured["dop"], &measured["plans_changed"]),
        (&value!("no-smt d4"), &value!(4), &value!(CHANGED))
    );
    let speed = |treatment: &str| {
        find_estimate(&report, "queries.treatments.total.speed", &[("treatment", treatment)])
    };
    assert_eq!(speed("serial"), None);
    let faster = speed("no-smt d4").unwrap();
    assert_eq!((&faster["answer"], &faster["floor"]), (&value!("larger"), &value!(1.02)));
    let query = &measured["queries"][14];
    assert_eq!(
        (&query["query"], &query["plan_change"], &query["dop_max"]),
        (&value!(15), &value!("different"), &value!(4))
    );
    assert_eq!(query["plan"], queries["plans"][14 * 3 + 2]["name"]);
    assert_eq!(queries["steps"][10]["step_mark"], "super-scaling");
    assert_eq!(queries["steps"][22]["query"], Value::Null);
    let change = queries["plan_changes"].as_array().unwrap().last().unwrap();
    assert_eq!((&change["plan_change"], &change["lines"][1][0]), (&value!("different"), &Value::Null));
    assert_eq!(queries["outliers"][0]["reason"], "neighbour");
    assert_eq!(queries["heat_maps"], Value::Null);
    // Metrics have the names of queries, everywhere.
    // Query by query they are a geometric mean, and their names say so.
    let rate = "queries_per_s_geometric";
    for metric in [rate, "cpu_ns_per_query"] {
        estimate(&report, &format!("treatments.metrics.{metric}"), &[("metric", metric)]);
    }
    let named = |family: &str| &estimate(&report, family, &[])["metric"];
    assert_eq!([named("comparisons"), named("noise_floors")], [rate, rate]);
    // What ratios are over: both runs of the baseline.
    let base = &queries["baselines"][0];
    assert_eq!((&base["both"]["treatment"], &base["twin"]), (&value!("serial"), &value!("serial'")));
    let noise = estimate(&report, "queries.baselines.noise", &[]);
    assert_eq!((&noise["value"], &noise["answer"]), (&value!(0.995), &value!("equivalent")));
    let elapsed = |of: &str, treatment: &str| {
        let figure = format!("queries.{of}.total.elapsed_s");
        estimate(&report, &figure, &[("treatment", treatment)])["value"].as_f64().unwrap()
    };
    let [first, second] = ["serial", "serial'"].map(|name| elapsed("treatments", name));
    assert!((elapsed("baselines.both", "serial") - (first * second).sqrt()).abs() < 1e-9);
    assert_eq!(self::report(&Fixture::generated(2, 3))["details"]["queries"], Value::Null);
}

#[test]
fn json_of_streams_one_block_and_nothing() {
    let report = report(&fixture(12, true));
    // Whole streams: queries per second of the elapsed time.
    estimate(&report, "treatments.metrics.queries_per_s", &[]);
    assert_eq!(estimate(&report, "comparisons", &[])["metric"], "queries_per_s");
    let map = &report["details"]["queries"]["heat_maps"][0];
    assert_eq!(
        (&map["streams"], &map["plateaus"][1]["percent_of_cores"]),
        (&value!([1, 2, 4]), &value!(200.0))
    );
    assert_eq!(map["plateaus"][0]["dop_low"], 4);
    let bare = self::report(&bare());
    let third = &bare["details"]["queries"]["treatments"][2];
    let fields = [("treatment", third["treatment"].as_str().unwrap())];
    let speed = estimate(&bare, "queries.treatments.queries.speed", &fields);
    assert_eq!(
        (&speed["high"], speed.get("floor"), &speed["answer"]),
        (&Value::Null, None, &value!("undecided"))
    );
    assert_eq!(third["queries"][0]["plan"], Value::Null);
    assert_eq!(self::report(&empty())["details"]["queries"]["treatments"][0]["queries"], Value::Null);
}

/// Ids of the page's sections in order.
fn sections(page: &str) -> Vec<&str> {
    page.split("<section id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[test]
fn a_page_has_its_sections_in_order() {
    let page = html::render(&fixture(6, false).document()).unwrap();
    let wanted = [
        "answer",
        "verdict",
        "table",
        "comparison",
        "queries",
        "pairs",
        "steps",
        "core-seconds",
        "plans",
        "outliers",
        "cpus",
        "machine",
        "time",
        "method",
        "configuration",
        "failures",
    ];
    assert_eq!(sections(&page), wanted);
    let page = html::render(&fixture(12, true).document()).unwrap();
    assert!(sections(&page).contains(&"heat"));
    let page = html::render(&empty().document()).unwrap();
    assert!(!sections(&page).contains(&"plans") && !sections(&page).contains(&"steps"));
    html::render(&bare().document()).unwrap();
}

#[test]
fn a_page_has_every_answer() {
    let page = html::render(&fixture(6, false).document()).unwrap();
    for text in [
        "scale factor 1, 1 GB of rows as text: 0.029x memory (32 GiB), 24x the last-level caches (40 MiB)",
        "<caption>Without Q2, Q15, whose plan differs in a treatment</caption>",
        // Ratios by query and treatment, with the sign of another plan.
        "<th scope=\"row\">Q15</th><td class=\"n\">215 ms</td><td>1.84x<span class=\"interval\"> [1.79, 1.89]</span>",
        "<td>5.66x<span class=\"interval\"> [5.49, 5.83]</span><span class=\"mark\"> higher</span> P</td>",
        "Q15 · no-smt d4, no-smt d7 · HASH_JOIN inner",
        "The same plan, only run in parallel: Q1–Q22",
        "<td class=\"gone\">−     NESTED_LOOP_JOIN inner",
        "<td class=\"new\">+     HASH_JOIN inner",
        "<td class=\"moves\">    ~ Gather</td>",
        "2.17x<span class=\"interval\"> [2.11, 2.24]</span> super-scaling",
        "0.77x<span class=\"interval\"> [0.75, 0.79]</span> poor, then good",
        "<li>Q3 under no-smt d2 in block 5 took <span class=\"figure\">1.90x</span>",
        "1b2c3d39 and 1 more",
        "<td class=\"n\">286 MiB</td>",
        "2.98 s–3.97 s",
        "not TPC-H results",
        "executes the round&#x27;s query once, within 3600 s",
        "Sum of a block&#x27;s executions, seconds",
        "<td>queries_per_s_geometric</td>",
        "<dt>noise floor of totals</dt><dd>±2.0%</dd><dd class=\"note\">serial&#x27; against serial (noise)</dd>",
        "serial · no-smt, DOP 1 · the baseline: both of its runs in every block",
        "<td class=\"n\">noise</td><td>0.99x<span class=\"interval\"> [0.99, 1.00]</span></td>",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let markup = page.split_once("<script type=\"application/json\"").unwrap().0;
    let visible = markup.split_once("<main>").unwrap().1;
    for word in ["rows/s", "CPU/row", "sessions", "ows per second"] {
        let shown = visible.split("<pre").next().unwrap();
        assert!(!shown.contains(word), "{word}");
    }
    let titles = page.matches("data-title=\"").count();
    assert_eq!(page.matches("<summary>The same figures as a table").count(), titles);
}

#[test]
fn a_page_of_many_treatments_stays_small() {
    let page = html::render(&fixture(11, false).document()).unwrap();
    let library: usize = ["d3.min.js", "plot.umd.min.js"]
        .iter()
        .map(|name| {
            std::fs::metadata(format!("{}/assets/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap().len() as usize
        })
        .sum();
    assert!(page.len() < library + 1_000_000, "{} bytes beside the library", page.len() - library);
}

#[test]
fn pages_without_queries_do_not_carry_what_draws_them() {
    let page = html::render(&Fixture::generated(2, 3).document()).unwrap();
    assert!(!page.contains("globalThis.queryCharts = "));
    assert!(html::render(&fixture(2, false).document()).unwrap().contains("globalThis.queryCharts = "));
}

#[test]
fn long_lists_of_plans_and_outliers_are_cut_and_reported() {
    let mut fixture = fixture(2, false);
    let queries = fixture.analysis.queries.as_mut().unwrap();
    let one = queries.changes.last().unwrap().clone();
    queries.changes = vec![one; 1000];
    queries.outliers_left_out = 1015;
    let page = html::render(&fixture.document()).unwrap();
    // Seven lines a pair.
    assert!(page.contains("429 more pairs of plans are left out"), "4000 / 7 are 571");
    assert!(page.contains("1,015 smaller outliers."));
}

#[test]
fn a_title_says_how_many_of_the_queries_were_asked() {
    let mut three = fixture(2, false);
    for treatment in &mut three.study.treatments {
        treatment.options.insert("queries".to_owned(), OptionValue::Text("1-3".to_owned()));
    }
    let wanted = "3 of the 22 queries, degrees of parallelism and siblings";
    let style = Style { color: false, unicode: true, width: 100 };
    assert_eq!(verdict(&three.document(), style).lines().next(), Some(wanted));
    assert!(html::render(&three.document()).unwrap().contains(&format!("<h1>{wanted}</h1>")));
    assert!(!verdict(&fixture(2, false).document(), style).contains(wanted));
    three.study.title = "siblings".to_owned();
    let named = verdict(&three.document(), style);
    assert_eq!(named.lines().next(), Some("siblings (3 of the 22 queries)"));
}

#[test]
fn long_messages_of_engines_are_cut_to_a_sentence_and_json_has_them_whole() {
    let mut fixture = fixture(2, false);
    let advice =
        "Out of memory (511 MiB of 512 MiB used). Possible solutions:\n* Reducing the number of threads";
    fixture.runs[2].status = RunStatus::Failed { kind: "engine".to_owned(), message: advice.to_owned() };
    fixture.analysis.excluded_blocks = vec![format!("block 0, d2 only: failed (engine: {advice})")];
    let page = html::render(&fixture.document()).unwrap();
    assert!(page.contains("<td>Out of memory (511 MiB of 512 MiB used) …</td>"));
    let left_out = "Left out: block 0, d2 only: failed (engine: Out of memory (511 MiB of 512 MiB used) …).";
    assert!(page.contains(left_out) && !page.contains("Reducing the number"));
    assert_eq!(report(&fixture)["failures"][0]["message"], advice);
}

#[test]
fn a_difference_of_open_size_has_one_mark_in_a_comparison() {
    let mut fixture = fixture(2, false);
    fixture.analysis.estimates[0].ratio.answer = threadwise_analysis::Answer::SizeOpen;
    let text = side_by_side(&[fixture.facts()], Style { color: false, unicode: true, width: 100 });
    let row = text.lines().find(|line| line.starts_with(&fixture.analysis.estimates[0].name)).unwrap();
    assert!(row.contains("▲ ") && !row.contains('?'), "{row}");
}

#[test]
fn studies_side_by_side_have_the_words_of_their_work() {
    let (fixture, rows) = (fixture(2, false), Fixture::generated(2, 3));
    let named = |sources: [&'static str; 2], fixtures: [&Fixture; 2]| {
        let both = [0, 1].map(|at| Facts { source: sources[at], ..fixtures[at].facts() });
        (side_by_side(&both, Style { color: false, unicode: true, width: 100 }), json::compare(&both))
    };
    let (text, json) = named(["a", "b"], [&fixture, &fixture]);
    assert!(
        text.starts_with("Ratios of queries/s (geo. mean) side by side") && !text.contains("ows"),
        "{text}"
    );
    let value: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["studies"][0]["noise_floor"]["metric"], "queries_per_s_geometric");
    assert!(value["note"].as_str().unwrap().contains("Times of queries"));
    let (text, _) = named(["a", "b"], [&fixture, &rows]);
    assert!(text.starts_with("Ratios of throughput side by side"), "{text}");
}
