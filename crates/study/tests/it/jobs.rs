//! Numbers of jobs: which treatments and comparisons `[jobs]` and the presets of work lists give on machines
//! made by hand.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support;

use crate::support::{names, server, small_guest, treatment};
use threadwise_machine::{Pin, Topology};
use threadwise_study::engine::Properties;
use threadwise_study::load::{Overrides, StudyFile, option_value};
use threadwise_study::worklist::WorklistOptions;
use threadwise_study::{OptionValue, Role, Stopping, Study, plan_block};

fn resolve(preset: &str, topology: &Topology, overrides: &Overrides) -> Result<Study, String> {
    StudyFile::preset(preset).unwrap().resolve(topology, overrides).map_err(|error| error.to_string())
}

fn jobs(numbers: &[u32]) -> Overrides {
    Overrides { jobs: Some(numbers.to_vec()), ..Overrides::default() }
}

fn asked(study: &Study, kind: &str) -> Vec<String> {
    let of_kind = study.comparisons.iter().filter(|one| one.kind.word() == kind);
    of_kind.map(|one| format!("{}: {} / {}", one.name, one.treatment, one.baseline.join(" & "))).collect()
}

#[test]
fn a_guest_without_siblings_has_one_placement() {
    let study = resolve("work-list", &small_guest(), &Overrides::default()).unwrap();
    assert_eq!(names(&study), ["all j1", "all j1'", "all j2", "all j4"]);
    assert_eq!(study.left_out, ["no-smt: the same as all on this machine"]);
    let four = treatment(&study, "all j4");
    assert_eq!((four.sessions, four.pin, four.role), (4, Pin::Set, Role::Compared));
    assert_eq!(asked(&study, "jobs-step"), ["jobs 2-4 all: all j4 / all j2"], "1-2 is with the baseline");
    assert_eq!(asked(&study, "smt-whole"), Vec::<String>::new());
    let plan = plan_block(&study, &small_guest(), 3).unwrap();
    let at = study.treatment("all j4").unwrap().0;
    assert_eq!((plan.placements[at].set().len(), plan.placements[at].sessions.len()), (2, 4));
    assert_eq!((study.design.rounds, study.runs_whole(), study.block_floor_s()), (1, true, 0.0));
}

#[test]
fn a_server_has_both_placements_and_their_ratios() {
    let study = resolve("work-list", &server(), &jobs(&[8, 2, 2, 1])).unwrap();
    let expected = ["all j1", "all j1'", "all j2", "all j8", "no-smt j1", "no-smt j2", "no-smt j8"];
    assert_eq!(names(&study), expected);
    let steps = [
        "jobs 2-8 all: all j8 / all j2",
        "jobs 1-2 no-smt: no-smt j2 / no-smt j1",
        "jobs 2-8 no-smt: no-smt j8 / no-smt j2",
    ];
    assert_eq!(asked(&study, "jobs-step"), steps);
    let pairs = ["all over no-smt, j2: all j2 / no-smt j2", "all over no-smt, j8: all j8 / no-smt j8"];
    assert_eq!(asked(&study, "smt-whole"), pairs, "that of one job is with the baseline");
    assert!(
        asked(&study, "baseline").contains(&"no-smt j1 : all j1: no-smt j1 / all j1 & all j1'".to_owned())
    );
    let automatic = resolve("work-list", &server(), &Overrides::default()).unwrap();
    let most = |placement: &str| {
        automatic
            .treatments
            .iter()
            .filter(|treatment| treatment.placement.text == placement)
            .map(|treatment| treatment.sessions)
            .max()
    };
    assert_eq!((most("all"), most("no-smt")), (Some(64), Some(32)), "twice the logical CPUs");
}

#[test]
fn the_command_line_names_placements() {
    let placed = |texts: &[&str], numbers: &[u32]| Overrides {
        placements: Some(texts.iter().map(|text| (*text).to_owned()).collect()),
        ..jobs(numbers)
    };
    let study = resolve("work-list", &server(), &placed(&["1c2t"], &[1, 2])).unwrap();
    assert_eq!(names(&study), ["all j1", "all j1'", "1c2t j1", "1c2t j2"]);
    // Where it is what the baseline has, it is one line of points and not two.
    let study = resolve("work-list", &small_guest(), &placed(&["no-smt"], &[1, 2])).unwrap();
    assert_eq!(names(&study), ["all j1", "all j1'", "all j2"]);
    assert_eq!(study.left_out, ["no-smt: the same as all on this machine"]);
}

#[test]
fn every_work_list_has_the_metrics_of_its_own_output() {
    let text = |text: &str| OptionValue::Text(text.to_owned());
    for preset in ["work-list", "reload-schedule"] {
        let study = resolve(preset, &small_guest(), &Overrides::default()).unwrap();
        for treatment in &study.treatments {
            assert_eq!(treatment.options["metric.item_s"], text("s/item lower json:/item_s"));
            assert_eq!(treatment.options["headline"], text("item_s"));
            assert!(treatment.options.contains_key("metric.idle_share"));
        }
    }
    let given = [("metric.tail", "s lower json:/tail_s"), ("headline", "tail")];
    let options = given.map(|(key, value)| (key.to_owned(), option_value(value))).into_iter().collect();
    let study = resolve("work-list", &small_guest(), &Overrides { options, ..Overrides::default() }).unwrap();
    assert_eq!(study.treatments[0].options["headline"], text("tail"));
    assert!(study.treatments[2].options.contains_key("metric.item_s"));
}

#[test]
fn a_recipe_is_read_under_its_old_name_too() {
    let study = |options: &str| {
        let text = format!(
            "version = 1\nname = \"x\"\nengine = \"worklist\"\nworkload = \"worklist\"\n[options]\n{options}\n[[treatment]]\nplacement = \"1c1t\"\nsessions = 2\n"
        );
        StudyFile::parse(&text, "x.toml").unwrap().resolve(&small_guest(), &Overrides::default()).unwrap()
    };
    let (new, old) = (study("recipe = \"noop\""), study("chain = \"noop\""));
    assert_eq!(new, old);
    assert_eq!(WorklistOptions::read(&new.treatments[0].options).unwrap().recipe, "noop");
    let both = study("chain = \"noop\"\nrecipe = \"sqlite\"");
    let why = WorklistOptions::read(&both.treatments[0].options).unwrap_err().to_string();
    assert!(why.contains("its old name 'chain' is given too"), "{why}");
}

#[test]
fn schedules_have_as_many_jobs_as_logical_cpus() {
    let study = resolve("reload-schedule", &server(), &Overrides::default()).unwrap();
    let expected =
        ["queue largest", "queue largest'", "queue given", "queue shuffled", "split given", "split largest"];
    assert_eq!(names(&study), expected);
    assert!(study.treatments.iter().all(|treatment| treatment.sessions == 32 && treatment.pin == Pin::Set));
    assert_eq!(treatment(&study, "split given").options["feed"], OptionValue::Text("split".to_owned()));
    assert_eq!(treatment(&study, "split given").factors["order"], "given");
    assert_eq!(asked(&study, "baseline").len(), 4);
    let three = resolve("reload-schedule", &server(), &jobs(&[3])).unwrap();
    assert!(three.treatments.iter().all(|treatment| treatment.sessions == 3));
    let one_cpu = support::machine(1, 1, 1, None, None);
    let study = resolve("reload-schedule", &one_cpu, &Overrides::default()).unwrap();
    assert!(
        study.treatments.iter().all(|treatment| treatment.sessions == 2),
        "with one job there is no schedule"
    );
}

#[test]
fn until_has_time_for_more_than_the_fewest_blocks() {
    let until = Overrides { until: Some(0.05), ..Overrides::default() };
    let stopping = |preset: &str| resolve(preset, &small_guest(), &until).unwrap().design.stopping;
    // Runs have no windows from which a budget could be reckoned: eight times the preset's own.
    assert_eq!(stopping("work-list"), Stopping::Until { half_width: 0.05, budget_s: 2400.0 });
    let asked = Overrides { budget_s: Some(60.0), ..until.clone() };
    let study = resolve("work-list", &small_guest(), &asked).unwrap();
    assert_eq!(study.design.stopping, Stopping::Until { half_width: 0.05, budget_s: 60.0 });
}

#[test]
fn what_cannot_be_is_refused_with_the_way_out() {
    let why = |preset: &str, overrides: &Overrides| resolve(preset, &server(), overrides).unwrap_err();
    assert!(why("work-list", &jobs(&[0])).contains("--jobs: 0; 1 to 1024"));
    assert!(why("work-list", &jobs(&[])).contains("no number"));
    assert!(why("reload-schedule", &jobs(&[1, 2])).contains("the preset work-list"));
    assert!(why("placement", &jobs(&[2])).contains("workload is logical-io; use threadwise run work-list"));
    let sessions = Overrides { sessions: Some(vec![2]), ..Overrides::default() };
    assert!(why("work-list", &sessions).contains("--jobs LIST"));
    let set = |key: &str| Overrides {
        options: [(key.to_owned(), option_value("given"))].into(),
        ..Overrides::default()
    };
    assert!(why("reload-schedule", &set("order")).contains("change it there"));
    assert!(why("work-list", &set("feed")).contains("queue, split"));
    assert!(
        why("work-list", &Overrides { rounds: Some(2), ..Overrides::default() })
            .contains("a work list runs once")
    );
    let near = Overrides {
        service: Some("near".parse().unwrap()),
        engine_properties: Properties { service_threads: false, ..Properties::default() },
        ..Overrides::default()
    };
    assert!(why("work-list", &near).contains("no service threads"));
    let parse = |workload: &str, lines: &str| {
        let head = format!("version = 1\nname = \"x\"\nengine = \"worklist\"\nworkload = \"{workload}\"\n");
        StudyFile::parse(&format!("{head}{lines}"), "x.toml").unwrap_err().to_string()
    };
    assert!(
        parse("worklist", "[jobs]\nplacements = [\"all\"]\nlevels = [0]\n")
            .contains("[0] is neither \"auto\" nor a list of numbers from 1 to 1024")
    );
    assert!(parse("worklist", "[jobs]\nplacements = [\"none\"]\n").starts_with("x.toml:6:15"));
    assert!(parse("worklist", "[jobs]\nplacements = []\n").contains("the list is empty"));
    assert!(parse("command", "[jobs]\nplacements = [\"all\"]\n").contains("'command' has no [jobs]"));
    assert!(parse("worklist", "[sweep]\n[jobs]\nplacements = [\"all\"]\n").contains("keep one"));
    assert!(parse("worklist", "[baseline]\npin = \"each\"\n").contains("jobs of a work list"));
    let wide = "[[treatment]]\nplacement = \"all\"\nset = { recipe = \"noop\" }\n";
    assert!(parse("worklist", wide).contains("same for all treatments"));
    let many = "[[treatment]]\nplacement = \"all\"\nsessions = 1025\n";
    assert!(parse("worklist", many).contains("1025 jobs; at most 1024"));
    let slices = "[design]\nslice_ms = 5.0\n[jobs]\nplacements = [\"all\"]\n";
    let file = StudyFile::parse(
        &format!("version = 1\nname = \"x\"\nengine = \"worklist\"\nworkload = \"worklist\"\n{slices}"),
        "x.toml",
    );
    let error = file.unwrap().resolve(&server(), &Overrides::default()).unwrap_err().to_string();
    assert!(error.contains("a work list has no slices"), "{error}");
}
