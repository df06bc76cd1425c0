//! What the command line sets, beside treatments that set it for themselves: nothing runs as something else
//! under its old name.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::{file, names, server, treatment};
use threadwise_machine::Memory;
use threadwise_study::Study;
use threadwise_study::load::{Overrides, StudyFile};

fn service(place: &str) -> Overrides {
    Overrides { service: Some(place.parse().unwrap()), ..Overrides::default() }
}

fn jobs(number: u32) -> Overrides {
    Overrides { jobs: Some(vec![number]), ..Overrides::default() }
}

fn placed(placements: &[&str], overrides: Overrides) -> Overrides {
    Overrides { placements: Some(placements.iter().map(|text| (*text).to_owned()).collect()), ..overrides }
}

fn preset(name: &str, overrides: &Overrides) -> Result<Study, String> {
    StudyFile::preset(name).unwrap().resolve(&server(), overrides).map_err(|error| error.to_string())
}

fn service_of(study: &Study, name: &str) -> Option<String> {
    treatment(study, name).service.as_ref().map(ToString::to_string)
}

#[test]
fn a_study_whose_treatments_all_have_a_place_takes_no_other() {
    for (overrides, option) in [
        (service("near"), "--service near"),
        (Overrides { memory: Some(Memory::Interleave), ..Overrides::default() }, "--memory interleave"),
    ] {
        let why = preset("log-buffer", &overrides).unwrap_err();
        assert!(why.starts_with(&format!("{option}: all treatments of this study set their own")), "{why}");
        assert!(why.contains("--placement"), "the way out: {why}");
    }
}

#[test]
fn treatments_keep_the_place_that_they_name() {
    let study = preset("log-buffer", &placed(&["2c1t"], service("far"))).unwrap();
    assert_eq!(service_of(&study, "alone").as_deref(), Some("near"), "the baseline names its own");
    assert_eq!(service_of(&study, "2c1t").as_deref(), Some("far"));
    let lines = "[[treatment]]\nplacement = \"2c1t\"\n\
        [[treatment]]\nname = \"far\"\nplacement = \"2c1t\"\nservice = \"far\"\n";
    let head = "version = 1\nname = \"x\"\nengine = \"native\"\nworkload = \"insert\"\n";
    let file = StudyFile::parse(&format!("{head}{lines}"), "x.toml").unwrap();
    let study = file.resolve(&server(), &service("near")).unwrap();
    assert_eq!(service_of(&study, "2c1t").as_deref(), Some("near"));
    assert_eq!(service_of(&study, "far").as_deref(), Some("far"));
}

#[test]
fn a_preset_without_places_takes_one_for_all() {
    let study = preset("concurrent-inserts", &service("near")).unwrap();
    assert!(study.treatments.iter().all(|treatment| treatment.service == Some("near".parse().unwrap())));
}

#[test]
fn schedules_keep_the_numbers_of_jobs_that_they_name() {
    let study = |lines: &str, overrides: &Overrides| {
        let head = "version = 1\nname = \"x\"\nengine = \"worklist\"\nworkload = \"worklist\"\n";
        let file = StudyFile::parse(&format!("{head}{lines}"), "x.toml").unwrap();
        file.resolve(&server(), overrides).map_err(|error| error.to_string())
    };
    let mixed = "[baseline]\nname = \"one job\"\nplacement = \"2c1t\"\nsessions = 1\n\
        [[treatment]]\nname = \"many\"\nplacement = \"2c1t\"\n";
    let found = study(mixed, &jobs(7)).unwrap();
    assert_eq!(names(&found), ["one job", "one job'", "many"]);
    assert_eq!(found.treatments.iter().map(|treatment| treatment.sessions).collect::<Vec<_>>(), [1, 1, 7]);
    let found = study(mixed, &placed(&["4c1t"], jobs(5))).unwrap();
    assert_eq!((found.treatments[0].sessions, treatment(&found, "4c1t").sessions), (1, 5));
    let why = study(&format!("{mixed}sessions = 3\n"), &jobs(7)).unwrap_err();
    assert!(why.starts_with("--jobs: all treatments of this study set their own"), "{why}");
}

#[test]
fn numbers_of_sessions_and_degrees_of_parallelism_rename_no_treatment() {
    let sections = "[[treatment]]\nname = \"two\"\nplacement = \"2c1t\"\nsessions = 2\n[sweep]\n";
    let four = Overrides { sessions: Some(vec![4]), ..Overrides::default() };
    let study = file(sections).unwrap().resolve(&server(), &four).unwrap();
    assert_eq!(treatment(&study, "two").sessions, 2);
    assert_eq!(treatment(&study, "sessions-4").sessions, 4);
    let dop = Overrides { dops: Some(vec![2]), ..Overrides::default() };
    let study = preset("parallel-queries", &dop).unwrap();
    let compared = &study.treatments[2..];
    assert!(!compared.is_empty());
    assert!(
        compared
            .iter()
            .all(|treatment| treatment.options["dop"].to_string() == "2" && treatment.name.ends_with("d2"))
    );
    let streams = Overrides { sessions: Some(vec![3]), ..Overrides::default() };
    let study = preset("tpch-streams", &streams).unwrap();
    assert_eq!(study.treatments[0].sessions, 1, "the baseline's own");
    assert!(
        study.treatments[2..]
            .iter()
            .all(|treatment| treatment.sessions == 3 && treatment.name.ends_with("s3"))
    );
}
