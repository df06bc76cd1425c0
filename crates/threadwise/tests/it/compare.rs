//! `compare`: studies side by side, before and after, and what is refused.

use crate::harness::{Lab, Said};
use serde_json::Value;

/// A study of four blocks of the model engine under a name and a seed, three treatments.
fn study(lab: &Lab, name: &str, seed: u32, more: &[&str]) {
    let seed = seed.to_string();
    let mut args = vec![
        "run",
        "--engine",
        "simulated",
        "--seed",
        &seed,
        "--allow-busy",
        "--no-probe",
        "--no-html",
        "--blocks=4",
    ];
    args.extend(["--placement", "2c1t", "--set", "data=l2", "--output", name]);
    args.extend(more);
    let said = lab.run(&args);
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
}

/// Three studies a side; those of after with engine options. Steady, so that few blocks do.
fn six(lab: &Lab, after: &[&str]) {
    let steady = ["--engine-option", "drift_sd=0", "--engine-option", "noise_sd=0.01"];
    for number in 0..3 {
        study(lab, &format!("a{number}"), 2 * number, &steady);
        study(lab, &format!("b{number}"), 2 * number + 1, &[&steady, after].concat());
    }
}

const SIDES: [&str; 10] = ["compare", "--all", "--before", "a0", "a1", "a2", "--after", "b0", "b1", "b2"];

fn sides(lab: &Lab, more: &[&str]) -> Said {
    lab.run(&[&SIDES[..], more].concat())
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The one line of an error with exit code 2 and nothing on standard output.
fn refused(lab: &Lab, args: &[&str]) -> String {
    let said = lab.run(args);
    assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{args:?}: {}", said.stderr);
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
    said.stderr
}

#[test]
fn a_regression_of_three_studies_a_side_ends_with_4() {
    let lab = Lab::new();
    six(&lab, &["--engine-option", "base_rows_per_s=500000"]);
    let said = sides(&lab, &["--fail-on-regression", "--html", "c.html"]);
    assert_eq!(said.code, Some(4), "{}{}", said.stdout, said.stderr);
    assert!(said.stderr.starts_with("threadwise: regression of rows/s in "), "{}", said.stderr);
    assert!(
        said.stdout.contains("It got worse: ") && said.stdout.contains("≠ engine option base_rows_per_s"),
        "{}",
        said.stdout
    );
    assert!(std::fs::read_to_string(lab.path().join("c.html")).unwrap().contains("It got worse: "));
    // Without being asked for it is no failure, and the other way round it is none at all.
    let said = sides(&lab, &["--json"]);
    let value = json(&said.stdout);
    assert_eq!((said.code, &value["change"]["can_tell"]), (Some(0), &Value::Bool(true)));
    assert_eq!(value["change"]["treatments"][0]["said"], "worse");
    assert!(!value["change"]["regressions"].as_array().unwrap().is_empty());
    assert_eq!(value["studies"][3]["side"], "after");
    let turned = [
        "compare",
        "--all",
        "--before",
        "b0",
        "b1",
        "b2",
        "--after",
        "a0",
        "a1",
        "a2",
        "--fail-on-regression",
    ];
    let said = lab.ok(&turned);
    assert!(said.stdout.contains("It changed: ") && said.stdout.contains("better"), "{}", said.stdout);
    // With fewer the figures are shown, and no claim is made.
    let two = ["compare", "--all", "--before", "a0", "a1", "--after", "b0", "b1"];
    let shown = lab.ok(&two).stdout;
    assert!(
        shown
            .contains("These studies cannot tell whether it changed: there are 2 studies before and 2 after"),
        "{shown}"
    );
    let line = refused(&lab, &[&two[..], &["--fail-on-regression", "--html", "d.html"]].concat());
    assert!(
        line.contains("--fail-on-regression cannot tell: there are 2 studies before")
            && !lab.files().contains(&"d.html".to_owned())
    );
    forms_of_services_say_the_same(&lab);
    // CPU time of a row has another direction.
    let said = sides(&lab, &["--metric", "cpu_ns_per_row", "--json"]);
    assert_eq!(json(&said.stdout)["change"]["quantity"]["direction"], "lower-is-better");
}

fn forms_of_services_say_the_same(lab: &Lab) {
    let shown = |form: &str| sides_in(lab, form, &[]).stdout;
    let github = shown("github");
    assert_eq!(github.matches("::error title=threadwise%3A regression::").count(), 2, "{github}");
    assert!(
        github.contains(
            "::notice title=threadwise::SIMULATED: It got worse: 2 of 2 treatments by 3%25 or more"
        ),
        "{github}"
    );
    let junit = shown("junit");
    for part in
        ["tests=\"2\" failures=\"2\"", "<failure type=\"regression\" message=\"regression: 2c1t: 0.50x ["]
    {
        assert!(junit.contains(part), "{part}\n{junit}");
    }
    let value = json(&shown("bencher"));
    let alone = &value["alone"];
    let measure = |name: &str, end: &str| alone[name][end].as_f64().unwrap();
    assert!((measure("ratio_to_before", "value") - 0.5).abs() < 0.02, "{value}");
    for name in ["ratio_to_before", "rows_per_s"] {
        let ends = ["lower_value", "value", "upper_value"].map(|end| measure(name, end));
        assert!(ends[0] < ends[1] && ends[1] < ends[2], "{value}");
    }
    assert_eq!(value.as_object().unwrap().len(), 2, "{value}");
    let comment = shown("markdown");
    assert!(comment.starts_with("<!-- threadwise-compare -->\n### SIMULATED: "), "{comment}");
    assert!(comment.contains("| 2c1t | 0.50x [") && comment.contains("] | regression |\n"), "{comment}");
    // An exit code does not depend on the form.
    let said = sides_in(lab, "junit", &["--fail-on-regression"]);
    assert_eq!((said.code, said.stdout), (Some(4), junit));
    let markdown = lab.ok(&["compare", "a0", "b0", "--format", "markdown"]).stdout;
    assert!(markdown.starts_with("### SIMULATED: ") && markdown.contains("**Trust: LOW.**"), "{markdown}");
    let line = refused(lab, &["compare", "a0", "b0", "--format", "junit"]);
    assert!(line.contains("are of studies before and after"), "{line}");
}

#[test]
fn names_of_treatments_stay_text_in_every_form() {
    let lab = Lab::new();
    let text = r#"
        version = 1
        name = "names"
        engine = "simulated"
        workload = "logical-io"
        design = { blocks = 4 }
        [[treatment]]
        name = "a]]>&\"<\\| `b` <!-- [x](u) *y* %0A::error::x"
        placement = "2c1t"
    "#;
    std::fs::write(lab.path().join("names.toml"), text).unwrap();
    let options = ["--allow-busy", "--no-probe", "--no-html", "--output"];
    for file in ["a0", "b0"] {
        lab.ok(&[&["run", "names.toml"][..], &options, &[file]].concat());
    }
    lab.ok(&[&["run", "names.toml", "--placement=one-cpu", "--blocks=1"][..], &options, &["c0"]].concat());
    let beside = |after: &str, form: &str| {
        lab.ok(&["compare", "--before", "a0", "--after", after, "--format", form]).stdout
    };
    let shown = |form: &str| beside("b0", form);
    let comment = shown("markdown");
    let row = r#"| a]]>\&"\<\\\| \`b\` \<!-- [x]\(u) \*y\* %0A::error::x | "#;
    assert!(comment.contains(row), "{comment}");
    let github = shown("github");
    assert!(github.lines().all(|line| line.starts_with("::warning ") || line.starts_with("::notice ")));
    assert!(github.contains("%250A::error::x: ") && github.contains("::SIMULATED: These"), "{github}");
    // What is not compared is shown, and ends that are not known are left out.
    let [comment, warnings, cases, bencher] =
        ["markdown", "github", "junit", "bencher"].map(|form| beside("c0", form));
    assert!(comment.contains("| one-cpu | not in all studies | not compared |"), "{comment}");
    assert!(warnings.contains("::warning title=threadwise%3A not compared::one-cpu: not in"), "{warnings}");
    assert!(cases.contains(r#"<skipped message="not compared: not in all studies"/>"#), "{cases}");
    assert!(cases.contains("tests=\"3\"") && cases.contains("skipped=\"3\""), "{cases}");
    assert!(!cases.contains("\"inf\"") && !bencher.contains("0.0"), "{cases}{bencher}");
    let junit = shown("junit");
    assert!(
        junit.contains(r#"name="a]]&gt;&amp;&quot;&lt;\| `b` &lt;!-- [x](u) *y* %0A::error::x""#),
        "{junit}"
    );
    assert!(junit.contains(r#"name="threadwise compare: SIMULATED: rows&#x2f;s""#), "{junit}");
}

fn sides_in(lab: &Lab, form: &str, more: &[&str]) -> Said {
    let sides: Vec<&str> = SIDES.into_iter().filter(|word| *word != "--all").collect();
    lab.run(&[&sides[..], &["--format", form], more].concat())
}

#[test]
fn what_is_neither_shown_nor_excluded_ends_with_5() {
    let lab = Lab::new();
    // Blocks that differ by more than what changed, so that three studies a side do not show a rate of 0.8.
    let wild = ["--engine-option", "block_sd=0.2", "--engine-option"];
    for number in 0..3 {
        study(&lab, &format!("a{number}"), 2 * number, &[&wild[..], &["base_rows_per_s=1000000"]].concat());
        study(
            &lab,
            &format!("b{number}"),
            2 * number + 1,
            &[&wild[..], &["base_rows_per_s=800000"]].concat(),
        );
    }
    let said = sides(&lab, &["--fail-on-regression", "--html", "c.html"]);
    assert_eq!(said.code, Some(5), "{}{}", said.stdout, said.stderr);
    assert!(lab.files().contains(&"c.html".to_owned()));
    for part in [
        "threadwise: undecided: whether rows/s of ",
        "the smallest change of ",
        " more studies per side show one of 3%",
    ] {
        assert!(said.stderr.contains(part), "{part}: {}", said.stderr);
    }
    assert!(said.stdout.contains("The smallest change of "), "{}", said.stdout);
    let value = json(&sides(&lab, &["--json"]).stdout);
    assert!(!value["change"]["undecided"].as_array().unwrap().is_empty(), "{value}");
    assert!(value["change"]["treatments"][0]["smallest_shown"].as_f64() > Some(1.03), "{value}");
    // What an exit code of 5 fails is a failure in JUnit XML, too.
    let elements = |more: &[&str]| {
        let xml = sides_in(&lab, "junit", more).stdout;
        ["<failure type=\"undecided\"", "<skipped "].map(|element| xml.contains(element))
    };
    assert_eq!(elements(&["--fail-on-regression"]), [true, false]);
    assert_eq!(elements(&["--fail-on-regression", "--undecided", "pass"]), [false, true]);
    assert_eq!(elements(&[]), [false, true]);
    assert!(sides_in(&lab, "github", &[]).stdout.contains("::warning title=threadwise%3A undecided::"));
    for (more, code) in [
        (&["--fail-on-regression", "--undecided=pass"][..], 0),
        (&["--fail-on-regression", "--undecided", "fail"], 5),
        (&[], 0),
    ] {
        assert_eq!(sides(&lab, more).code, Some(code), "{more:?}");
    }
    assert!(refused(&lab, &[&SIDES[..], &["--undecided", "pass"]].concat()).contains("--fail-on-regression"));
}

#[test]
fn what_was_measured_before_and_cannot_be_compared_ends_with_5() {
    let lab = Lab::new();
    six(&lab, &[]);
    let steady = ["--engine-option", "drift_sd=0", "--engine-option", "noise_sd=0.01"];
    for number in 0..3 {
        study(&lab, &format!("c{number}"), 7 + number, &[&steady[..], &["--placement", "one-cpu"]].concat());
    }
    let [a, b, c] = ["a", "b", "c"].map(|side| ["0", "1", "2"].map(|number| format!("{side}{number}")));
    let compared = |before: &[String; 3], after: &[String; 3], more: &[&str]| {
        let mut args = vec!["compare", "--fail-on-regression", "--before"];
        args.extend(before.iter().map(String::as_str));
        args.push("--after");
        args.extend(after.iter().map(String::as_str).chain(more.iter().copied()));
        lab.run(&args)
    };
    let lost = compared(&c, &b, &[]);
    assert_eq!(lost.code, Some(5), "{}{}", lost.stdout, lost.stderr);
    assert_eq!(
        lost.stderr.trim_end(),
        "threadwise: undecided: whether rows/s of 1 treatment got worse by 3% or more is not shown: one-cpu was \
         measured before, and is not compared: not in all studies (--undecided pass accepts it)"
    );
    let cases = compared(&c, &b, &["--format", "junit"]).stdout;
    assert!(
        cases.contains(r#"<failure type="not compared" message="not compared: not in all studies"/>"#),
        "{cases}"
    );
    assert!(cases.contains("failures=\"1\"") && cases.contains("skipped=\"0\""), "{cases}");
    // What is new is no regression.
    for (before, after, more) in [(&c, &b, &["--undecided", "pass"][..]), (&a, &c, &[])] {
        let said = compared(before, after, more);
        assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    }
}

#[test]
fn no_change_ends_with_0_also_in_pairs() {
    let lab = Lab::new();
    six(&lab, &[]);
    for more in [&["--fail-on-regression"][..], &["--fail-on-regression", "--pairs"]] {
        let said = sides(&lab, more);
        assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
        assert!(!said.stdout.contains("It got worse"), "{}", said.stdout);
    }
    // Two studies alone: a ratio without a claim.
    let shown = lab.ok(&["compare", "--all", "a0", "b0"]).stdout;
    assert!(
        shown.contains("One study per side cannot show whether anything changed")
            && shown.contains("unpaired"),
        "{shown}"
    );
    let value = json(&lab.ok(&["compare", "a0", "b0", "--json"]).stdout);
    let row = &value["rates"]["rows"][0];
    assert!(row["ratios_to_first"][0]["low"].as_f64() < row["ratios_to_first"][0]["high"].as_f64(), "{row}");
    assert!(
        value["aspects"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["name"] == "begun" && one["part"] == "program")
    );
}

#[test]
fn what_cannot_be_compared_is_refused_in_one_line() {
    let lab = Lab::new();
    six(&lab, &[]);
    std::fs::copy(lab.path().join("a0"), lab.path().join("copy")).unwrap();
    study(&lab, "other", 9, &["--placement", "1c1t"]);
    for (args, part) in [
        (&["compare", "--all", "a0"][..], "needs two result files or more"),
        (&["compare"], "needs two result files or more"),
        (&["compare", "--all", "a0", "b0", "--fail-on-regression"], "needs at least three studies per side"),
        (&["compare", "--all", "--before", "a0", "a1", "--after", "b0", "a0"], "a0 is given twice"),
        (
            &["compare", "--all", "--before", "a0", "a1", "--after", "b0", "copy"],
            "a0 and copy are the same study",
        ),
        (
            &["compare", "--all", "--before", "a0", "--after", "b0", "b1", "--pairs"],
            "as many studies after as before",
        ),
        (&["compare", "--all", "--before", "a0"], "--after"),
        // What belongs to --before is never passed over.
        (&["compare", "--all", "a0", "b0", "--metric", "speed"], "--metric"),
        (&["compare", "--all", "a0", "b0", "--pairs"], "--pairs"),
        (&["compare", "a0", "b0", "--format", "markdown", "--json"], "--json"),
        (
            &["compare", "--all", "--before", "a0", "--after", "b0", "--metric", "speed"],
            "is not compared by speed; it has: rows_per_s",
        ),
        (&["compare", "--all", "--before", "a0", "--after", "gone"], "gone"),
    ] {
        let line = refused(&lab, args);
        assert!(line.contains(part), "{args:?}: {line}");
    }
}

#[test]
fn a_metric_of_which_neither_side_is_better_passes_no_test() {
    let lab = Lab::new();
    for name in ["a0", "a1", "a2", "b0", "b1", "b2"] {
        let metric = "threads=1 none regex:threads ([0-9]+)";
        let quick =
            ["--placement=all", "--allow-busy", "--no-probe", "--no-html", "--blocks=2", "--metric", metric];
        let command = ["-o", name, "--", "echo", "threads 8"];
        lab.ok(&[&["run", "command"][..], &quick, &command].concat());
    }
    let xml = sides_in(&lab, "junit", &["--metric", "metric/threads"]).stdout;
    assert!(
        xml.contains("failures=\"0\"") && xml.matches("<skipped message=\"undecided").count() == 2,
        "{xml}"
    );
}
