//! What `run` says and ends with when its study is not valid as a whole (docs/EXIT-CODES.md).

use crate::harness::{Lab, Said};

/// Blocks of one round, at once; the named option breaks runs of the model.
fn study(lab: &Lab, blocks: u32, broken: &str) -> Said {
    let text = format!(
        "version = 1\nname = \"short\"\nengine = \"simulated\"\nworkload = \"logical-io\"\n\n[engine_options]\n\
         {broken}\n\n[design]\nblocks = {blocks}\nrounds = 2\nslice_ms = 1\n\n[baseline]\nplacement = \"1c1t\"\n\n\
         [[treatment]]\nname = \"two\"\nplacement = \"one-cpu\"\nsessions = 2\n\n[[treatment]]\nname = \"three\"\n\
         placement = \"one-cpu\"\nsessions = 3\n"
    );
    std::fs::write(lab.path().join("short.toml"), text).unwrap();
    lab.run(&["run", "--all", "short.toml", "--allow-busy", "--seed", "3", "--no-html", "-o", "s.threadwise"])
}

/// The first numbered line of a verdict.
fn first(said: &str) -> &str {
    said.lines().find_map(|line| line.strip_prefix("1. ")).unwrap_or_else(|| panic!("no verdict in {said}"))
}

#[test]
fn a_treatment_without_data_is_the_first_line_and_exit_code_1() {
    let lab = Lab::new();
    let said = study(&lab, 8, "\"crash.three\" = 1");
    assert_eq!(said.code, Some(1), "{}\n{}", said.stdout, said.stderr);
    assert!(
        first(&said.stdout)
            .starts_with("Validity: of 32 runs 8 failed, more than a tenth; no data for three")
    );
    let error = said.stderr.lines().last().unwrap();
    assert!(
        error.starts_with("threadwise: the study is not valid as a whole: of 32 runs 8 failed"),
        "{error}"
    );
    // Reading it again is no failure, and says the same.
    let again = lab.ok(&["report", "--all", "s.threadwise"]);
    assert_eq!(first(&again.stdout), first(&said.stdout));
    // There is nothing left to do, and it is as invalid as before.
    let resumed = lab.run(&["run", "--resume", "s.threadwise", "--allow-busy", "--no-html"]);
    assert_eq!(resumed.code, Some(1), "{}", resumed.stderr);
}

#[test]
fn a_valid_study_begins_with_its_answer_and_ends_with_0() {
    let lab = Lab::new();
    let said = study(&lab, 8, "\"ratio.two\" = 1.0");
    assert_eq!(said.code, Some(0), "{}\n{}", said.stdout, said.stderr);
    assert!(first(&said.stdout).starts_with("SIMULATED"), "{}", said.stdout);
    let second = said.stdout.lines().find_map(|line| line.strip_prefix("2. ")).unwrap();
    assert!(second.starts_with("Against one session alone: "), "{}", said.stdout);
}

#[test]
fn exit_codes_are_documented_in_the_help() {
    let help = Lab::new().ok(&["--help"]).stdout;
    for words in
        ["Exit codes", "0    done", "1    failed", "2    bad input", "3    refused", "130  interrupted"]
    {
        assert!(help.contains(words), "{words} is not in {help}");
    }
}
