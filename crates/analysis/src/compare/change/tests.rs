//! Changes of made-up studies.

use super::*;
use crate::analyse_on;
use crate::fixtures::{machine, run, study};
use threadwise_document::{Block, Cell};
use threadwise_machine::Topology;
use threadwise_study::{OptionValue, Run, Study};

/// A study that was analysed, with what a file says beside it.
struct Made {
    study: Study,
    topology: Topology,
    analysis: crate::Analysis,
    source: String,
    begun: String,
}

impl Made {
    /// The study of this number: A does 100,000 rows a second times `factor`, P twice as much times `of_p`. Blocks wobble
    /// by a little.
    fn new(number: u32, factor: f64, of_p: f64) -> Self {
        let study = study(&[""], &["P same-package 2"]);
        let blocks = 0..8u32;
        let runs: Vec<Run> = blocks
            .flat_map(|block| {
                let rows = move |rate: f64, at: u32| {
                    (rate * (1.0 + 0.001 * f64::from((block * 7 + at * 5 + number) % 9))) as u64
                };
                [("A", 1e5 * factor), ("A'", 1e5 * factor), ("P", 2e5 * factor * of_p)]
                    .into_iter()
                    .zip(0..)
                    .map(move |((name, rate), at)| run(block, name, &[rows(rate, at)]))
            })
            .collect();
        let topology = machine(1, 2, 1);
        let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
        let begun = format!("2026-01-01T{:02}:00:00Z", number);
        Self { study, topology, analysis, source: format!("s{number}"), begun }
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            source: &self.source,
            created_utc: &self.begun,
            ..Facts::new(&self.study, &self.topology, &self.analysis)
        }
    }
}

/// Three studies a side, in turns; those of after times a factor, P of after times another.
fn three(after: f64, p: f64) -> (Vec<Made>, Vec<Made>) {
    let hour = [1.0, 1.01, 0.99];
    let side = |from: u32, factor: f64, p: f64| {
        (0..3u32).map(|at| Made::new(2 * at + from, hour[at as usize] * factor, p)).collect()
    };
    (side(0, 1.0, 1.0), side(1, after, p))
}

fn facts(made: &[Made]) -> Vec<Facts<'_>> {
    made.iter().map(Made::facts).collect()
}

/// The change, with the plain text of its answer.
fn changed<T>(
    sides: &(Vec<Made>, Vec<Made>),
    is_paired: bool,
    look: impl FnOnce(&Change<'_>, Vec<String>) -> T,
) -> T {
    let (before, after) = (facts(&sides.0), facts(&sides.1));
    let sides = Sides { before: &before, after: &after, is_paired };
    let change = change(sides, None).unwrap();
    let answer = answer(&change).iter().map(crate::Finding::text).collect();
    look(&change, answer)
}

#[test]
fn studies_are_the_unit() {
    changed(&three(0.8, 1.0), false, |change, answer| {
        let first = &change.treatments[0];
        assert_eq!((first.name, change.studies_before, change.studies_after), ("A", 3, 3));
        assert_eq!(change.treatments.len(), 2);
        assert!((first.ratio.value - 0.8).abs() < 1e-3, "{first:?}");
        // Welch of 0, 1, -1% against the same: se = 1% * sqrt(2 / 3) = 0.816%, 4 degrees, t = 2.776.
        let half = (first.ratio.high / first.ratio.low).ln() / 2.0;
        assert!((half - 0.01 * (2f64 / 3.0).sqrt() * 2.776).abs() < 5e-4, "{half}");
        assert!(change.obstacles.is_empty() && change.cautions.is_empty(), "{change:?}");
        assert!(
            answer[0].starts_with("It got worse: 2 of 2 treatments by 3% or more: A 0.80x ["),
            "{answer:?}"
        );
        // The ratio of P to A has not changed.
        assert_eq!(
            change.comparisons.iter().map(|one| one.verdict).collect::<Vec<_>>(),
            [ChangeVerdict::Same]
        );
        assert_eq!(change.regressions().len(), 2);
    });
}

#[test]
fn nothing_and_better_and_undecided_are_told_apart() {
    changed(&three(1.0, 1.0), true, |change, answer| {
        assert!(change.is_paired && change.obstacles.is_empty(), "{:?}", change.obstacles);
        assert_eq!(answer, ["It did not change: all 2 treatments are within the margin of 3%."]);
    });
    changed(&three(1.0, 1.0), false, |_, answer| {
        assert_eq!(answer[0], "It did not change: all 2 treatments are within the margin of 3%.");
    });
    changed(&three(1.0, 1.2), false, |change, answer| {
        assert!(answer[0].starts_with("It changed: 1 of 2 treatments better: P 1.20x ["), "{answer:?}");
        assert!(answer[1].starts_with("Within the margin of 3%: A 1.00x"), "{answer:?}");
        assert!(change.regressions().is_empty());
    });
    let mut wide = three(1.0, 1.0);
    wide.1[0] = Made::new(1, 1.2, 1.0);
    changed(&wide, false, |_, answer| {
        assert_eq!(answer[0], "No change is shown: 2 of 2 treatments are undecided.");
        assert!(answer[1].starts_with("Undecided, more studies per side decide it: A 1.0"), "{answer:?}");
        assert!(
            answer[2].starts_with("The smallest change of A that these studies could have shown is 0.")
                && answer[2].contains("x; about ")
                && answer[2].ends_with(" more studies per side show one of 3%."),
            "{answer:?}"
        );
    });
}

/// A ratio of two series, judged alone.
fn ratio_of(after: &[f64], before: &[f64], is_paired: bool) -> Ratio {
    let rule = Rule { margin: 0.03, alpha: 0.05, direction: Direction::HigherIsBetter };
    let pairs = [(after.to_vec(), before.to_vec())];
    let ratios = if is_paired { paired_differences(&pairs, rule) } else { differences(&pairs, rule) };
    ratios[0].clone().unwrap()
}

#[test]
fn what_studies_could_have_shown() {
    let studies = [0.2, 0.0, -0.2];
    let of = |after: &[f64], before: &[f64], is_paired| {
        Reach::of(before, after, is_paired, &ratio_of(after, before, is_paired)).unwrap()
    };
    // Welch of two sides with sd 0.2: se = 0.2 · sqrt(2 / 3); t(0.9875, 4) = 3.495.
    let reach = of(&studies, &studies, false);
    assert!((reach.smallest.ln() - 0.2 * (2f64 / 3.0).sqrt() * 3.495).abs() < 1e-3, "{reach:?}");
    // So many with that spread do show the margin, and one fewer does not.
    let many = |count: u32| -> Vec<f64> {
        let sign = |at: u32| if at.is_multiple_of(2) { 1.0 } else { -1.0 };
        let values: Vec<f64> = (0..count).map(|at| sign(at) * f64::from(at.min(1))).collect();
        let sd = threadwise_statistics::summary(&values).unwrap().sd;
        values.iter().map(|value| value * 0.2 / sd).collect()
    };
    let half = |count: u32| {
        let ratio = ratio_of(&many(count), &many(count), false);
        (ratio.adjusted_high / ratio.adjusted_low).ln() / 2.0
    };
    let studies_needed = reach.studies.unwrap();
    assert!(
        half(studies_needed) <= 1.03f64.ln() && half(studies_needed - 1) > 1.03f64.ln(),
        "{studies_needed}"
    );
    // In pairs what both have in common is in neither: the differences have sd 0.002, and three are enough.
    let reach = of(&[0.202, 0.0, -0.202], &studies, true);
    assert!(reach.smallest < 1.03 && reach.studies.unwrap() <= 3, "{reach:?}");
    // Without spread nothing is missing; with too much no feasible number is enough; one has none.
    assert_eq!(of(&[0.1; 3], &[0.1; 3], false), Reach { smallest: 1.0, studies: Some(3) });
    assert_eq!(of(&[2.0, 0.0, -2.0], &studies, false).studies, None);
    assert_eq!(Reach::of(&[0.0], &[0.1], false, &ratio_of(&[0.1], &[0.0], false)), None);
}

#[test]
fn what_is_not_shown_is_told_from_what_is_excluded() {
    let ratio = |value, low, high, direction| Ratio { direction, ..crate::fixtures::ratio(value, low, high) };
    let (rate, time) = (Direction::HigherIsBetter, Direction::LowerIsBetter);
    for (value, low, high, direction, is_open) in [
        // The gate that let a slowdown pass.
        (1.66, 0.92, 2.99, time, true),
        (1.66, 0.92, 2.99, rate, true),
        (1.66, 0.98, 2.99, rate, false),
        (0.6, 0.34, 1.02, time, false),
        (1.0, 0.99, 1.01, rate, false),
        // Shown to be worse, by less than the margin in what was measured: by how much is open.
        (0.98, 0.96, 0.995, rate, true),
        (0.96, 0.94, 0.98, rate, false),
        (1.66, 0.92, 2.99, Direction::Neither, false),
    ] {
        assert_eq!(
            may_be_regression(&ratio(value, low, high, direction)),
            is_open,
            "{value} [{low}, {high}]"
        );
    }
}

#[test]
fn worse_by_less_than_the_margin_is_no_regression() {
    let ratio = |value: f64, direction| Ratio {
        direction,
        ..crate::fixtures::ratio(value, value - 0.005, value + 0.005)
    };
    let higher = |value| ratio(value, Direction::HigherIsBetter);
    assert_eq!((verdict(&higher(0.98)), is_regression(&higher(0.98))), (ChangeVerdict::Same, false));
    // Lower, by how much is open: 0.968 to 0.978 crosses the margin's end at 0.9709.
    assert_eq!((verdict(&higher(0.973)), is_regression(&higher(0.973))), (ChangeVerdict::Worse, false));
    assert_eq!((verdict(&higher(0.969)), is_regression(&higher(0.969))), (ChangeVerdict::Worse, true));
    assert_eq!((verdict(&higher(1.2)), is_regression(&higher(1.2))), (ChangeVerdict::Better, false));
    let time = |value| ratio(value, Direction::LowerIsBetter);
    assert_eq!(
        (verdict(&time(1.2)), is_regression(&time(1.2)), verdict(&time(0.8))),
        (ChangeVerdict::Worse, true, ChangeVerdict::Better)
    );
    let neither = |value| ratio(value, Direction::Neither);
    assert_eq!(
        (verdict(&neither(1.2)), verdict(&neither(0.8)), is_regression(&neither(1.2))),
        (ChangeVerdict::Higher, ChangeVerdict::Lower, false)
    );
}

#[test]
fn too_few_studies_cannot_tell() {
    let (mut before, mut after) = three(0.5, 1.0);
    before.truncate(2);
    changed(&(before, after), false, |change, answer| {
        assert!(change.obstacles[0].starts_with(
            "there are 2 studies before and 3 after, of at least 3 per side, and studies of one machine"
        ));
        assert!(
            answer[0].starts_with("These studies cannot tell whether it changed: there are 2 studies before"),
            "{answer:?}"
        );
        assert!(answer[1].contains("`threadwise compare --before A1 A2 A3"), "{answer:?}");
        assert!(change.regressions().is_empty() && change.treatments[0].ratio.has_ends());
    });
    // Of one study a side the interval is that of the blocks.
    let one;
    (one, after) = (Made::new(0, 1.0, 1.0), vec![Made::new(1, 0.5, 1.0)]);
    changed(&(vec![one], after), false, |change, _| {
        assert!(change.treatments[0].ratio.has_ends() && !change.can_tell());
        assert!(!change.comparisons[0].ratio.has_ends());
    });
}

#[test]
fn other_machines_settings_and_dates_are_seen() {
    let mut sides = three(0.8, 1.0);
    sides.1[2].topology = machine(1, 4, 1);
    changed(&sides, false, |change, _| {
        assert_eq!(change.obstacles, ["the machines differ (cores, allowed logical CPUs)"]);
        assert!(change.regressions().is_empty());
    });
    let mut sides = three(0.8, 1.0);
    for made in &mut sides.1 {
        made.study.engine_options.insert("cache".to_owned(), OptionValue::Integer(3));
    }
    changed(&sides, false, |change, _| {
        assert_eq!((change.obstacles.len(), change.cautions.len()), (0, 0));
        let option = change.aspects.iter().find(|aspect| aspect.name == "engine option cache").unwrap();
        assert_eq!(
            (option.values[0].as_str(), option.values[5].as_str(), option.differs),
            ("not set", "3", true)
        );
    });
    sides.1[0].study.engine_options.clear();
    changed(&sides, false, |change, _| {
        assert_eq!(change.obstacles, ["studies of one side differ in engine option cache"]);
    });
    let mut sides = three(1.0, 1.0);
    for (at, made) in sides.1.iter_mut().enumerate() {
        made.begun = format!("2026-01-02T00:0{at}:00Z");
        made.topology.identity.kernel = (at == 0).then(|| "6.1".to_owned());
    }
    changed(&sides, false, |change, _| {
        assert_eq!(change.cautions[0], "studies of one side differ in kernel");
        assert!(
            change.cautions[1].starts_with("the studies of a side began within an hour"),
            "{:?}",
            change.cautions
        );
    });
    changed(&sides, true, |change, _| {
        assert!(
            change.obstacles[0].starts_with("by their dates the pairs were not run in turns"),
            "{:?}",
            change.obstacles
        );
    });
}

#[test]
fn studies_that_cannot_be_compared_are_refused() {
    let refused = |sides: &(Vec<Made>, Vec<Made>), is_paired: bool, metric: Option<&str>| {
        let (before, after) = (facts(&sides.0), facts(&sides.1));
        change(Sides { before: &before, after: &after, is_paired }, metric).unwrap_err().to_string()
    };
    let mut sides = three(1.0, 1.0);
    assert!(
        refused(&sides, false, Some("speed"))
            .starts_with("s0 is not compared by speed; it has: rows_per_s, ")
    );
    sides.1[1].study.workload = "insert".into();
    assert_eq!(
        refused(&sides, false, None),
        "s3 has the workload insert, and s0 has logical-io: what they do is not the same work"
    );
    let mut sides = three(1.0, 1.0);
    sides.1[0].source = "s0".to_owned();
    assert_eq!(refused(&sides, false, None), "s0 is given twice: a study counts once");
    let mut sides = three(1.0, 1.0);
    sides.1[0] = Made { source: "copy".to_owned(), ..Made::new(0, 1.0, 1.0) };
    assert_eq!(refused(&sides, false, None), "s0 and copy are the same study: a study counts once");
    sides.1.truncate(1);
    assert!(refused(&sides, true, None).starts_with("pairs need as many studies after as before"));
    sides.1.clear();
    assert_eq!(refused(&sides, false, None), "each side needs a study");
    let mut sides = three(1.0, 1.0);
    sides.1[0].study.treatments.iter_mut().for_each(|treatment| treatment.sessions += 1);
    let text = refused(&sides, false, None);
    assert!(
        text.contains(
            "s0 and s1 differ in the number of sessions: 1 against 2: what they do is not the same"
        ),
        "{text}"
    );
    let mut sides = three(1.0, 1.0);
    let with = |made: &mut Made, command: &str| {
        for treatment in &mut made.study.treatments {
            treatment.options.insert("command".to_owned(), OptionValue::Text(command.to_owned()));
        }
    };
    sides.0.iter_mut().for_each(|made| with(made, "./old -x 'a b'"));
    sides.1.iter_mut().for_each(|made| with(made, "./new"));
    let text = refused(&sides, false, None);
    for part in
        ["the option 'command': ./old -x 'a b' against ./new", "threadwise ab -- ./old -x 'a b' --- ./new"]
    {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_treatment_that_one_study_lacks_is_left_out() {
    let mut sides = three(1.0, 1.0);
    sides.1[2].study.treatments[2].name = "Q".to_owned();
    changed(&sides, false, |change, _| {
        let left_out: Vec<(&str, &str)> =
            change.left_out.iter().map(|one| (&*one.name, &*one.reason)).collect();
        assert_eq!(left_out, [("P", "not in all studies"), ("Q", "not in all studies")]);
        assert_eq!((change.treatments.len(), change.comparisons.len()), (1, 0));
        // What every study before has may be worse after.
        let lost: Vec<&str> = change.lost().iter().map(|one| &*one.name).collect();
        assert_eq!(lost, ["P"]);
    });
}

#[test]
fn another_metric_has_its_own_direction() {
    let (before, after) = three(1.0, 1.0);
    let (before, after) = (facts(&before), facts(&after));
    let sides = Sides { before: &before, after: &after, is_paired: false };
    let change = change(sides, Some("cpu_ns_per_row")).unwrap();
    assert_eq!(
        (change.quantity.direction, change.treatments[0].before.unit.as_str()),
        (Direction::LowerIsBetter, "ns")
    );
    assert_eq!(change.treatments[0].verdict, ChangeVerdict::Same);
}

#[test]
fn the_document_has_the_answer_first() {
    let (before, after) = three(0.8, 1.0);
    let (before, after) = (facts(&before), facts(&after));
    let sides = Sides { before: &before, after: &after, is_paired: false };
    let change = change(sides, None).unwrap();
    let made = document(&change, "1.0");
    assert_eq!(made.title, "Did it change? rows/s, after over before");
    assert!(made.verdict[0].text().starts_with("It got worse: "));
    assert_eq!(made.verdict[0].evidence, ["A", "P"]);
    let Block::Table(table) = &made.section("change").unwrap().blocks[0] else { panic!("no table") };
    let row = table.cells().next().unwrap();
    assert!(
        matches!(&row[3], Cell::Ratio(ratio, _) if ratio.low == change.treatments[0].ratio.adjusted_low),
        "{row:?}"
    );
    let Block::Table(differs) = &made.section("differs").unwrap().blocks[0] else { panic!("no table") };
    let names: Vec<&Cell> = differs.cells().map(|row| &row[0]).collect();
    assert_eq!(names, [&Cell::text("≠ begun")]);
    let Block::Text(same, _) = &made.section("differs").unwrap().blocks[1] else { panic!("no text") };
    assert!(
        same.to_string()
            .starts_with("The same: CPU model unknown; hypervisor none seen; packages 1; cores 2;")
    );
    let method = |is_paired, studies_after| {
        let change = Change { is_paired, studies_after, ..change.clone() };
        format!("{:?}", document(&change, "1.0").section("method").unwrap())
    };
    assert!(method(false, 4).contains("The study is the unit (3 before and 4 after): Welch's t"));
    assert!(method(true, 3).contains("The study is the unit (3 pairs): Student's t"));
}
