//! Studies under a CPU quota.
#![allow(clippy::unwrap_used)]

use crate::support::{default_study, names, server, small_guest};
use threadwise_study::load::{Overrides, StudyFile};
use threadwise_study::{Quota, Study};

const MS: u64 = 1_000_000;

fn under(cpus: f64) -> Overrides {
    Overrides { quota: Some(Quota { cpus, period_ns: 100 * MS, burst_ns: 0 }), ..Overrides::default() }
}

fn preset(name: &str) -> StudyFile {
    StudyFile::preset(name).unwrap()
}

fn of_kind<'a>(study: &'a Study, kind: &str) -> Vec<(&'a str, &'a str)> {
    let of_kind = study.comparisons.iter().filter(|one| one.kind.word() == kind);
    of_kind.map(|one| (one.treatment.as_str(), one.baseline[0].as_str())).collect()
}

#[test]
fn slices_are_whole_periods_and_the_budget_holds_fewer_rounds() {
    let study = preset("placement").resolve(&small_guest(), &under(1.5)).unwrap();
    let design = &study.design;
    assert_eq!((design.slice_ns, design.rewarm_ns), (1_000 * MS, Some(100 * MS)));
    assert_eq!(study.quota.unwrap().idle_ns(), 200 * MS);
    assert_eq!(design.rounds, 1);
    let short = Overrides { budget_s: Some(60.0), ..under(1.5) };
    let error = preset("placement").resolve(&small_guest(), &short).unwrap_err().to_string();
    assert!(error.ends_with(" or more, or fewer treatments"), "a block has one round: {error}");
    let long = Overrides { budget_s: Some(600.0), ..under(1.5) };
    let study = preset("placement").resolve(&small_guest(), &long).unwrap();
    assert!((2..20).contains(&study.design.rounds), "{}", study.design.rounds);
    assert!(study.block_floor_s() * 8.0 < 600.0);
}

#[test]
fn a_quota_that_no_treatment_reaches_changes_nothing() {
    let free = default_study(&small_guest());
    let wide = preset("placement").resolve(&small_guest(), &under(2.1)).unwrap();
    assert_eq!(wide.quota, None);
    assert_eq!((wide.design, wide.treatments), (free.design, free.treatments));
    let simulated = Overrides {
        engine_properties: threadwise_study::engine::Properties { simulated: true, ..Default::default() },
        ..under(1.5)
    };
    assert_eq!(preset("placement").resolve(&small_guest(), &simulated).unwrap().quota, None);
}

#[test]
fn what_is_beyond_stands_beside_the_same_sessions_on_whole_cpus() {
    let study = preset("placement").resolve(&small_guest(), &under(1.5)).unwrap();
    // Two sessions on one logical CPU are a treatment of this study anyhow.
    let pairs = of_kind(&study, "quota");
    assert!(pairs.contains(&("same-package/large", "one-cpu/large")), "{pairs:?}");
    assert!(!names(&study).iter().any(|name| name.starts_with("whole-1 same")), "{:?}", names(&study));
    let study = preset("session-sweep").resolve(&server(), &under(3.0)).unwrap();
    let all = study.treatments.iter().find(|treatment| treatment.name.starts_with("whole-3")).unwrap();
    assert_eq!(all.placement.text, "spread:3");
    for (beyond, whole) in of_kind(&study, "quota") {
        let sessions = |name: &str| study.treatment(name).unwrap().1.sessions;
        assert_eq!(sessions(beyond), sessions(whole), "{beyond} : {whole}");
    }
    assert!(of_kind(&study, "quota").len() > 2);
}

#[test]
fn a_whole_quota_compares_nothing_with_itself() {
    for (cpus, topology) in [(2.0, small_guest()), (1.0, small_guest()), (4.0, server())] {
        let study = preset("session-sweep").resolve(&topology, &under(cpus)).unwrap();
        assert!(study.quota.is_some());
        for (beyond, whole) in of_kind(&study, "quota") {
            assert_ne!(beyond, whole, "{cpus}");
        }
    }
}

#[test]
fn treatments_that_differ_by_memory_alone_have_one_each_beside_them() {
    let text = "version = 1\nname = \"mine\"\nengine = \"sqlite\"\nworkload = \"logical-io\"\n\
                [[treatment]]\nplacement = \"all\"\n\
                [[treatment]]\nname = \"far\"\nplacement = \"all\"\nmemory = \"interleave\"\n";
    let study = StudyFile::parse(text, "mine.toml").unwrap().resolve(&server(), &under(3.0)).unwrap();
    assert_eq!(of_kind(&study, "quota"), [("all", "whole-3 all"), ("far", "whole-3 far")]);
}

#[test]
fn less_than_one_cpu_has_no_whole_one_and_is_measured() {
    let study = preset("placement").resolve(&small_guest(), &under(0.5)).unwrap();
    assert!(study.quota.is_some() && of_kind(&study, "quota").is_empty());
}

#[test]
fn whole_runs_keep_their_time_and_idle_before_it() {
    let study = preset("parallel-queries").resolve(&small_guest(), &under(1.5)).unwrap();
    let free = preset("parallel-queries").resolve(&small_guest(), &Overrides::default()).unwrap();
    assert_eq!(study.design, free.design);
    assert_eq!((study.quota.unwrap().cpus, free.quota), (1.5, None));
}

#[test]
fn a_server_elsewhere_has_another_quota() {
    let url = [("url".to_owned(), threadwise_study::OptionValue::Text("postgres://db".to_owned()))];
    let overrides = Overrides { engine_options: url.into_iter().collect(), ..under(1.5) };
    assert_eq!(preset("placement").resolve(&small_guest(), &overrides).unwrap().quota, None);
}
