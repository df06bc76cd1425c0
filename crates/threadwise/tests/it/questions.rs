//! `threadwise pool`, `maxdop`, `bind` and prices: what they answer, and what they refuse.

use crate::harness::Lab;
use serde_json::Value;
use std::process::{Command, Stdio};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_pool_has_its_size_first_and_keeps_a_bound_for_latency() {
    let lab = Lab::new();
    let pool =
        ["pool", "--engine", "simulated", "--seed", "3", "--blocks", "8", "--allow-busy", "--no-probe"];
    let said = lab
        .ok(&[&pool[..], &["--slo", "p99=1s", "--json", "-o", "p.threadwise", "--html", "p.html"]].concat());
    let report = json(&said.stdout);
    let first =
        &report["findings"].as_array().unwrap().iter().find(|one| one["kind"] == "advice").unwrap()["text"];
    let text = first.as_str().unwrap();
    assert!(text.contains("usy sessions to run"), "{text}");
    assert!(text.contains("p99 within 1.00 s") || text.contains("p99 within 1 s"), "{text}");
    let choices = &report["details"]["choices"];
    let choice = choices.as_array().unwrap().iter().find(|one| one["axis"] == "sessions").unwrap();
    assert_eq!(choice["candidates"][0]["number"], 1, "{choice}");
    assert!(choice["chosen"].is_string() || choice["guess"].is_object(), "{choice}");
    let page = std::fs::read_to_string(lab.path().join("p.html")).unwrap();
    let (answer, verdict) = (page.find("id=\"answer\"").unwrap(), page.find("id=\"verdict\"").unwrap());
    assert!(answer < verdict && page[answer..verdict].contains("data-chart=\"choice\""));
    // A model is no machine to set anything on.
    assert!(!page.contains("class=\"paste\""));
}

#[test]
fn a_server_is_bound_in_turns_and_left_as_it_was() {
    let lab = Lab::new();
    let mut server = Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().unwrap();
    let pid = server.id().to_string();
    let mask = |pid: &str| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        status.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap().to_owned()
    };
    let before = mask(&pid);
    let bind =
        ["bind", &pid, "--blocks", "2", "--seed", "5", "--allow-busy", "--no-probe", "--no-html", "--json"];
    let said = lab.run(&[&bind[..], &["-o", "b.threadwise", "--headline", "elapsed", "--", "true"]].concat());
    let after = mask(&pid);
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(before, after);
    let report = json(&said.stdout);
    let choices = &report["details"]["choices"];
    let choice = choices.as_array().unwrap().iter().find(|one| one["axis"] == "placement").unwrap();
    assert_eq!(choice["candidates"][0]["treatment"], "as now", "{choice}");
}

/// The metric of the study in a file: what its verdict speaks of.
fn headline(lab: &Lab, file: &str) -> String {
    let report = json(&lab.ok(&["report", file, "--json"]).stdout);
    report["details"]["commands"]["quantities"][0]["metric"].as_str().unwrap().to_owned()
}

#[test]
fn a_load_of_fixed_time_is_judged_by_its_metric() {
    let lab = Lab::new();
    let mut server = Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().unwrap();
    let pid = server.id().to_string();
    let same = ["--blocks", "2", "--seed", "5", "--allow-busy", "--no-probe", "--no-html", "-o"];
    let p99 = ["--metric", "p99=ms lower regex:p99=([0-9.]+)", "--metric", "n=1 none regex:n=([0-9]+)"];
    let load = ["--", "sh", "-c", "echo p99=5 n=3"];
    let more =
        |file: &'static str, options: &[&'static str]| [&same[..], &[file], &p99, options, &load].concat();
    let bind = lab.run(&[&["bind", "--all", &pid][..], &more("b", &[])].concat());
    let other = lab.run(&[&["bind", "--all", &pid][..], &more("o", &["--headline", "n"])].concat());
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!((bind.code, other.code), (Some(0), Some(0)), "{}{}", bind.stderr, other.stderr);
    assert_eq!((headline(&lab, "b"), headline(&lab, "o")), ("metric/p99".to_owned(), "metric/n".to_owned()));
    for (file, options, wanted) in [
        ("first", &[][..], "metric/p99"),
        ("named", &["--headline", "n"], "metric/n"),
        ("time", &["--headline", "elapsed"], "elapsed_ns"),
    ] {
        let args = [
            &["run", "--all", "command", "--placement", "one-cpu"][..],
            &same,
            &[file],
            &p99,
            options,
            &load,
        ]
        .concat();
        lab.ok(&args);
        assert_eq!(headline(&lab, file), wanted, "{file}");
    }
    for (options, says) in [
        (
            &["--headline", "p98"][..],
            "option 'headline': there is no metric 'p98'; there are: elapsed, n, p99",
        ),
        (&["--set", "headline=n"], "--set headline=n: use --headline n"),
    ] {
        let said = lab.run(&[&["run", "--all", "command"][..], &same, &["x"], &p99, options, &load].concat());
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains(says), "{}", said.stderr);
    }
    let said = lab.run(&["run", "--all", "placement", "--engine", "simulated", "--headline", "n"]);
    assert!(
        said.code == Some(2) && said.stderr.contains("'headline' is for studies of commands"),
        "{}",
        said.stderr
    );
}

#[test]
fn what_cannot_be_asked_is_refused_before_anything_runs() {
    let lab = Lab::new();
    for (args, says) in [
        (&["pool", "--all", "--slo", "10ms"][..], "write p99=10ms"),
        (&["pool", "--all", "--slo", "p99=0s"], "more than 0"),
        (&["bind", "--all", "port:x", "--", "true"], "port"),
        (&["bind", "--all", "4711"], "CMD"),
        (&["maxdop", "--all", "--streams", "0"], "1..=1000"),
    ] {
        let said = lab.run(args);
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(says), "{args:?}: {}", said.stderr);
    }
    assert!(lab.files().is_empty(), "{:?}", lab.files());
}

/// The texts of a report's advice.
fn advice(text: &str) -> Vec<String> {
    let report = json(text);
    let all = report["advice"].as_array().unwrap().iter();
    all.map(|one| format!("{} {}", one["text"].as_str().unwrap(), one["paste"])).collect()
}

#[test]
fn what_was_asked_first_is_said_by_every_report_after_it() {
    let lab = Lab::new();
    let model =
        ["--engine", "simulated", "--seed", "3", "--blocks", "8", "--allow-busy", "--no-probe", "--json"];
    let first =
        lab.ok(
            &[&["pool", "--all"][..], &model, &["--slo", "p99=1s", "-o", "p", "--html", "p.html"]].concat()
        );
    let first = advice(&first.stdout);
    assert!(first[0].contains("p99 within 1"), "{first:?}");
    assert_eq!(advice(&lab.ok(&["report", "p", "--json", "--html", "again.html"]).stdout), first);
    let box_of = |page: &str| {
        let page = std::fs::read_to_string(lab.path().join(page)).unwrap();
        let (from, to) = (page.find("id=\"answer\"").unwrap(), page.find("id=\"verdict\"").unwrap());
        page[from..to].to_owned()
    };
    assert_eq!(box_of("p.html"), box_of("again.html"));
    // A study that is complete, or that goes on, says it too.
    assert_eq!(advice(&lab.ok(&["run", "--resume", "p", "--json"]).stdout), first);
    // What is given now comes first; a command that only reads does not store it.
    let other = advice(&lab.ok(&["report", "p", "--slo", "p99=1ns", "--json"]).stdout);
    assert!(other[0].contains("no number of sessions is shown to keep p99 within 1"), "{other:?}");
    assert_eq!(advice(&lab.ok(&["report", "p", "--json"]).stdout), first);
    let prices = ["--price-hour", "3.6", "--licence-hour", "0.5", "--licence-per", "core"];
    lab.ok(&[&["run", "--all", "session-sweep"][..], &model, &["--no-html", "-o", "s"], &prices].concat());
    let report = |options: &[&str]| lab.ok(&[&["report", "--all", "s"][..], options].concat()).stdout;
    let words = report(&[]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("a licence for every physical core"), "{words}");
    assert_eq!(report(&[]), report(&prices));
    // One price alone is another with the rest as it was.
    let all = ["--price-hour", "7", "--licence-hour", "0.5", "--licence-per", "core"];
    assert_eq!(report(&["--price-hour", "7"]), report(&all));
    assert_ne!(report(&all), report(&[]));
}

#[test]
fn prices_are_put_beside_what_was_measured() {
    let lab = Lab::new();
    let run =
        ["run", "session-sweep", "--engine", "simulated", "--seed", "7", "--blocks", "8", "--allow-busy"];
    lab.ok(&[&run[..], &["--no-html", "--no-probe", "-o", "s.threadwise"]].concat());
    let said = lab.ok(&[
        "report",
        "--all",
        "s.threadwise",
        "--price-hour",
        "3.6",
        "--licence-hour",
        "0.5",
        "--licence-per",
        "core",
    ]);
    let words = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("a licence for every physical core") && words.contains("check your contract"),
        "{words}"
    );
    for (args, says) in [
        (&["--price-hour=-1"][..], "not a price"),
        (&["--price-hour", "nan"], "not a price"),
        (&["--licence-hour", "1"], "--licence-per"),
        (&["--price-hour", "0"], "there is no price"),
    ] {
        let said = lab.run(&[&["report", "--all", "s.threadwise"][..], args].concat());
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(says), "{args:?}: {}", said.stderr);
    }
}
