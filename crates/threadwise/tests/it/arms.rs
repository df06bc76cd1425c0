//! Studies with arms as their user meets them. Nothing here switches anything: a model stands in for the machine, and
//! on a real one no confirmation is given. What switching does is tried on emulated machines (`cargo xtask machines`).

use crate::harness::Lab;
use crate::harness::estimates_of;
use serde_json::Value;

#[test]
fn a_model_has_all_arms_and_nothing_is_switched() {
    let lab = Lab::new();
    let before = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let said = lab.simulated("s.threadwise", &["smt-off", "--turbo", "on,off", "--no-html"]);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    for words in [
        "Results are from a model: nothing was switched.",
        "smt=system, turbo=off",
        "SMT disabled against siblings left idle by a mask: ",
        "Clocks, each arm against the first one: ",
    ] {
        assert!(said.stdout.replace("\n    ", " ").contains(words), "{words}\n{}", said.stdout);
    }
    let report = lab.ok(&["report", "s.threadwise", "--json"]).stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    let kinds = |kind: &str| {
        let estimates = estimates_of(&report, "comparisons");
        estimates.iter().filter(|one| one["place"]["kind"] == kind && one["metric"] == "rows_per_s").count()
    };
    assert!(kinds("smt-way") >= 4 && kinds("turbo") >= 4, "{} {}", kinds("smt-way"), kinds("turbo"));
    let treatments = report["treatments"].as_array().unwrap();
    assert!(treatments.iter().all(|one| one["factors"]["smt"].is_string()), "{treatments:?}");
    assert_eq!(std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap(), before);
    assert_eq!(lab.leftovers(), Vec::<String>::new());
}

#[test]
fn without_a_confirmation_nothing_is_touched() {
    let lab = Lab::new();
    let said = lab.run(&["run", "smt-off", "--smt", "mask,offline", "--blocks", "1", "--allow-busy"]);
    assert_eq!(said.code, Some(3), "{}{}", said.stdout, said.stderr);
    let why = said.stderr.trim_end();
    assert!(why.ends_with("give --yes") || why.contains("smt=offline is not possible here: "), "{why}");
    assert_eq!((lab.files(), lab.leftovers()), (Vec::<String>::new(), Vec::new()));
}

#[test]
fn a_plan_says_what_would_be_switched_and_switches_nothing() {
    let lab = Lab::new();
    let said = lab.run(&["run", "placement", "--turbo", "on,off", "--plan"]);
    let words = "between: turbo=on; turbo=off. At the end everything is restored";
    // Where this machine cannot be switched, that is the first line and the only one.
    match said.code {
        Some(0) => assert!(said.stdout.contains(words), "{}", said.stdout),
        code => {
            assert_eq!((code, said.stdout.as_str()), (Some(3), ""), "{}", said.stderr);
            let why = said.stderr.trim_end();
            assert!(why.contains(" is not possible here: ") && why.lines().count() == 1, "{why}");
        }
    }
    assert_eq!((lab.files(), lab.leftovers()), (Vec::<String>::new(), Vec::new()));
}

#[test]
fn levels_that_are_none_are_bad_input() {
    let lab = Lab::new();
    for (option, level, words) in [
        ("--smt", "forceoff", "mask, offline and system are allowed"),
        ("--turbo", "yes", "on and off are allowed"),
        ("--governor", "../x", "a name such as performance"),
    ] {
        let said = lab.run(&["run", option, level, "--plan"]);
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains(words) && said.stderr.lines().count() == 1, "{}", said.stderr);
    }
}
