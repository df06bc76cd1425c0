//! Degrees of parallelism: which treatments and comparisons `[dop]` gives on machines made by hand.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::{machine, names, server, small_guest, treatment};
use threadwise_machine::{Pin, Topology};
use threadwise_study::load::{Overrides, StudyFile, option_value};
use threadwise_study::{OptionValue, Role, Study, plan_block};

fn resolve(preset: &str, topology: &Topology, overrides: &Overrides) -> Result<Study, String> {
    let file = StudyFile::preset(preset).unwrap();
    file.resolve(topology, overrides).map_err(|error| error.to_string())
}

fn tpch(topology: &Topology, overrides: &Overrides) -> Study {
    resolve("parallel-queries", topology, overrides).unwrap()
}

fn set(pairs: &[(&str, &str)]) -> Overrides {
    let options = pairs.iter().map(|(key, value)| ((*key).to_owned(), option_value(value)));
    Overrides { options: options.collect(), ..Overrides::default() }
}

fn asked(study: &Study, kind: &str) -> Vec<String> {
    let of_kind = study.comparisons.iter().filter(|one| one.kind.word() == kind);
    of_kind.map(|one| format!("{} / {}", one.treatment, one.baseline.join(" & "))).collect()
}

#[test]
fn a_guest_without_siblings_has_one_placement_less() {
    let study = tpch(&small_guest(), &Overrides::default());
    assert_eq!(names(&study), ["no-smt d1", "no-smt d1'", "no-smt d2", "1c1t d1"]);
    let left_out = study.left_out.join("\n");
    assert!(left_out.contains("all: the same as no-smt") && left_out.contains("1c2t: "), "{left_out}");
    let two = treatment(&study, "no-smt d2");
    assert_eq!((two.sessions, two.pin, two.role), (1, Pin::Set, Role::Compared));
    assert_eq!(two.options["dop"], OptionValue::Integer(2));
    assert_eq!(two.factors["dop"], "2");
    assert_eq!(asked(&study, "baseline").len(), 2);
    assert_eq!(asked(&study, "dop-step"), Vec::<String>::new(), "d2 over d1 is the one with the baseline");
}

#[test]
fn a_server_has_powers_of_two_cores_and_logical_cpus() {
    let study = tpch(&server(), &Overrides::default());
    let dops = |placement: &str| -> Vec<i64> {
        let compared = study
            .treatments
            .iter()
            .filter(|one| one.placement.text == placement && one.role == Role::Compared);
        compared.map(|one| one.options["dop"].to_string().parse().unwrap()).collect()
    };
    assert_eq!(dops("no-smt"), [2, 4, 8, 16]);
    assert_eq!(dops("all"), [1, 2, 4, 8, 16, 32]);
    assert_eq!((dops("1c2t"), dops("1c1t")), (vec![1, 2], vec![1]));
    assert!(asked(&study, "dop-step").contains(&"all d32 / all d16".to_owned()));
    assert!(!asked(&study, "dop-step").iter().any(|one| one.starts_with("no-smt d2 ")));
    assert!(asked(&study, "smt-dop").contains(&"all d16 / no-smt d16".to_owned()));
    assert_eq!(asked(&study, "both-threads"), ["all d32 / no-smt d16"]);
    let plan = plan_block(&study, &server(), 0).unwrap();
    let at = study.treatment("no-smt d4").unwrap().0;
    assert_eq!(plan.placements[at].set().len(), 16, "four threads float over one sibling of every core");
}

#[test]
fn the_command_line_names_placements_degrees_and_queries() {
    let overrides = Overrides {
        placements: Some(vec!["all".into(), "one-cpu".into(), "3c1t+1c2t".into()]),
        dops: Some(vec![2, 1]),
        ..set(&[("queries", "1-3")])
    };
    let study = tpch(&server(), &overrides);
    let expected = [
        "no-smt d1",
        "no-smt d1'",
        "all d1",
        "all d2",
        "one-cpu d1",
        "one-cpu d2",
        "3c1t+1c2t d1",
        "3c1t+1c2t d2",
    ];
    assert_eq!(names(&study), expected);
    assert_eq!(study.design.rounds, 3);
    let plan = plan_block(&study, &server(), 5).unwrap();
    let mut queries: Vec<u8> = (0..3).map(|round| plan.scripts(round, 1)[0][0]).collect();
    queries.sort_unstable();
    assert_eq!(queries, [1, 2, 3]);
    let orders = |block| plan_block(&study, &server(), block).unwrap().queries;
    assert_eq!(orders(5), plan.queries);
    assert!((0..20).any(|block| orders(block) != plan.queries), "every block has an order of its own");
}

#[test]
fn passes_repeat_the_queries() {
    let study = tpch(&small_guest(), &Overrides { rounds: Some(2), ..set(&[("queries", "5,7")]) });
    assert_eq!(study.design.rounds, 4);
    assert!(study.is_fixed_work() && study.block_floor_s() == 0.0);
}

#[test]
fn streams_are_sessions() {
    let study = resolve("tpch-streams", &small_guest(), &Overrides::default()).unwrap();
    let expected =
        ["all d1 s1", "all d1 s1'", "all d1 s2", "all d1 s4", "all d2 s1", "all d2 s2", "all d2 s4"];
    assert_eq!(names(&study), expected);
    let plan = plan_block(&study, &small_guest(), 0).unwrap();
    assert_eq!((plan.queries.len(), plan.scripts(0, 4).len(), plan.scripts(0, 1)[0].len()), (1, 4, 22));
    let fewer = Overrides { sessions: Some(vec![3]), ..Overrides::default() };
    let study = resolve("tpch-streams", &small_guest(), &fewer).unwrap();
    assert_eq!(names(&study), ["all d1 s1", "all d1 s1'", "all d1 s3", "all d2 s3"]);
    assert_eq!(treatment(&study, "all d2 s3").sessions, 3);
}

#[test]
fn sessions_of_short_queries_stand_behind_the_streams_and_have_no_script() {
    let study = resolve("mixed-load", &server(), &set(&[("short", "3")])).unwrap();
    let lowest = treatment(&study, "all d1");
    assert_eq!((lowest.sessions, study.short_sessions(lowest), study.worker_sessions(lowest)), (1, 3, 4));
    assert!((study.design.margin - 0.1).abs() < 1e-9);
    let plan = plan_block(&study, &server(), 0).unwrap();
    assert!(plan.placements.iter().all(|placed| placed.sessions.len() == 4));
    assert!(plan.placements[0].sessions.iter().all(|cpus| *cpus == plan.placements[0].set()));
    let scripts = plan.session_scripts(0, 1, 4);
    assert_eq!(scripts.iter().map(Vec::len).collect::<Vec<_>>(), [22, 0, 0, 0]);
    let without = resolve("tpch-streams", &small_guest(), &Overrides::default()).unwrap();
    assert!(without.treatments.iter().all(|one| without.worker_sessions(one) == one.sessions));
}

#[test]
fn several_streams_have_a_point_at_150_percent_of_the_cores_and_one_at_those_of_a_node() {
    let study = resolve("tpch-streams", &machine(2, 6, 2, None, None), &Overrides::default()).unwrap();
    let of = |place: &str, streams: u32| -> Vec<u32> {
        let dop = |name: &str| -> Option<u32> {
            let rest = name.strip_prefix(&format!("{place} d"))?;
            rest.strip_suffix(&format!(" s{streams}"))?.parse().ok()
        };
        names(&study).into_iter().filter_map(dop).collect()
    };
    assert_eq!(of("all", 1), [1, 2, 4, 6, 8, 12, 16, 24]);
    assert_eq!(of("all", 2), [1, 2, 4, 6, 8, 9, 12, 16, 24], "2 x 9 are 150% of 12 cores");
    assert_eq!(of("no-smt", 4), [1, 2, 4, 6, 8, 12], "4 streams have no whole degree for 18");
}

#[test]
fn what_cannot_be_is_refused_with_the_way_out() {
    let why = |overrides: &Overrides| resolve("parallel-queries", &small_guest(), overrides).unwrap_err();
    assert!(why(&set(&[("dop", "4")])).contains("--dop LIST"));
    assert!(why(&Overrides { dops: Some(vec![0]), ..Overrides::default() }).contains("1 to 4096"));
    let streams = Overrides { sessions: Some(vec![2]), ..Overrides::default() };
    assert!(why(&streams).contains("tpch-streams"), "{}", why(&streams));
    let nowhere = Overrides { placements: Some(vec!["9c1t".into()]), ..Overrides::default() };
    assert!(why(&nowhere).starts_with("--placement: "));
    let other =
        resolve("placement", &small_guest(), &Overrides { dops: Some(vec![1]), ..Overrides::default() });
    assert!(other.unwrap_err().contains("[dop]"));
    let parse = |lines: &str| {
        let head = "version = 1\nname = \"x\"\nengine = \"duckdb\"\nworkload = \"tpch\"\n";
        StudyFile::parse(&format!("{head}{lines}"), "x.toml").unwrap_err().to_string()
    };
    assert!(parse("[dop]\nplacements = [\"all\"]\nlevels = [0]\n").contains("x.toml:7:10: [0] is neither"));
    assert!(parse("[dop]\nplacements = [\"none\"]\n").starts_with("x.toml:6:15"));
    assert!(
        parse("[factors]\nscale = [1, 2]\n[dop]\nplacements = [\"all\"]\n")
            .contains("same for all treatments")
    );
    assert!(parse("[baseline]\npin = \"each\"\n[dop]\nplacements = [\"all\"]\n").contains("pin is 'each'"));
    let refusal = |workload: &str| {
        let text = format!(
            "version = 1\nname = \"x\"\nengine = \"duckdb\"\nworkload = \"{workload}\"\n[dop]\nplacements = [\"all\"]\n"
        );
        StudyFile::parse(&text, "x.toml").unwrap_err().to_string()
    };
    for alike in ["tpc-h", "TPC_H", "TPCH"] {
        let why = refusal(alike);
        assert!(
            why.starts_with("x.toml:4:12") && why.ends_with("parallel; write workload = \"tpch\""),
            "{why}"
        );
    }
    assert!(
        refusal("insert").contains("'insert' has no [dop]")
            && refusal("insert").contains("leave the section out")
    );
}

#[test]
fn treatments_have_options_of_their_own() {
    let text = "version = 1\nname = \"x\"\nengine = \"duckdb\"\nworkload = \"tpch\"\n[baseline]\nplacement = \"all\"\nset = { dop = 2 }\n[[treatment]]\nname = \"no reordering\"\nplacement = \"all\"\nset = { dop = 2, \"settings.disabled_optimizers\" = \"join_order\" }\n";
    let study =
        StudyFile::parse(text, "x.toml").unwrap().resolve(&small_guest(), &Overrides::default()).unwrap();
    let changed = treatment(&study, "no reordering");
    assert_eq!(changed.options["settings.disabled_optimizers"].to_string(), "join_order");
    assert_eq!((changed.sessions, changed.pin), (1, Pin::Set));
    assert!(!treatment(&study, "alone").options.contains_key("settings.disabled_optimizers"));
}

#[test]
fn repeated_and_too_many_streams_are_no_more_work_than_a_study_may_be() {
    let text = |streams: &str| {
        let preset = include_str!("../../studies/tpch-streams.toml");
        let at = preset.find("\nstreams = ").unwrap() + 1;
        let end = at + preset[at..].find('\n').unwrap();
        format!("{}streams = [{streams}]{}", &preset[..at], &preset[end..])
    };
    let resolved = |streams: &str| {
        let file = StudyFile::parse(&text(streams), "test.toml").map_err(|error| error.to_string())?;
        file.resolve(&small_guest(), &Overrides::default()).map_err(|error| error.to_string())
    };
    let repeated = resolved(&vec!["1, 2"; 5_000].join(", ")).unwrap();
    assert_eq!(names(&repeated), names(&resolved("1, 2").unwrap()));
    let many: Vec<String> = (1..=201).map(|count: u32| count.to_string()).collect();
    assert!(resolved(&many.join(", ")).unwrap_err().contains("at most 200 numbers"));
    let levels = |numbers: u32| {
        let list: Vec<String> = (1..=numbers).map(|number| number.to_string()).collect();
        let text =
            text(&list.join(", ")).replace("levels = \"auto\"", &format!("levels = [{}]", list.join(", ")));
        let file = StudyFile::parse(&text, "test.toml").unwrap();
        file.resolve(&small_guest(), &Overrides::default()).map_err(|error| error.to_string())
    };
    assert!(levels(22).is_ok());
    assert!(levels(23).unwrap_err().contains("more than 500 combinations"));
}

#[test]
fn a_placement_that_is_repeated_is_one() {
    let preset = include_str!("../../studies/parallel-queries.toml");
    let placements = preset.lines().find(|line| line.starts_with("placements = ")).unwrap();
    let inside = placements.trim_start_matches("placements = [").trim_end_matches(']');
    let repeated = format!("placements = [{}]", vec![inside; 2_000].join(", "));
    let file = StudyFile::parse(&preset.replace(placements, &repeated), "test.toml").unwrap();
    let study = file.resolve(&small_guest(), &Overrides::default()).unwrap();
    let once = tpch(&small_guest(), &Overrides::default());
    assert_eq!((names(&study), &study.left_out), (names(&once), &once.left_out));
}

#[test]
fn a_parallel_scan_has_degrees_on_whole_and_doubled_up_cores() {
    let resolved =
        |topology: &Topology| resolve("parallel-workers", topology, &Overrides::default()).unwrap();
    let study = resolved(&server());
    let dops = |placement: &str| -> Vec<String> {
        let members = study.treatments.iter().filter(|one| one.placement.text == placement);
        members
            .filter(|one| one.role != Role::BaselineTwin)
            .map(|one| one.options["dop"].to_string())
            .collect()
    };
    assert_eq!((dops("no-smt"), dops("all")).1, ["1", "2", "4", "8", "16", "32"]);
    assert_eq!(dops("no-smt"), ["1", "2", "4", "8", "16"]);
    assert_eq!(
        (dops("3c1t+1c2t"), dops("1c1t+1c2t")),
        (strings(&["1", "2", "4", "5"]), strings(&["1", "2", "3"]))
    );
    assert!(study.is_fixed_work() && study.design.rounds > 1, "slices are whole scans");
    assert!(study.treatments.iter().all(|one| one.sessions == 1 && one.pin == Pin::Set));
    let guest = resolved(&small_guest());
    assert_eq!(names(&guest), ["no-smt d1", "no-smt d1'", "no-smt d2"]);
    let left_out = guest.left_out.join("\n");
    assert!(left_out.contains("all: the same as no-smt") && left_out.contains("3c1t+1c2t: "), "{left_out}");
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_treatment_that_is_also_a_point_is_measured_once() {
    let text = "version = 1\nname = \"x\"\nengine = \"duckdb\"\nworkload = \"tpch\"\n[baseline]\n\
                placement = \"1c1t\"\nset = { dop = 1 }\n[[treatment]]\nname = \"whole\"\nplacement = \"all\"\n\
                set = { dop = 2 }\n[dop]\nplacements = [\"all\"]\nlevels = [1, 2]\n";
    let file = StudyFile::parse(text, "x.toml").unwrap();
    let study = file.resolve(&small_guest(), &Overrides::default()).unwrap();
    let names: Vec<&str> = study.treatments.iter().map(|treatment| treatment.name.as_str()).collect();
    assert_eq!(names, ["alone", "alone'", "whole", "all d1"]);
    let steps: Vec<&str> = study
        .comparisons
        .iter()
        .filter(|one| one.kind.word() == "dop-step" && one.baseline == ["all d1"])
        .map(|one| one.treatment.as_str())
        .collect();
    assert_eq!(steps, ["whole"]);
}
