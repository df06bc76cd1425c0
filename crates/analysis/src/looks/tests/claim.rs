//! What is claimed and what is refused.

use super::super::checks::Check;
use super::super::claim::{Claim, Level, Outcome, by_state, effect};
use super::super::rows::{By, Row, Side};
use super::super::states::LookState::{Clear, SameCore};
use super::study;

const LEVEL: Level = Level { alpha: 0.05, shifts: 199, seed: 1, by: By::Core };

fn claim(rows: &[Row]) -> (Claim, Vec<Check>) {
    let got = by_state(rows, LEVEL).unwrap();
    let refusing = got.checks.iter().filter(|check| !check.passed()).map(|check| check.check).collect();
    (got.claim, refusing)
}

fn changed(rows: &[Row], change: impl Fn(&mut Row)) -> Vec<Row> {
    let mut rows = rows.to_vec();
    rows.iter_mut().for_each(change);
    rows
}

#[test]
fn a_clean_study_claims_its_size() {
    let got = by_state(&study(12, 0.65), LEVEL).unwrap();
    assert_eq!((got.claim, got.disagreement, got.ratio.blocks), (Claim::Size, Some(0.0), 12));
    assert!(got.ratio.low < 0.65f64.ln() && got.ratio.high > 0.65f64.ln() && got.ratio.high < 0.7f64.ln());
    assert_eq!(claim(&study(12, 1.0)).0, Claim::NotShown);
}

#[test]
fn looks_that_disagree_leave_a_direction() {
    let short = changed(&study(12, 0.65), |row| {
        let leaves = row.round % 4 == 0;
        row.after = if leaves { Some(Clear) } else { row.before };
    });
    assert_eq!(claim(&short), (Claim::Direction, vec![]));
}

#[test]
fn each_check_refuses() {
    let calm = study(12, 0.65);
    let is_same = |row: &Row| row.before == Some(SameCore);
    let load = changed(&calm, |row| row.amount.done *= if is_same(row) { 0.8 } else { 1.0 });
    assert_eq!(claim(&load), (Claim::Refused, vec![Check::Baseline]));
    let clock = changed(&calm, |row| row.chain_per_ns = Some(if is_same(row) { 0.9 } else { 1.0 }));
    assert_eq!(claim(&clock), (Claim::Refused, vec![Check::Chain]));
    let no_width = changed(&calm, |row| row.adds_per_ns = Some(9.0));
    assert_eq!(claim(&no_width), (Claim::Refused, vec![Check::Wide]));
    let unknown = changed(&calm, |row| row.adds_per_ns = None);
    assert_eq!(claim(&unknown), (Claim::Refused, vec![Check::Wide]));
    let follows =
        changed(&calm, |row| row.before = if row.side == Side::Treatment { row.before } else { Some(Clear) });
    let (got, refusing) = claim(&follows);
    assert_eq!(got, Claim::Refused);
    assert!(refusing.contains(&Check::Prevalence), "{refusing:?}");
}

#[test]
fn a_check_without_numbers_is_not_passed_and_its_limit_is_a_fifth() {
    let got = by_state(&study(12, 0.65), LEVEL).unwrap();
    for check in &got.checks {
        match check.check {
            Check::Wide => assert_eq!(check.limit, None),
            _ => assert_eq!(check.limit, Some(0.2 * got.ratio.mean.abs())),
        }
        assert!(check.passed());
    }
}

#[test]
fn a_closed_gate_says_how_long_it_would_take() {
    let few = effect("P : A+A'", ("P", 2), &study(4, 0.65), LEVEL);
    let Outcome::Closed(needed) = &few.outcome else { panic!("{:?}", few.outcome) };
    assert_eq!(needed.blocks, Some(8));
    assert!(few.spread.raw.is_some() && few.by_state().is_none());
    assert!(effect("P : A+A'", ("P", 2), &study(12, 0.65), LEVEL).by_state().is_some());
}
