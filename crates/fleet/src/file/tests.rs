//! fleet.toml: what is read, and what is refused with its place.

use super::*;

fn parsed(text: &str, name: &str) -> Result<FleetFile, FleetError> {
    FleetFile::parse(text, name, &["slurm"])
}

const GOOD: &str = "version = 1\n\
    study = \"placement\"\n\
    engine = \"slurm\"\n\
    repeats = 3\n\
    apart = \"1h\"\n\
    boots = \"require\"\n\
    budget = \"5m\"\n\
    seed = 42\n\
    [engine_options]\n\
    licenses = \"host:1\"\n\
    [run]\n\
    no_probe = true\n\
    [[kind]]\n\
    name = \"c7i\"\n\
    nodes = [\"n1\", \"n2\"]\n\
    price = { amount = 0.357, currency = \"USD\", date = \"2026-01-15\", source = \"list price, on demand\" }\n\
    [[kind]]\n\
    name = \"pool\"\n\
    machines = 5\n\
    selector = { constraint = \"c8i\" }\n";

#[test]
fn a_file_is_read_with_its_defaults() {
    let file = parsed(GOOD, "fleet.toml").unwrap();
    assert_eq!((file.repeats, file.apart_s, file.boots), (3, 3600, Boots::Require));
    assert_eq!((file.budget_s, file.time_limit_s), (Some(300.0), 750));
    assert_eq!((file.measures, file.seed, file.run.no_probe), (Measures::Machine, Some(42), true));
    assert_eq!(file.kinds[0].machines, Machines::Named(vec!["n1".into(), "n2".into()]));
    assert_eq!(file.kinds[1].machines, Machines::Pool(5));
    assert_eq!(file.kinds[0].price.as_ref().unwrap().amount, 0.357);
    assert_eq!(file.engine_options["licenses"], "host:1");
}

#[test]
fn whatever_is_wrong_is_named_with_line_and_column() {
    for (from, to, place, why) in [
        ("version = 1", "version = 2", "1:11", "version is 2"),
        ("version = 1\n", "", "1:1", "'version' is missing"),
        ("repeats = 3", "repeats = 0", "4:11", "1 to 100"),
        ("repeats = 3", "repeat = 3", "4:1", "unknown field `repeat`"),
        ("engine = \"slurm\"", "engine = \"lsf\"", "3:10", "'lsf' is not an engine"),
        ("apart = \"1h\"", "apart = \"soon\"", "5:9", "'soon' is not a time"),
        ("boots = \"require\"", "boots = \"maybe\"", "6:9", "unknown variant"),
        ("budget = \"5m\"\n", "", "1:1", "give budget"),
        ("budget = \"5m\"", "budget = \"5m\"\ntime_limit = \"5m\"", "8:14", "a minute longer"),
        ("seed = 42", "seed = 9007199254740992", "8:8", "below 2^53"),
        ("[\"n1\", \"n2\"]", "[\"n1\", \"n1\"]", "13:1", "'n1' appears twice"),
        ("[\"n1\", \"n2\"]", "[\"n1\", \"$(reboot)\"]", "15:16", "is not a name"),
        ("[\"n1\", \"n2\"]", "[\"n1\", \"n[1-3]\"]", "15:16", "is not a name"),
        ("[\"n1\", \"n2\"]", "[\"n1\", \"../../etc\"]", "15:16", "is not a name"),
        ("[\"n1\", \"n2\"]", "[]", "13:1", "needs either nodes"),
        ("nodes = [\"n1\", \"n2\"]", "machines = 0", "13:1", "needs either nodes"),
        ("machines = 5", "machines = 5\nnodes = [\"x\"]", "17:1", "needs either nodes"),
        ("name = \"pool\"", "name = \"c7i\"", "18:8", "two kinds 'c7i'"),
        ("name = \"pool\"", "name = \"a b\"", "18:8", "is not a name"),
        ("amount = 0.357", "amount = 0", "16:20", "above 0"),
        ("date = \"2026-01-15\"", "date = \" \"", "16:52", "must not be empty"),
        ("source = \"list price, on demand\"", "source = \"a\\nb\"", "16:75", "line breaks"),
        ("licenses = \"host:1\"", "licenses = \"a\\u001b[2J\"", "10:12", "control"),
        ("no_probe = true", "data_dir = \"tmp\"", "12:12", "absolute path"),
        (
            "machines = 5",
            "machines = 5\nmachine_study_engine_options = { n1 = { a = 1 } }",
            "20:34",
            "no machine 'n1'",
        ),
        ("machines = 5", "machines = 5\nstudy_engine_options = { a = [1] }", "20:30", "a text, a number"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let error = parsed(&GOOD.replace(from, to), "fleet.toml").unwrap_err().to_string();
        assert!(error.starts_with(&format!("fleet.toml:{place}: ")) && error.contains(why), "{to}: {error}");
        assert!(!error.contains('\n') && !error.contains('\u{1b}'), "{error:?}");
    }
}

#[test]
fn a_fleet_without_kinds_or_with_too_many_machines_is_refused() {
    let none = parsed(&GOOD[..GOOD.find("[[kind]]").unwrap()], "f").unwrap_err();
    assert!(none.to_string().contains("needs a [[kind]]"));
    let many = GOOD.replace("machines = 5", "machines = 2000");
    assert!(parsed(&many, "f").unwrap_err().to_string().contains("2002 machines"));
}
