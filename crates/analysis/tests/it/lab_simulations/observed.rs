//! Error rates of statements in production, over many histories of several kinds of noise.

use crate::observed::FACTORS;
use crate::observed::history::{Noise, PRODUCTION, Rates, Schedule, TURNS, rates};

/// Histories of each kind.
const HISTORIES: u64 = 2000;

/// At most 5% of histories without a change have a finding; the standard error of a share of 2,000 is 0.5%, and 6.5% is
/// three of them away. The seeds are fixed.
fn holds(what: &str, schedule: Schedule, noise: Noise, factors: &[f64]) -> Rates {
    let rates = rates(schedule, noise, factors, HISTORIES);
    println!(
        "{what}: false in {} of {HISTORIES}, {:.1}% found, {:.1}% of intervals cover",
        rates.false_histories,
        100.0 * rates.found,
        100.0 * rates.covered
    );
    assert!(rates.false_histories as f64 <= 0.065 * HISTORIES as f64, "{what}: {rates:?}");
    rates
}

#[test]
#[ignore = "laboratory: simulations"]
fn states_that_take_turns_have_few_false_findings_in_all_kinds_of_noise() {
    let quiet = Noise { stalls: 0.0, ..PRODUCTION };
    assert!(holds("production", TURNS, PRODUCTION, &FACTORS).covered > 0.94);
    assert!(holds("no stalls", TURNS, quiet, &FACTORS).covered > 0.93);
    holds("days that walk far", TURNS, Noise { daily: 0.2, ..quiet }, &FACTORS);
    holds("growth of 10% a day", TURNS, Noise { growth: 0.1, ..quiet }, &FACTORS);
    holds("many stalls", TURNS, Noise { stalls: 0.1, ..PRODUCTION }, &FACTORS);
    // Half of the triples have their middle in the other state, so days that walk do not favour one.
    holds("six days", Schedule { days: 6, ..TURNS }, quiet, &FACTORS);
    holds("a state a day", Schedule { days: 48, hours_a_state: 24, ..TURNS }, PRODUCTION, &FACTORS);
}

#[test]
#[ignore = "laboratory: simulations"]
fn days_before_and_yesterday_have_few_false_findings_where_days_scatter() {
    let schedule = Schedule { days: 15, hours_a_state: 24 * 14, statements: 30 };
    let noise = Noise { daily: 0.0, growth: 0.0, stalls: 0.0, ..PRODUCTION };
    holds("yesterday against 14 days", schedule, noise, &FACTORS);
    let week = Schedule { days: 14, hours_a_state: 24 * 7, statements: 30 };
    holds("a week against a week", week, noise, &FACTORS);
}

/// What "one change only: confounded" is there for: days that walk change by themselves.
#[test]
#[ignore = "laboratory: simulations"]
fn days_that_walk_are_why_one_change_is_confounded() {
    let schedule = Schedule { days: 15, hours_a_state: 24 * 14, statements: 30 };
    let noise = Noise { daily: 0.05, growth: 0.0, stalls: 0.0, ..PRODUCTION };
    let rates = rates(schedule, noise, &FACTORS, 500);
    println!("yesterday, days that walk: false in {} of 500", rates.false_histories);
}

#[test]
#[ignore = "laboratory: simulations"]
fn hours_and_few_changes_have_few_false_findings() {
    let schedule = |days, hours_a_state| Schedule { days, hours_a_state, statements: 30 };
    let steady = Noise { daily: 0.0, ..PRODUCTION };
    holds("a day against a day, by hour", schedule(2, 24), steady, &FACTORS);
    holds("12 hours against 12 hours", schedule(1, 12), steady, &FACTORS);
    holds("4 hours against 20 hours", schedule(1, 20), steady, &FACTORS);
    holds("three changes, by day", schedule(8, 48), steady, &FACTORS);
}
