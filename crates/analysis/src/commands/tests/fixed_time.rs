//! Commands that always take the same time.

use super::*;
use crate::FindingKind;

/// Blocks of A, A' and T that all last a second, within so much, and say `p99` where there is a spec for it.
fn of_a_second(jitter: f64, metrics: &[(&str, &str)], options: &[(&str, &str)]) -> (Study, Vec<Run>) {
    let mut study = commands(&["T 2c1t 2"], metrics);
    for treatment in &mut study.treatments {
        let put = |(key, text): &(&str, &str)| ((*key).to_owned(), OptionValue::Text((*text).to_owned()));
        treatment.options.extend(options.iter().map(put));
    }
    let run_of = |block: u32, (salt, name): (u32, &str)| {
        let elapsed = 1.0 + jitter * (wobble(block, salt) - 1.0);
        let p99 = if name == "T" { 4.0 } else { 2.0 };
        let said = [("p99", p99 * wobble(block, salt + 1))];
        run(block, name, elapsed, 0.5 * wobble(block, salt + 2), if metrics.is_empty() { &[] } else { &said })
    };
    let names = [(0, "A"), (1, "A'"), (2, "T")];
    let runs = (0..8).flat_map(|block| names.map(|name| run_of(block, name)));
    (study, runs.collect())
}

#[test]
fn a_command_that_always_takes_the_same_time_is_not_judged_by_its_duration() {
    let topology = machine(1, 2, 1);
    let said = |study: &Study, runs: &[Run]| {
        let analysis = analyse_on(study, Some(&topology), runs, 1.0);
        let findings = plain_verdict(study, &topology, &analysis);
        (of_kind(&findings, FindingKind::Command), of_kind(&findings, FindingKind::Scope), analysis)
    };
    let (study, runs) = of_a_second(0.05, &[], &[]);
    let (command, scope, analysis) = said(&study, &runs);
    assert!(
        command[0].starts_with(
            "Not judged: every run takes 1.00 s, wherever it runs (medians of treatments differ by at most <0.1%)."
        ),
        "{command:?}"
    );
    assert!(command[0].contains("`--metric NAME='UNIT BETTER KIND:PATTERN'`"), "{command:?}");
    assert!(scope[0].contains("Next: name what it does in that time"), "{scope:?}");
    assert!(!analysis.estimates.iter().any(|estimate| estimate.metric == ELAPSED));
    let commands = analysis.commands.as_ref().unwrap();
    assert!(commands.fastest.is_empty() && analysis.choices.is_empty());
    assert_eq!(commands.gap("T : A+A'", ELAPSED).unwrap().reason, "the same in every treatment");
    assert!(commands.fixed_time.unwrap().spread_share <= 0.001);
    // Nor is it compared by its duration with another study.
    let facts = |source, created_utc| crate::Facts {
        source,
        created_utc,
        ..crate::Facts::new(&study, &topology, &analysis)
    };
    let (before, after) = ([facts("one", "2026-01-01T00:00:00Z")], [facts("two", "2026-01-02T00:00:00Z")]);
    let sides = crate::compare::change::Sides { before: &before, after: &after, is_paired: false };
    let refused = crate::compare::change::check(sides, None).unwrap_err().to_string();
    assert!(refused.starts_with("one is of a command that always takes the same time"), "{refused}");
    assert!(crate::compare::change::check(sides, Some("elapsed_ns")).is_ok());
    // A metric that is the headline is judged, and so are durations that the user asks for.
    for headline in ["p99", "elapsed"] {
        let spec = ("p99", "ms lower regex:p99");
        let (study, runs) = of_a_second(0.05, &[spec], &[("headline", headline)]);
        let (command, _, analysis) = said(&study, &runs);
        assert!(!command[0].contains("Not judged"), "{command:?}");
        assert!(analysis.commands.unwrap().fixed_time.is_none());
    }
    // Durations that differ by more are those of work.
    let (study, mut runs) = of_a_second(0.05, &[], &[]);
    runs.iter_mut().filter(|run| run.treatment == "T").for_each(|run| {
        let session = &mut run.slices[0].sessions[0];
        session.finished_ns = session.finished_ns.map(|ns| ns + 3_000_000);
    });
    assert!(said(&study, &runs).2.commands.unwrap().fixed_time.is_none());
}
