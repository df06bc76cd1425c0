//! Costs with hand-computed figures.

use super::*;
use crate::asked::{Asked, LicencePer};
use crate::fixtures::{comparison, machine, run, study};
use crate::{analyse_on, document};
use threadwise_document::Document;
use threadwise_machine::Topology;
use threadwise_study::Run;

/// Four cores of two threads; one thread of every core does 4, both do 4 times this.
fn made(both: f64, by: f64) -> (Study, Topology, Vec<Run>) {
    let mut study = study(&[""], &["N no-smt 4", "L all 8"]);
    study.engine = "postgres".to_owned();
    study.comparisons.push(comparison("L", &["N"], "smt-whole"));
    let mut runs = Vec::new();
    for block in 0..8_u32 {
        for (salt, (name, ratio)) in (0..).zip([("A", 1.0), ("A'", 1.0), ("N", 4.0), ("L", 4.0 * both)]) {
            let step = f64::from((block * 7 + salt * 5) % 9) - 4.0;
            let rows = (100_000.0 * ratio * (1.0 + by * step)) as u64;
            runs.push(run(block, name, &[rows, rows]));
        }
    }
    (study, machine(1, 4, 2), runs)
}

fn priced(both: f64, by: f64, prices: Prices) -> Document {
    let (study, topology, runs) = made(both, by);
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let asked = Asked { prices: Some(prices), ..Asked::default() };
    document(&Facts { asked, ..Facts::new(&study, &topology, &analysis) })
}

fn licence(per: LicencePer) -> Prices {
    Prices { machine_per_h: 0.0, licence_per_h: 0.5, per }
}

fn said(document: &Document) -> String {
    document.advice.iter().find(|one| one.about == "cost").unwrap().line.to_string()
}

#[test]
fn break_even_is_two_by_vcpu_and_one_by_core() {
    let vcpu = said(&priced(1.27, 0.0005, licence(LicencePer::Vcpu)));
    assert!(vcpu.starts_with("Cost: one thread of every core is cheaper"), "{vcpu}");
    assert!(vcpu.ends_with("break-even 2.00x)."), "{vcpu}");
    let core = said(&priced(1.27, 0.0005, licence(LicencePer::Core)));
    assert!(core.starts_with("Cost: keep both threads") && core.ends_with("break-even 1.00x)."), "{core}");
    // P = 4, L = 0.5, four cores: 4 + 4 over 4 + 2.
    let both = Prices { machine_per_h: 4.0, licence_per_h: 0.5, per: LicencePer::Vcpu };
    assert!((both.per_h(4, 2) / both.per_h(4, 1) - 8.0 / 6.0).abs() < 1e-12);
    assert!(said(&priced(1.27, 0.0005, both)).contains("break-even 1.33x"));
    assert_eq!(licence(LicencePer::Machine).per_h(4, 2), 0.5);
}

#[test]
fn what_is_not_decided_is_guessed() {
    let near = said(&priced(1.02, 0.02, licence(LicencePer::Core)));
    assert!(near.starts_with("Cost: not enough data to say whether both threads are cheaper"), "{near}");
    assert!(near.contains("best guess both threads are, probability "), "{near}");
}

#[test]
fn the_section_has_the_rule_and_its_date() {
    let document = priced(1.27, 0.0005, licence(LicencePer::Core));
    let text = format!("{:?}", document.section("cost").unwrap());
    assert!(text.contains(RULE_DATE) && text.contains("check your contract"), "{text}");
    assert!(document.verdict.iter().any(|finding| finding.text().starts_with("Cost: ")));
}

#[test]
fn prices_that_mean_nothing_are_refused() {
    let (mut study, ..) = made(1.2, 0.001);
    assert_eq!(fault(&licence(LicencePer::Core), &study), None);
    let free = Prices { machine_per_h: 0.0, licence_per_h: 0.0, per: LicencePer::Core };
    assert!(fault(&free, &study).unwrap().contains("--price-hour"));
    study.engine = "sqlite".to_owned();
    assert!(fault(&licence(LicencePer::Vcpu), &study).unwrap().contains("public domain"));
    assert_eq!(fault(&Prices { machine_per_h: 1.0, ..free }, &study), None);
}
