//! Studies of commands: the preset on several machines, what a file may say, and who floats where.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::{names, server, small_guest, treatment};
use threadwise_machine::{Pin, Topology};
use threadwise_study::load::{LoadError, Overrides, StudyFile, from_toml, option_value, to_toml};
use threadwise_study::{OptionValue, Study, command};

fn set(pairs: &[(&str, &str)]) -> Overrides {
    let options = pairs.iter().map(|(key, value)| ((*key).to_owned(), option_value(value)));
    Overrides { options: options.collect(), ..Overrides::default() }
}

fn preset(topology: &Topology, overrides: &Overrides) -> Result<Study, LoadError> {
    StudyFile::preset("command").unwrap().resolve(topology, overrides)
}

fn file(lines: &str) -> Result<StudyFile, LoadError> {
    let head = "version = 1\nname = \"mine\"\nengine = \"command\"\nworkload = \"command\"\n";
    StudyFile::parse(&format!("{head}{lines}"), "mine.toml")
}

fn refused(lines: &str) -> String {
    file(lines).unwrap_err().to_string()
}

#[test]
fn the_preset_compares_what_the_machine_has() {
    let study = preset(&server(), &set(&[("command", "true")])).unwrap();
    assert_eq!(
        names(&study),
        ["alone", "alone'", "same-core", "same-package", "half-cores", "no-smt", "all"]
    );
    assert_eq!(treatment(&study, "all").sessions, 32);
    assert_eq!(treatment(&study, "half-cores").sessions, 16);
    let named: Vec<&str> = study.comparisons.iter().map(|one| one.name.as_str()).collect();
    for name in ["both-threads", "second-thread-or-core", "twice-the-cores"] {
        assert!(named.contains(&name), "{named:?}");
    }
    let small = preset(&small_guest(), &set(&[("command", "true")])).unwrap();
    assert_eq!(names(&small), ["alone", "alone'", "same-package"]);
    assert_eq!(small.left_out.len(), 3, "{:?}", small.left_out);
}

#[test]
fn a_run_is_whole_and_survives_its_text() {
    let study = preset(&server(), &set(&[("command", "sh -c 'a | b'"), ("timeout_s", "9")])).unwrap();
    assert!(study.is_fixed_work() && study.block_floor_s() == 0.0);
    let lead_ns = (command::LEAD_MS * 1e6) as u64;
    assert_eq!((study.design.rounds, study.design.rewarm_ns), (1, Some(lead_ns)));
    assert_eq!(study.design.slice_ns, command::MAX_TIMEOUT_S * 1_000_000_000);
    assert_eq!(from_toml(&to_toml(&study)).unwrap(), study);
}

#[test]
fn one_process_floats_in_its_placement_and_sessions_do_not() {
    let pins = |study: &Study| study.treatments.iter().map(|one| one.pin).collect::<Vec<_>>();
    let whole = preset(&server(), &set(&[("command", "true")])).unwrap();
    assert!(pins(&whole).iter().all(|pin| *pin == Pin::Set));
    let placements = Some(vec!["4c1t".to_owned()]);
    let asked = Overrides { placements, ..set(&[("command", "true"), ("each", "session")]) };
    let each = preset(&server(), &asked).unwrap();
    assert!(pins(&each).iter().all(|pin| *pin == Pin::Each));
    assert_eq!(treatment(&each, "4c1t").sessions, 4);
    let mixed =
        file("options.command = 'true'\n[[treatment]]\nplacement = '2c1t'\nset = { each = 'session' }\n");
    let mixed = mixed.unwrap().resolve(&server(), &Overrides::default()).unwrap();
    assert_eq!(pins(&mixed), [Pin::Set, Pin::Set, Pin::Each]);
}

#[test]
fn metrics_of_a_file_are_options_with_and_without_quotes() {
    let lines = "[options]\ncommand = 'true'\nmetric.tps = 'tx/s higher regex:a'\n\"metric.ms\" = 'ms lower json:/a'\n\
                 [[treatment]]\nplacement = '2c1t'\nset = { metric.own = '1 none json:/b' }\n";
    let study = file(lines).unwrap().resolve(&server(), &Overrides::default()).unwrap();
    let names = |name: &str| {
        let metrics = command::metrics(&treatment(&study, name).options);
        metrics.into_iter().map(|metric| metric.name).collect::<Vec<_>>()
    };
    assert_eq!(
        (names("alone"), names("2c1t")),
        (vec!["ms".into(), "tps".into()], vec!["ms".into(), "own".into(), "tps".into()])
    );
    assert_eq!(
        treatment(&study, "alone").options["metric.tps"],
        OptionValue::Text("tx/s higher regex:a".into())
    );
}

#[test]
fn what_cannot_be_is_reported_with_its_place() {
    let tail = "[[treatment]]\nplacement = '2c1t'\n";
    let with = |line: &str| refused(&format!("[options]\n{line}\n{tail}"));
    assert!(with("comand = 'x'").starts_with("mine.toml:6:"), "{}", with("comand = 'x'"));
    assert!(with("metric.tps = 'tx/s up regex:a'").contains("mine.toml:6:"));
    assert!(with("metric.tps = 5").contains("is not UNIT"), "{}", with("metric.tps = 5"));
    assert!(with("command = 'a | b'").contains("sh -c"));
    assert!(with("block = 5").contains("unknown to command"));
    assert!(with("timeout_s = 4000").contains("from 1 to 3600"));
    let design = |line: &str| {
        let file = file(&format!("[options]\ncommand = 'x'\n[design]\n{line}\n{tail}")).unwrap();
        file.resolve(&server(), &Overrides::default()).unwrap_err().to_string()
    };
    assert!(design("rounds = 2").contains("once in every block"));
    assert!(design("slice_ms = 50").contains("timeout_s"));
    let error = preset(&server(), &Overrides { rounds: Some(5), ..set(&[]) }).unwrap_err().to_string();
    assert!(error.contains("--rounds"), "{error}");
    assert!(preset(&server(), &Overrides { rounds: Some(1), ..set(&[]) }).is_ok());
}
