//! Statements in production: what is said of made-up histories.

pub mod history;

use history::*;
use threadwise_analysis::observed::{By, Comparison, Confounded, document, trust};
use threadwise_document::screen::TrustLevel;
use threadwise_observed::{Count, Gap, Host, Neighbours, Unseen};

/// Five of 30 statements, by these factors.
pub const FACTORS: [f64; 5] = [1.5, 1.3, 1.25, 0.75, 0.6];

fn slower(found: &Comparison<'_>) -> Vec<u32> {
    let mut numbers: Vec<u32> =
        found.statements.iter().filter(|one| one.is_slower()).map(|one| one.number).collect();
    numbers.sort_unstable();
    numbers
}

fn verdict(found: &Comparison<'_>) -> String {
    let lines = document(found, "o.threadwise", "0").verdict;
    lines.iter().map(|finding| finding.text()).collect::<Vec<_>>().join("\n")
}

#[test]
fn histories_without_a_change_have_no_findings_and_changes_are_found() {
    // At most 5% of histories may have a false finding: 10 of 200. The seeds are fixed.
    let rates = rates(TURNS, PRODUCTION, &FACTORS, 200);
    println!("{rates:?}");
    assert!(rates.false_histories <= 10, "{rates:?}");
    assert!(rates.found > 0.85 && rates.covered > 0.94, "{rates:?}");
}

#[test]
fn steady_growth_is_no_change_of_state() {
    // 10% a day: with pairs in place of triples every statement would be found.
    let noise = Noise { growth: 0.1, stalls: 0.0, ..PRODUCTION };
    let false_histories = rates(TURNS, noise, &[], 50).false_histories;
    assert!(false_histories <= 4, "{false_histories} of 50");
}

#[test]
fn the_words_name_what_changed_and_what_did_not() {
    let quiet = Noise { daily: 0.01, growth: 0.0, interval: 0.02, of_load: 0.1, stalls: 0.0 };
    let history = history(TURNS, quiet, &[1.5, 0.5], 7);
    let found = compared(&history, question(By::Smt)).unwrap();
    let text = verdict(&found);
    assert!(text.contains("1 of 30 statements is slower with SMT on: #1 1.5"), "{text}");
    assert!(text.contains("is faster with SMT on: #2 0.50x") && text.contains("SELECT 1 FROM t"), "{text}");
    assert!(text.contains("did not change by more than 5%"), "{text}");
    assert!(!text.contains("confounded"), "{text}");
    assert_eq!(trust(&found).level, TrustLevel::Good);
    assert_eq!((found.unit, found.units, found.changes), ("change of state", 16, 47));
    assert!(found.matched_load && !found.matched_hours);
}

#[test]
fn busy_neighbours_are_a_state_that_is_not_set() {
    let quiet = Noise { daily: 0.01, growth: 0.0, interval: 0.02, of_load: 0.1, stalls: 0.0 };
    let mut history = history(TURNS, quiet, &[1.5], 7);
    for (hour, interval) in history.intervals.iter_mut().enumerate() {
        let is_busy = interval.states.smt.as_deref() == Some("on");
        // Every tenth hour is between the classes, and every eleventh has too few looks.
        let (looks, share) = match hour {
            _ if hour % 10 == 3 => (40, 0.1),
            _ if hour % 11 == 3 => (9, 0.9),
            _ => (40, if is_busy { 0.3 } else { 0.025 }),
        };
        interval.neighbours = Some(Neighbours::Seen { looks, share });
        let host = Host { used_low_share: 0.5, used_high_share: 0.5, stolen_share: 0.01, ..Host::default() };
        interval.host = Some(host);
    }
    let found = compared(&history, question(By::Neighbours)).unwrap();
    assert_eq!((found.first.as_str(), found.second.as_str(), found.changes), ("quiet", "busy", 47));
    let is_near = |found: [Option<f64>; 2], wanted: [f64; 2]| {
        found
            .iter()
            .zip(wanted)
            .all(|(found, wanted)| found.is_some_and(|found| (found - wanted).abs() < 1e-9))
    };
    assert!(is_near(found.neighbour_share, [0.025, 0.3]), "{:?}", found.neighbour_share);
    assert!(is_near(found.used_share, [0.5; 2]) && is_near(found.stolen_share, [0.01; 2]));
    assert_eq!(slower(&found), [1]);
    assert_eq!(found.confounded, [Confounded::NotSet]);
    let text = verdict(&found);
    assert!(text.contains("slower with neighbours busy: #1 1.5"), "{text}");
    assert!(text.contains("Neighbours come by themselves"), "{text}");
    for interval in &mut history.intervals {
        interval.neighbours = Some(Neighbours::Seen { looks: 40, share: 0.0 });
    }
    let refused = compared(&history, question(By::Neighbours)).unwrap_err();
    assert!(refused.contains("neighbours are quiet") && refused.contains("observe longer"), "{refused}");
    for interval in &mut history.intervals {
        interval.neighbours = Some(Neighbours::Unknown(Unseen::NoLook));
    }
    let refused = compared(&history, question(By::Neighbours)).unwrap_err();
    assert!(refused.contains("observe --neighbours"), "{refused}");
    let found = compared(&history, question(By::Smt)).unwrap();
    assert_eq!(found.neighbour_share, [None, None]);
}

#[test]
fn one_change_is_confounded_and_yesterday_is_one() {
    let schedule = Schedule { days: 12, hours_a_state: 24 * 11, statements: 10 };
    let noise = Noise { daily: 0.02, growth: 0.0, interval: 0.05, of_load: 0.1, stalls: 0.0 };
    let history = history(schedule, noise, &[2.0], 3);
    let by_state = compared(&history, question(By::Smt)).unwrap();
    let since = START_MS + 11 * 24 * HOUR_MS;
    let by_moment = compared(&history, question(By::Moment(since))).unwrap();
    for found in [by_state, by_moment] {
        assert_eq!(slower(&found), [1], "{found:?}");
        assert_eq!((found.unit, found.units, found.changes), ("day", 12, 1));
        assert!(found.matched_hours);
        assert_eq!(found.confounded, [Confounded::OneChange]);
        let text = verdict(&found);
        assert!(
            text.contains("One change of state only: confounded with all else that changed that day"),
            "{text}"
        );
        assert_eq!(trust(&found).level, TrustLevel::Fair);
    }
}

#[test]
fn days_that_differ_as_usual_are_no_finding() {
    let schedule = Schedule { days: 15, hours_a_state: 24 * 14, statements: 30 };
    // Days that scatter, without a walk: yesterday is one of them.
    let noise = Noise { daily: 0.0, growth: 0.0, ..PRODUCTION };
    let false_histories = rates(schedule, noise, &[], 100).false_histories;
    assert!(false_histories <= 5, "{false_histories} of 100");
}

#[test]
fn hours_of_two_days_are_no_finding() {
    let schedule = Schedule { days: 2, hours_a_state: 24, statements: 30 };
    let noise = Noise { daily: 0.0, ..PRODUCTION };
    let false_histories = rates(schedule, noise, &[], 100).false_histories;
    assert!(false_histories <= 5, "{false_histories} of 100");
}

#[test]
fn a_first_state_of_one_day_is_compared_by_hour() {
    let schedule = Schedule { days: 5, hours_a_state: 24 * 4, statements: 10 };
    let noise = Noise { daily: 0.0, growth: 0.0, interval: 0.02, of_load: 0.0, stalls: 0.0 };
    let mut made = history(schedule, noise, &[2.0], 3);
    // The first day alone is off.
    for (hour, interval) in made.intervals.iter_mut().enumerate() {
        interval.states.smt = Some(if hour < 24 { "off" } else { "on" }.to_owned());
    }
    let found = compared(&made, question(By::Smt)).unwrap();
    assert_eq!((found.unit, found.left_out.too_few_units), ("hour", 0));
    assert_eq!(found.statements.len(), 10);
}

#[test]
fn states_at_other_hours_of_the_day_are_confounded_with_them() {
    let schedule = Schedule { days: 20, hours_a_state: 12, statements: 5 };
    let history = history(schedule, PRODUCTION, &[], 5);
    let found = compared(&history, question(By::Smt)).unwrap();
    assert_eq!(found.confounded, [Confounded::OtherHours]);
    assert!(verdict(&found).contains("at other hours of the day"));
}

#[test]
fn load_that_differs_between_states_is_matched() {
    // Times a call grow with the load, and the load is twice as high in every other day of SMT.
    let noise = Noise { daily: 0.0, growth: 0.0, interval: 0.02, of_load: 0.0, stalls: 0.0 };
    let mut made = history(TURNS, noise, &[], 11);
    for (hour, interval) in made.intervals.iter_mut().enumerate() {
        let is_high = match interval.states.smt.as_deref() {
            Some("on") => hour % 4 != 0,
            _ => hour % 4 == 0,
        };
        for count in interval.counts.iter_mut().filter(|_| is_high) {
            count.calls *= 8;
            count.time_ns *= 16;
        }
    }
    let found = compared(&made, question(By::Smt)).unwrap();
    assert!(found.matched_load && found.calls_per_s[1] > 1.5 * found.calls_per_s[0]);
    assert!(slower(&found).is_empty(), "{}", verdict(&found));
    assert!(verdict(&found).contains("The load differed"));
}

#[test]
fn what_is_not_there_is_not_compared() {
    let mut made = history(TURNS, PRODUCTION, &[], 1);
    // One statement is ours, one is of one state only, and gaps have no figures.
    made.statements[0].is_ours = true;
    for interval in &mut made.intervals {
        let is_on = interval.states.smt.as_deref() == Some("on");
        interval.counts.retain(|count| count.statement != 1 || is_on);
    }
    made.intervals[5].gap = Some(Gap::Restart);
    made.intervals[5].counts.clear();
    made.intervals[6].counts.push(Count { statement: 29, calls: 1, time_ns: 1, rows: 0 });
    let found = compared(&made, question(By::Smt)).unwrap();
    assert_eq!((found.statements.len(), found.left_out.one_state, found.gaps["restart"]), (28, 1, 1));
    let most =
        compared(&made, threadwise_analysis::observed::Question { most: 3, ..question(By::Smt) }).unwrap();
    assert_eq!((most.statements.len(), most.left_out.beyond), (3, 25));
}

#[test]
fn questions_that_cannot_be_answered_say_what_to_do() {
    let made = history(TURNS, PRODUCTION, &[], 1);
    let why = |by: By| compared(&made, question(by)).unwrap_err();
    assert!(why(By::State).contains("--state NAME"), "{}", why(By::State));
    assert!(why(By::Moment(START_MS)).contains("2026-01-01T00:00:00Z"), "{}", why(By::Moment(START_MS)));
    let mut same = history(TURNS, PRODUCTION, &[], 1);
    same.intervals.iter_mut().for_each(|interval| interval.states.smt = Some("on".to_owned()));
    let one = compared(&same, question(By::Smt)).unwrap_err();
    assert!(one.contains("one SMT only, on") && one.contains("--since TIME"), "{one}");
    same.intervals[0].states.smt = Some("off".to_owned());
    same.intervals[1].states.smt = Some("forced".to_owned());
    let three = compared(&same, question(By::Smt)).unwrap_err();
    assert!(three.contains("--between"), "{three}");
    let mut short = history(Schedule { days: 1, ..TURNS }, PRODUCTION, &[], 1);
    short.intervals.truncate(9);
    short.intervals.iter_mut().for_each(|interval| interval.gap = Some(Gap::Reset));
    assert!(compared(&short, question(By::Smt)).unwrap_err().contains("run longer"));
}
