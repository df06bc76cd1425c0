//! A published study beside studies whose ratios are known.

use super::*;
use crate::fixtures::{comparison, estimate, machine, run, study};
use crate::{Analysis, Direction, Estimate, Facts, Ratio, analyse_on, document as report};
use threadwise_document::{Block, Cell, Section};
use threadwise_machine::Topology;
use threadwise_published::{all, find};
use threadwise_study::{OptionValue, Study};

/// The four published treatments of cached reads, and what compares them in every study.
fn cached_reads() -> Study {
    let treatments = ["one-cpu one-cpu 2", "same-core same-core 2", "same-package same-package 2"];
    let mut study = study(&[""], &treatments);
    study.name = "cached-reads".to_owned();
    let mut named = |name: &str, top: &str, below: &str| {
        let mut one = comparison(top, &[below], "named");
        one.name = name.to_owned();
        study.comparisons.push(one);
    };
    named("smt-yield", "same-core", "one-cpu");
    named("two-cores", "same-package", "same-core");
    study
}

/// An analysis that says nothing but these ratios.
fn saying(study: &Study, topology: &Topology, ratios: &[(&str, Ratio)]) -> Analysis {
    let mut analysis = analyse_on(study, Some(topology), &[], 1.0);
    let made =
        |(name, ratio): &(&str, Ratio)| Estimate { ratio: ratio.clone(), ..estimate(name, 1.0, 1.0, 1.0) };
    analysis.estimates = ratios.iter().map(made).collect();
    analysis
}

fn ratio(value: f64, low: f64, high: f64) -> Ratio {
    crate::fixtures::ratio(value, low, high)
}

#[test]
fn comparisons_are_found_by_name_and_by_what_their_sides_are() {
    let (study, topology) = (cached_reads(), machine(1, 2, 2));
    let ratios = [("smt-yield", ratio(1.30, 1.28, 1.32)), ("two-cores", ratio(1.80, 1.70, 1.90))];
    let analysis = saying(&study, &topology, &ratios);
    let found = beside_same(&Facts::new(&study, &topology, &analysis)).unwrap();
    let rows: Vec<_> =
        found.rows.iter().map(|row| (row.comparison.as_str(), row.published, row.in_interval)).collect();
    assert_eq!(rows, [("smt-yield", 1.316, Some(true)), ("two-cores", 1.527, Some(false))]);
    assert_eq!(found.only_published, ["two-packages"]);
    assert_eq!(found.only_here, Vec::<String>::new());
    let differs: Vec<&str> = found.differs.iter().map(|one| one.what).collect();
    assert_eq!(differs, ["machine", "engine", "size", "when", "ratios of"]);
    assert!(found.differs[0].published.starts_with("2 packages × 8 cores × 2 threads, Intel Xeon E5-2690"));
    assert!(found.differs[0].here.starts_with("1 package × 2 cores × 2 threads"), "{:?}", found.differs[0]);
    assert_eq!(found.differs[2].here, "defaults of logical-io");
    assert_eq!(
        (found.differs[4].published.as_str(), found.differs[4].here.as_str()),
        ("logical reads a second", "rows_per_s")
    );
    assert_eq!(found.cannot_redo.len(), 0, "power and clocks have a command");
}

#[test]
fn a_comparison_under_two_names_is_one_row() {
    let (mut study, topology) = (cached_reads(), machine(1, 2, 2));
    let mut twice = study.comparisons.iter().find(|one| one.name == "smt-yield").unwrap().clone();
    twice.name = "core-of-two-threads".to_owned();
    study.comparisons.push(twice);
    let analysis = saying(&study, &topology, &[]);
    let found = beside_same(&Facts::new(&study, &topology, &analysis)).unwrap();
    let names: Vec<&str> = found.rows.iter().map(|row| row.comparison.as_str()).collect();
    assert_eq!(names, ["smt-yield", "two-cores"]);
    assert_eq!(found.only_here, Vec::<String>::new(), "its other name is no comparison without a figure");
}

#[test]
fn without_an_interval_or_a_ratio_nothing_lies_in_it() {
    let (study, topology) = (cached_reads(), machine(1, 2, 2));
    let one_block = Ratio { blocks: 1, ..ratio(1.3, 0.0, f64::INFINITY) };
    let mut analysis = saying(&study, &topology, &[("smt-yield", one_block)]);
    analysis.excluded_blocks = vec!["block 0, same-package only: crash: gone".to_owned()];
    let found = beside_same(&Facts::new(&study, &topology, &analysis)).unwrap();
    assert_eq!((found.rows[0].in_interval, found.rows[0].reason.as_deref()), (None, None));
    assert_eq!(found.rows[1].measured, None);
    assert_eq!(found.rows[1].reason.as_deref(), Some("crash: gone"));
}

#[test]
fn times_are_turned_into_rates() {
    let (study, topology) = (cached_reads(), machine(1, 2, 2));
    let time = Ratio { direction: Direction::LowerIsBetter, ..ratio(0.5, 0.4, 0.625) };
    let analysis = saying(&study, &topology, &[("two-cores", time)]);
    let found = beside_same(&Facts::new(&study, &topology, &analysis)).unwrap();
    let measured = found.rows[1].measured.as_ref().unwrap();
    assert_eq!((measured.value, measured.low, measured.high), (2.0, 1.6, 2.5));
}

#[test]
fn other_names_and_other_workloads_are_not_put_beside() {
    let (mut study, topology) = (cached_reads(), machine(1, 2, 2));
    let analysis = saying(&study, &topology, &[]);
    study.name = "placement".to_owned();
    assert_eq!(beside_same(&Facts::new(&study, &topology, &analysis)), None);
    assert_eq!(
        beside_any(&Facts::new(&study, &topology, &analysis), &find("cached-reads").unwrap()).rows.len(),
        2
    );
    (study.name, study.workload) = ("cached-reads".to_owned(), "insert".into());
    assert_eq!(beside_same(&Facts::new(&study, &topology, &analysis)), None);
}

#[test]
fn an_option_that_differs_from_the_published_one_is_no_match() {
    let topology = machine(1, 2, 2);
    let mut study = study(&["key=random", "key=sequential"], &["all all 4", "no-smt no-smt 2"]);
    (study.name, study.workload) = ("concurrent-inserts".to_owned(), "insert".into());
    for treatment in &mut study.treatments {
        let key = treatment.group.trim_start_matches("key=").to_owned();
        treatment.options.insert("key".to_owned(), OptionValue::Text(key));
    }
    for group in ["key=random", "key=sequential"] {
        let mut one = comparison(&format!("all/{group}"), &[&format!("no-smt/{group}")], "smt-whole");
        one.name = format!("both-threads/{group}");
        study.comparisons.push(one);
    }
    let analysis = saying(&study, &topology, &[]);
    let found = beside_same(&Facts::new(&study, &topology, &analysis)).unwrap();
    let names: Vec<&str> = found.rows.iter().map(|row| row.comparison.as_str()).collect();
    assert_eq!(names, ["both-threads/key=sequential"]);
    assert_eq!(found.only_here, ["both-threads/key=random"]);
    assert_eq!(found.only_published, ["doubled-up", "twice-the-cores"]);
}

/// TPC-H at these degrees of parallelism on both threads and one, all compared at equal ones and at those of all.
fn queries(dops: &[u32]) -> Study {
    let lines: Vec<String> = dops
        .iter()
        .flat_map(|dop| ["no-smt", "all"].map(|placement| format!("{placement}-d{dop} {placement} 1")))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut study = study(&[""], &lines);
    (study.name, study.workload) = ("parallel-queries".to_owned(), "tpch".into());
    study.comparisons.clear();
    for treatment in &mut study.treatments[2..] {
        let dop = treatment.name.rsplit_once('d').unwrap().1.parse().unwrap();
        treatment.options.insert("dop".to_owned(), OptionValue::Integer(dop));
    }
    for top in dops {
        for below in dops {
            let one = comparison(&format!("all-d{top}"), &[&format!("no-smt-d{below}")], "smt-dop");
            study.comparisons.push(one);
        }
    }
    study
}

#[test]
fn degrees_of_parallelism_are_matched_by_number_below_the_cores_and_by_what_they_are_from_there_on() {
    let matched = |cores: u32| {
        let (study, topology) = (queries(&[1, 2, 4, 8]), machine(1, cores, 2));
        let analysis = saying(&study, &topology, &[]);
        let found = beside_same(&Facts::new(&study, &topology, &analysis)).unwrap();
        found.rows.into_iter().map(|row| (row.comparison, row.published_text)).collect::<Vec<_>>()
    };
    let pair = |name: &str, ratio: &str| (name.to_owned(), ratio.to_owned());
    assert_eq!(
        matched(4),
        [
            pair("all-d8 : no-smt-d4", "1.238x"),
            pair("all-d1 : no-smt-d1", "1.20x"),
            pair("all-d2 : no-smt-d2", "1.02x"),
            pair("all-d4 : no-smt-d4", "0.885x"),
        ]
    );
    // On two cores, a DOP of 2 is what 4 was there.
    assert_eq!(
        matched(2),
        [
            pair("all-d4 : no-smt-d2", "1.238x"),
            pair("all-d1 : no-smt-d1", "1.20x"),
            pair("all-d2 : no-smt-d2", "0.885x"),
        ]
    );
}

#[test]
fn jobs_are_matched_by_placement_and_number() {
    let lines = ["no-smt-j1 no-smt 1", "no-smt-j2 no-smt 2", "all-j1 all 1", "all-j2 all 2", "all-j3 all 3"];
    let mut study = study(&[""], &lines);
    (study.name, study.workload) = ("work-list".to_owned(), "worklist".into());
    study.comparisons = vec![
        comparison("all-j2", &["no-smt-j2"], "named"),
        comparison("no-smt-j2", &["no-smt-j1"], "named"),
        comparison("all-j3", &["all-j2"], "named"),
    ];
    let topology = machine(1, 2, 2);
    let analysis = saying(&study, &topology, &[]);
    let found = beside_same(&Facts::new(&study, &topology, &analysis)).unwrap();
    let rows: Vec<(&str, &str)> =
        found.rows.iter().map(|row| (row.comparison.as_str(), row.published_text.as_str())).collect();
    assert_eq!(rows, [("all-j2 : no-smt-j2", "0.974x"), ("no-smt-j2 : no-smt-j1", "1.83x")]);
    assert_eq!(found.only_here, ["all-j3 : all-j2"]);
}

fn text_of(section: &Section) -> String {
    format!("{:?}", section.blocks)
}

#[test]
fn the_report_ends_with_the_section_and_says_what_is_simulated_or_emulated() {
    let (mut study, mut topology) = (cached_reads(), machine(1, 2, 2));
    let runs = [run(0, "A", &[100]), run(0, "A'", &[100])];
    let mut analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let last = |study: &Study, topology: &Topology, analysis: &Analysis| {
        report(&Facts::new(study, topology, analysis)).sections.pop().unwrap()
    };
    let section = last(&study, &topology, &analysis);
    assert_eq!(section.title, "Published and measured ratios");
    assert!(!text_of(&section).contains("SIMULATED") && !text_of(&section).contains("EMULATED"));
    assert!(!text_of(&section).to_lowercase().contains("because"));
    analysis.simulated = true;
    assert!(text_of(&last(&study, &topology, &analysis)).contains("SIMULATED"));
    topology.identity.hypervisor = Some(threadwise_machine::hypervisor::EMULATOR.to_owned());
    assert!(text_of(&last(&study, &topology, &analysis)).contains("EMULATED"));
    study.name = "placement".to_owned();
    assert_ne!(last(&study, &topology, &analysis).title, "Published and measured ratios");
}

#[test]
fn a_published_study_has_all_of_its_figures_and_slips_in_its_document() {
    for published in all().unwrap() {
        let made = document(&published, "1.0", "threadwise published NAME --all");
        let table = |id: &str| match made.section(id).map(|section| &section.blocks[0]) {
            Some(Block::Table(table)) => table.cells().cloned().collect::<Vec<_>>(),
            other => panic!("{id}: {other:?}"),
        };
        let figures = table("figures");
        assert_eq!(figures.len(), published.figures.len(), "{}", published.name);
        assert_eq!(table("published-arms").len(), published.arms.len());
        let is_slip =
            |row: &&Vec<Cell>| matches!(&row[2], Cell::Named { name, .. } if name.ends_with("a slip"));
        assert_eq!(figures.iter().filter(is_slip).count(), published.slips.len(), "{}", published.name);
        assert_eq!(made.section("slips").is_some(), !published.slips.is_empty());
        let charts = made.section("figures").unwrap().blocks.len() - 1;
        assert_eq!(charts, published.charts.len());
    }
    assert_eq!(list_document(&all().unwrap()).sections.len(), 1);
}
