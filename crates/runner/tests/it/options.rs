//! Options that only the engine can judge, asked before any data is made.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::common;

use crate::common::study;
use std::path::Path;
use threadwise_runner::{RunnerError, Worker, check_options};
use threadwise_study::OptionValue;

/// Writes down whom it is asked about; refuses the option `bad`, and ends without a word for `worse`.
const PICKY: &str = r#"
import json, os, sys
replies = open(int(os.environ["THREADWISE_REPLY_FD"]), "w")
def say(**message):
    print(json.dumps(message), file=replies, flush=True)
say(type="hello", protocol=1, engine="picky", version="1")
for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "stop":
        break
    with open(sys.argv[1], "a") as spy:
        print(request["load"]["treatment"], os.path.basename(request["load"]["data_dir"]), file=spy)
    if "bad" in request["load"]["options"]:
        say(type="failed", kind="option", message="bad = 1 cannot be; leave it out")
        sys.exit(1)
    if "worse" in request["load"]["options"]:
        sys.exit(3)
    say(type="loaded", bytes_per_session=0, rows_per_session=0, notes=[])
say(type="done")
"#;

fn picky(spy: &Path) -> Worker {
    let args = ["-c", PICKY, spy.to_str().unwrap()].map(str::to_owned).to_vec();
    Worker { program: "python3".into(), args, environment: Vec::new(), withheld: Vec::new() }
}

#[test]
fn every_set_of_options_is_asked_about_once_and_the_first_fault_is_reported() {
    if !common::has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let spy = folder.path().join("spy");
    let mut study = study(&["other", "same as other", "last"], 1);
    let mut set = |at: usize, name: &str| {
        study.treatments[at].options.insert(name.to_owned(), OptionValue::Integer(1));
        study.clone()
    };
    set(2, "good");
    let whole = set(3, "good");
    check_options(&whole, &|_| picky(&spy)).unwrap();
    let asked = std::fs::read_to_string(&spy).unwrap();
    let names: Vec<&str> = asked.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(names, ["alone", "other"], "the twins, the same and the last have nothing of their own");

    let error = check_options(&set(4, "bad"), &|_| picky(&spy)).unwrap_err();
    assert_eq!(error.to_string(), "treatment 'last': bad = 1 cannot be; leave it out");
    assert!(matches!(error, RunnerError::Option { .. }));
    let error = check_options(&set(2, "worse"), &|_| picky(&spy)).unwrap_err();
    assert!(
        matches!(error, RunnerError::Worker { .. }) && error.to_string().contains("exit code 3"),
        "{error}"
    );
}

#[test]
fn a_lost_engine_is_reported_with_the_next_step() {
    let error = RunnerError::Lost { why: "the connection broke (engine)".to_owned() }.to_string();
    assert!(
        error.contains("the connection broke") && error.ends_with("threadwise run --resume FILE"),
        "{error}"
    );
}
