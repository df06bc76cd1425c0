//! Load at a rate, and what vCPUs add, from the command line to the answer, on the model engine.

use super::harness::Lab;
use serde_json::Value;

/// A model whose sessions do 15,625 requests a second each, of 64 rows; requests take exponential times.
const RATES: [&str; 6] = ["load", "--rate", "4000,9000,12000,20000", "--slo", "p99=1ms", "--no-html"];

fn json(lab: &Lab, args: &[&str]) -> Value {
    serde_json::from_str(&lab.ok(args).stdout).unwrap()
}

/// A model without noise: only its queue is random.
const QUIET: [&str; 4] = ["--engine-option", "noise_sd=0", "--engine-option", "ratio.same-package=2"];

#[test]
fn latencies_at_rates_are_those_of_the_queue_and_overloads_are_none() {
    let lab = Lab::new();
    let said = lab.simulated("s.threadwise", &[&RATES[..], &QUIET].concat());
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    assert!(
        said.stdout.contains("The highest rate with a 99th percentile within 1.00 ms is "),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains("Overload, with requests that wait"), "{}", said.stdout);
    let report = json(&lab, &["report", "s.threadwise", "--json"]);
    let estimates = report["estimates"].as_array().unwrap();
    let p99 = |name: &str| {
        let is = |one: &&Value| {
            one["family"] == "load" && one["figure"] == "points.latency_ns_p99" && one["treatment"] == name
        };
        let one = estimates.iter().find(is).unwrap_or_else(|| panic!("{name}: {report}"));
        ["low", "high"].map(|end| one[end].as_f64().unwrap())
    };
    // One session is M/M/1 with 15,625 a second: its p99 is ln 100 / (capacity - rate).
    for rate in [4000_f64, 9000.0] {
        let [low, high] = p99(&format!("alone/rate_per_s={rate}"));
        let truth_ns = 100_f64.ln() / (15_625.0 - rate) * 1e9;
        // A 95% interval may miss by a little; the study is always the same, as its seed is.
        assert!(low < 1.1 * truth_ns && high > 0.9 * truth_ns, "{rate}: {low} {high} {truth_ns}");
    }
    let points = report["details"]["load"]["points"].as_array().unwrap();
    let overloads: Vec<&str> = points
        .iter()
        .filter(|one| one["is_overload"] == true)
        .filter_map(|one| one["treatment"].as_str())
        .collect();
    assert!(overloads.contains(&"alone/rate_per_s=20000"), "{overloads:?}");
    assert!(!overloads.contains(&"alone/rate_per_s=9000"), "{overloads:?}");
    assert!(
        report["screen"]["answer"].as_array().unwrap().iter().all(|line| !line.to_string().contains("NaN"))
    );
    let compared = report["estimates"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["metric"] == "latency_ns_mean" && one["family"] == "comparisons");
    assert!(compared.count() >= 2, "comparisons of mean latency");
    assert!(lab.leftovers().is_empty());
}

#[test]
fn a_pool_at_one_rate_is_answered_for_each_number_of_sessions() {
    let lab = Lab::new();
    let rate = ["load", "--rate", "9000/s", "--arrivals", "constant", "--slo", "p99=5ms", "--no-html"];
    let said = lab.simulated("s.threadwise", &[&rate[..], &QUIET].concat());
    assert!(
        said.stdout.contains("At 9000/s the 99th percentile stays within 5.00 ms for one session"),
        "{}",
        said.stdout
    );
    lab.ok(&["report", "s.threadwise", "--html", "s.html"]);
    let page = std::fs::read_to_string(lab.path().join("s.html")).unwrap();
    assert!(page.contains("requests arrive at equal distances"));
}

#[test]
fn a_rate_of_which_nothing_is_served_is_an_overload() {
    let lab = Lab::new();
    let rate = ["load", "--rate", "4000,1000000", "--slo", "p99=10ms", "--blocks", "3", "--no-html"];
    let said = lab.simulated("s.threadwise", &[&rate[..], &QUIET].concat());
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    let report = json(&lab, &["report", "s.threadwise", "--json"]);
    let points = report["details"]["load"]["points"].as_array().unwrap();
    let overloads = points.iter().filter(|one| one["is_overload"] == true && one["unserved_share"] == 1.0);
    assert_eq!(overloads.count(), points.len() / 2, "{points:?}");
    assert!(!answer(&report).contains("no-work"), "{}", answer(&report));
    let said = lab.run(&["run", "--resume", "s.threadwise", "--rate", "500"]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("--resume") && said.stderr.contains("--rate"), "{}", said.stderr);
}

#[test]
fn two_studies_at_rates_are_compared_by_latency() {
    let lab = Lab::new();
    for name in ["a.threadwise", "b.threadwise"] {
        let said = lab.simulated(name, &["load", "--rate", "9000", "--blocks", "3", "--no-html"]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
    }
    let said = lab.ok(&["compare", "a.threadwise", "b.threadwise"]).stdout;
    assert!(said.contains("Ratios of mean latency") && said.contains("latency p99"), "{said}");
    assert!(!said.contains("rows/s"), "{said}");
}

#[test]
fn rates_that_cannot_be_are_refused_before_anything_is_made() {
    let lab = Lab::new();
    for (args, part) in [
        (&["run", "--rate", "fast"][..], "'fast' is not a rate"),
        (&["run", "--rate", "100,100"], "given twice"),
        (&["run", "--rate", "0"], "not a rate from"),
        (&["run", "--arrivals", "constant"], "--rate"),
        (&["run", "kernels", "--rate", "100"], "rate_per_s"),
        (&["run", "load", "--rate", "auto", "--plan"], "--plan measures nothing"),
        (
            &["run", "concurrent-inserts", "--rate", "100", "--set", "rows_per_session=1000"],
            "fixed amount of work",
        ),
    ] {
        let said = lab.run(args);
        assert_eq!(said.code, Some(2), "{args:?} {}", said.stderr);
        assert!(
            said.stderr.contains(part) && said.stderr.trim().lines().count() == 1,
            "{args:?} {}",
            said.stderr
        );
    }
    assert!(lab.files().is_empty() && lab.leftovers().is_empty());
}

fn vcpus(count: &str, gains: &[&str]) -> Value {
    let lab = Lab::new();
    let mut args = vec!["vcpus", "--vcpus", count, "--no-html", "--json", "--engine-option", "noise_sd=0.03"];
    gains.iter().for_each(|gain| args.extend(["--engine-option", gain]));
    let said = lab.simulated("s.threadwise", &args);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    serde_json::from_str(&said.stdout).unwrap()
}

fn half(report: &Value) -> [f64; 3] {
    let all = report["estimates"].as_array().unwrap();
    let one = all.iter().find(|one| one["place"]["comparison"] == "second half of the vCPUs").unwrap();
    ["value", "low", "high"].map(|end| one[end].as_f64().unwrap())
}

fn answer(report: &Value) -> String {
    report["screen"]["answer"].as_array().unwrap().iter().map(Value::to_string).collect()
}

#[test]
fn two_threads_a_core_and_four_cores_are_told_apart() {
    let threads = vcpus("4", &["ratio.sessions-2=2", "ratio.sessions-3=2.3", "ratio.sessions-4=2.6"]);
    let [value, low, high] = half(&threads);
    assert!((low..=high).contains(&1.3) && (value - 1.3).abs() < 0.05, "{value} [{low}, {high}]");
    assert!(answer(&threads).contains("looks like two threads a core"), "{}", answer(&threads));
    let cores = vcpus("4", &["ratio.sessions-2=2", "ratio.sessions-3=2.95", "ratio.sessions-4=3.9"]);
    assert!(answer(&cores).contains("looks like one core for each vCPU"), "{}", answer(&cores));
}

#[test]
fn an_odd_number_of_vcpus_has_no_half_and_two_have_one_step() {
    let three = vcpus("3", &["ratio.sessions-2=2", "ratio.sessions-3=2.3"]);
    assert!(answer(&three).contains("adds is not known: their number is odd"), "{}", answer(&three));
    let two = vcpus("2", &["ratio.sessions-2=1.3"]);
    let all = two["estimates"].as_array().unwrap().iter();
    let names: Vec<&Value> =
        all.filter(|one| one["family"] == "vcpus").map(|one| &one["place"]["comparison"]).collect();
    assert_eq!(names, ["second half of the vCPUs", "from 2 to 3 sessions"]);
}

#[test]
fn a_server_of_the_users_is_not_loaded_unasked() {
    let lab = Lab::new();
    let url = "postgres://app@127.0.0.1:1/none";
    for (args, part) in [
        (&["run", "vcpus", "--engine", url][..], "give the number, such as --vcpus 8"),
        (&["run", "vcpus", "--engine", url, "--vcpus", "8"], "say how much of its 8 vCPUs it may use"),
        (&["run", "vcpus", "--engine", url, "--vcpus", "8", "--share", "5%"], "give a larger --share"),
        (
            &["run", "vcpus", "--engine", url, "--vcpus", "8", "--share", "50%", "--sessions", "2,8"],
            "8 sessions are more than the share allows, 4 of 8 vCPUs",
        ),
        (&["run", "placement", "--share", "50%"], "--share is for the preset vcpus"),
        (&["run", "vcpus", "--share", "300%"], "is not a share of a server"),
        (&["run", "vcpus", "--engine", "sqlite"], "burn"),
    ] {
        let said = lab.run(args);
        assert_eq!(said.code, Some(2), "{args:?} {}", said.stderr);
        assert!(said.stderr.contains(part), "{args:?} {}", said.stderr);
    }
    assert!(lab.files().is_empty() && lab.leftovers().is_empty());
}
