//! Comparisons that the command line names, and those of a preset that `--placement` leaves.
#![allow(clippy::unwrap_used, reason = "in a test, failing there is the point")]

use crate::support::{file, server};
use threadwise_study::load::{LoadError, Overrides, StudyFile};
use threadwise_study::{Comparison, Study};

fn compared(preset: &str, pairs: &[&str], placements: Option<&[&str]>) -> Result<Study, LoadError> {
    let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let overrides =
        Overrides { compares: texts(pairs), placements: placements.map(texts), ..Overrides::default() };
    StudyFile::preset(preset).unwrap().resolve(&server(), &overrides)
}

fn why(pair: &str) -> String {
    compared("command", &[pair], None).unwrap_err().to_string()
}

fn find<'a>(study: &'a Study, name: &str) -> Option<&'a Comparison> {
    study.comparisons.iter().find(|one| one.name == name)
}

#[test]
fn any_two_treatments_are_compared_in_every_group() {
    let study = compared("placement", &["cross-package:one-cpu"], None).unwrap();
    for level in ["l2", "memory"] {
        let name = format!("cross-package/{level} : one-cpu/{level}");
        let found = find(&study, &name).unwrap_or_else(|| panic!("{name} of {:?}", study.comparisons));
        assert_eq!(found.baseline, [format!("one-cpu/{level}")]);
        assert_eq!(found.kind.word(), "named");
    }
    // Whole names cross groups.
    let study = compared("placement", &["one-cpu/l2:one-cpu/memory"], None).unwrap();
    assert_eq!(find(&study, "one-cpu/l2 : one-cpu/memory").unwrap().treatment, "one-cpu/l2");
}

#[test]
fn what_is_compared_already_is_not_compared_twice() {
    let plain = compared("placement", &[], None).unwrap();
    for pair in ["same-core:one-cpu", "same-core:alone", "same-core/l2:alone/l2"] {
        assert_eq!(compared("placement", &[pair], None).unwrap().comparisons, plain.comparisons, "{pair}");
    }
}

#[test]
fn names_with_colons_are_found() {
    let study = compared("placement", &["spread:4:packed:4"], Some(&["spread:4", "packed:4"])).unwrap();
    assert!(find(&study, "spread:4/l2 : packed:4/l2").is_some(), "{:?}", study.comparisons);
}

#[test]
fn what_is_no_pair_is_refused_with_the_nearest_names() {
    assert_eq!(
        why("al:no-smt"),
        "--compare al:no-smt: no treatment here is called 'al'; the nearest are all, alone, half-cores"
    );
    assert!(why("all:nosmt").contains("called 'nosmt'; the nearest are no-smt, "));
    assert!(why("all").contains("give two treatments with a colon between them"));
    assert!(why(":all").contains("two treatments with a colon"));
    assert!(why("all:all").contains("both sides are the same treatment"));
    assert!(why("alone:all").contains("'alone' is the baseline; put it on the right: all:alone"));
}

#[test]
fn a_file_names_a_known_pair_and_its_kind_stays() {
    let text = "[[treatment]]\nplacement = \"one-cpu\"\n[[treatment]]\nplacement = \"same-core\"\n\
                [[comparison]]\nname = \"core-of-two-threads\"\ntreatment = \"same-core\"\nbaseline = \"one-cpu\"\n";
    let study = file(text).unwrap().resolve(&server(), &Overrides::default()).unwrap();
    assert_eq!(find(&study, "core-of-two-threads").unwrap().kind.word(), "smt-yield");
    assert_eq!(find(&study, "smt-yield"), None, "one name for one pair");
}

#[test]
fn placements_keep_what_still_makes_sense() {
    let named = |study: &Study| -> Vec<String> {
        let named = study.comparisons.iter().filter(|one| {
            one.kind.word().starts_with("smt-") || one.kind == threadwise_study::ComparisonKind::CoresDoubled
        });
        named.map(|one| one.name.clone()).collect()
    };
    let study = compared("command", &[], Some(&["all", "no-smt"])).unwrap();
    assert!(named(&study).contains(&"both-threads".to_owned()), "{:?}", named(&study));
    let dropped: Vec<&String> =
        study.left_out.iter().filter(|line| line.starts_with("comparison ")).collect();
    assert!(
        dropped.iter().any(|line| line.contains("half-cores is not among the placements of --placement")),
        "{dropped:?}"
    );
    // With as many sessions everywhere, twice the threads have no more sessions: another question.
    let overrides = Overrides {
        placements: Some(vec!["all".into(), "no-smt".into()]),
        sessions: Some(vec![4]),
        ..Overrides::default()
    };
    let study = StudyFile::preset("command").unwrap().resolve(&server(), &overrides).unwrap();
    assert!(!named(&study).contains(&"both-threads".to_owned()));
    assert!(
        study
            .left_out
            .iter()
            .any(|line| line == "comparison both-threads: its sides have different numbers of sessions")
    );
}
