//! Steps of DOP, better than linear and poor at first, as the published article found by eye.

use super::*;

/// Speed-ups at DOP 1 to 2 and 2 to 4 of some queries; the rest gain 1.7 and 1.6.
fn speedups(query: u8) -> (f64, f64) {
    match query {
        2 | 11 | 13 | 18 => (2.3, 2.4),
        6 | 15 => (1.1, 1.9),
        _ => (1.7, 1.6),
    }
}

fn sweep() -> (Study, Vec<Run>) {
    let study = study_of("1-22", &["d2 no-smt 1 2", "d4 no-smt 1 4"]);
    let runs = power(&study, 8, |name, query, block| {
        let (first, second) = speedups(query);
        let speed = match name {
            "d2" => first,
            "d4" => first * second,
            _ => 1.0,
        };
        took(query, 1000.0 / speed * noise(block, name, query, 0.01))
    });
    (study, runs)
}

fn marked(found: &Queries, mark: StepMark) -> Vec<(u8, u32)> {
    let steps = found.steps.iter().filter(|step| step.mark == mark);
    steps.filter_map(|step| Some((step.query?, step.to_dop))).collect()
}

#[test]
fn the_marks_of_the_article() {
    let (study, runs) = sweep();
    let found = queries_of(&study, &runs);
    assert_eq!(found.steps.len(), 2 * 23);
    let both = |query: u8| [(query, 2), (query, 4)];
    assert_eq!(marked(&found, StepMark::SuperScaling), [2, 11, 13, 18].map(both).concat());
    assert_eq!(marked(&found, StepMark::PoorThenGood), [(6, 2), (15, 2)]);
    let all: Vec<&DopStep> = found.steps.iter().filter(|step| step.query.is_none()).collect();
    assert_eq!((all.len(), all[0].from.as_str(), all[0].to.as_str()), (2, "A", "d2"));
    assert_eq!((all[1].from_dop, all[1].to_dop, all[1].streams), (2, 4, 1));
    let truth = (4.0 * 2.3_f64.ln() + 2.0 * 1.1_f64.ln() + 16.0 * 1.7_f64.ln()) / 22.0;
    assert!(
        (all[0].speed.value.ln() - truth).abs() < 0.01 && all[0].speed.is_different(),
        "{:?}",
        all[0].speed
    );
    assert_eq!((all[0].mark, all[0].plan_change), (StepMark::None, Change::Same));
}

#[test]
fn linear_steps_are_not_better_than_linear() {
    let study = study_of("1-22", &["d2 no-smt 1 2", "d3 no-smt 1 3"]);
    let runs = power(&study, 8, |name, query, block| {
        let dop = match name {
            "d2" => 2.0,
            "d3" => 3.0,
            _ => 1.0,
        };
        took(query, 1000.0 / dop * noise(block, name, query, 0.02))
    });
    let found = queries_of(&study, &runs);
    assert_eq!(found.steps.len(), 2 * 23);
    assert!(found.steps.iter().all(|step| step.mark == StepMark::None));
}

#[test]
fn a_step_is_among_treatments_that_differ_in_their_dop_alone() {
    let mut study = study_of("1", &["m2 no-smt 1 2", "all2 all 1 2", "all4 all 1 4", "s2 no-smt 2 2"]);
    study.treatments[2].options.insert("storage".to_owned(), OptionValue::Text("memory".to_owned()));
    let mut runs = power(&study, 2, |_, query, _| took(query, 100.0));
    runs.iter_mut()
        .filter(|run| run.treatment.starts_with("all"))
        .for_each(|run| run.cpus = vec![0, 1, 2, 3]);
    let found = queries_of(&study, &runs);
    let steps: Vec<(&str, &str)> =
        found.steps.iter().map(|step| (step.from.as_str(), step.to.as_str())).collect();
    assert_eq!(steps, [("all2", "all4"), ("all2", "all4")]);
}

#[test]
fn the_dop_is_the_number_of_logical_cpus_where_none_is_asked_for() {
    let mut study = study_of("1", &["T no-smt 1 2"]);
    study.treatments[2].options.remove("dop");
    let found = queries_of(&study, &power(&study, 2, |_, query, _| took(query, 100.0)));
    assert_eq!(found.treatments[2].dop, Some(2));
    assert_eq!(found.steps.len(), 2);
}
