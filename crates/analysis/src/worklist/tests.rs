//! Work lists worked by hand: points, steps, pairs, schedules that were not run, the run that is drawn, and the
//! verdict as a reader sees it.

use super::*;
use crate::commands::IDLE_SHARE;
use crate::fixtures::{comparison, cpu_times, machine, ratio, study};
use crate::{Answer, Finding, FindingKind, Ratio, analyse_on, plain_verdict};
use threadwise_study::{
    Comparison, ComparisonKind, OptionValue, Reading, RunStatus, SessionSlice, Slice, Treatment, Workload,
    command,
};

/// A treatment: name, placement, jobs, levels of factors.
type Seat<'a> = (&'a str, &'a str, u32, &'a [(&'a str, &'a str)]);

/// A study of work lists; the first seat is the baseline.
fn lists(seats: &[Seat<'_>]) -> Study {
    let mut study = study(&[""], &["x all 1"]);
    (study.name, study.workload, study.engine) = ("reload".into(), Workload::WorkList, "worklist".into());
    study.design.rounds = 1;
    study.comparisons.clear();
    let parser = command::parsers::find(threadwise_study::worklist::PARSER).unwrap();
    let like = study.treatments[2].clone();
    let treatment = |(name, placement, jobs, factors): &Seat<'_>| {
        let levels = factors.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let set = levels.clone().map(|(key, value)| (key, OptionValue::Text(value)));
        Treatment {
            name: (*name).to_owned(),
            placement: placement.parse().unwrap(),
            sessions: *jobs,
            options: parser.options().into_iter().chain(set).collect(),
            factors: levels.collect(),
            ..like.clone()
        }
    };
    study.treatments = seats.iter().map(treatment).collect();
    let twin = Treatment {
        name: format!("{}'", seats[0].0),
        role: Role::BaselineTwin,
        ..study.treatments[0].clone()
    };
    study.treatments[0].role = Role::Baseline;
    study.treatments.insert(1, twin.clone());
    for seat in &seats[1..] {
        study.comparisons.push(comparison(seat.0, &[seats[0].0, &twin.name], "baseline"));
    }
    study
}

/// The preset's study on a machine of two cores with two threads each, as far as it is needed.
fn reload() -> Study {
    let mut study = lists(&[
        ("all j1", "all", 1, &[]),
        ("all j2", "all", 2, &[]),
        ("all j4", "all", 4, &[]),
        ("no-smt j1", "no-smt", 1, &[]),
        ("no-smt j2", "no-smt", 2, &[]),
        ("no-smt j4", "no-smt", 4, &[]),
    ]);
    let more = [
        comparison("all j4", &["all j2"], "jobs-step"),
        comparison("no-smt j2", &["no-smt j1"], "jobs-step"),
        comparison("no-smt j4", &["no-smt j2"], "jobs-step"),
        comparison("all j2", &["no-smt j2"], "smt-whole"),
        comparison("all j4", &["no-smt j4"], "smt-whole"),
    ];
    study.comparisons.extend(more);
    study
}

/// A run of a whole list: its items are reported as (job, start, duration) in seconds.
fn run(block: u32, treatment: &str, idle_share: f64, items: &[(u32, f64, f64)]) -> Run {
    let end_s = items.iter().map(|(_, start, length)| start + length).fold(0.0, f64::max);
    let window_ns = (end_s * 1e9).round() as u64;
    let reading = |sampler: &str, metric: String, (start_s, end_s): (f64, f64), value: f64| Reading {
        sampler: sampler.to_owned(),
        metric,
        cpu: None,
        start_ns: 5_000_000_000 + (start_s * 1e9).round() as u64,
        end_ns: 5_000_000_000 + (end_s * 1e9).round() as u64,
        value: Some(value),
        gap: None,
    };
    let item = |(index, (job, start, length)): (usize, &(u32, f64, f64))| {
        let name = format!("{index:05} db {index}.fdb");
        reading(threadwise_study::worklist::SAMPLER, name, (*start, start + length), f64::from(*job))
    };
    let said = |name: &str, value: f64| reading(command::SAMPLER, name.to_owned(), (0.0, end_s), value);
    let metrics = [said("item_s", end_s / items.len() as f64), said("idle_share", idle_share)];
    let session = SessionSlice {
        steps: 1,
        rows: 1,
        cpu_ns: window_ns,
        finished_ns: Some(window_ns),
        counters: [(command::PEAK_RSS_BYTES.to_owned(), 50 << 20)].into(),
        ..SessionSlice::default()
    };
    Run {
        id: 0,
        block,
        attempt: 0,
        treatment: treatment.to_owned(),
        cpus: vec![0, 1],
        status: RunStatus::Valid,
        slices: vec![Slice {
            sequence: 0,
            round: 0,
            start_ns: 0,
            window_ns,
            sessions: vec![session],
            counters: Default::default(),
            cpu_times: Vec::new(),
            other_cpus: Default::default(),
            looks: Vec::new(),
        }],
        started_s: 0.0,
        prepare_ns: 0,
        // Stored in the order in which they ended, not in that of the list.
        other_cpu_times: Vec::new(),
        readings: metrics.into_iter().chain(items.iter().enumerate().map(item).rev()).collect(),
    }
}

#[test]
fn an_item_of_a_job_that_no_list_has_is_none() {
    let found = |job: u32| items(&run(0, "all j2", 0.0, &[(0, 0.0, 1.0), (job, 0.0, 1.0)])).len();
    assert_eq!([1, MAX_JOBS - 1, MAX_JOBS, u32::MAX].map(found), [2, 2, 1, 1]);
}

/// The same items, all times longer by a factor.
fn stretched(items: &[(u32, f64, f64)], by: f64) -> Vec<(u32, f64, f64)> {
    items.iter().map(|(job, start, length)| (*job, start * by, length * by)).collect()
}

/// A factor near 1 that differs by block and salt.
fn wobble(block: u32, salt: u32) -> f64 {
    1.0 + 0.001 * (f64::from((block * 7 + salt * 5) % 9) - 4.0)
}

/// 1, 2, 3, 4 and 6 s of work: one job needs 16 s; two jobs from a queue as given 10 s.
const ONE: [(u32, f64, f64); 5] =
    [(0, 0.0, 1.0), (0, 1.0, 2.0), (0, 3.0, 3.0), (0, 6.0, 4.0), (0, 10.0, 6.0)];
const TWO: [(u32, f64, f64); 5] = [(0, 0.0, 1.0), (1, 0.0, 2.0), (0, 1.0, 3.0), (1, 2.0, 4.0), (0, 4.0, 6.0)];

/// Blocks of the preset: two jobs are 1.6 times as fast as one, four as two; without SMT all takes a tenth
/// longer.
fn story(blocks: u32) -> Vec<Run> {
    let mut runs = Vec::new();
    for block in 0..blocks {
        for (salt, (name, idle, items, by)) in [
            ("all j1", 0.0, &ONE, 1.0),
            ("all j1'", 0.0, &ONE, 1.0),
            ("all j2", 0.2, &TWO, 1.0),
            ("all j4", 0.3, &TWO, 1.0),
            ("no-smt j1", 0.0, &ONE, 1.1),
            ("no-smt j2", 0.2, &TWO, 1.1),
            ("no-smt j4", 0.3, &TWO, 1.1),
        ]
        .into_iter()
        .enumerate()
        {
            runs.push(run(block, name, idle, &stretched(items, by * wobble(block, salt as u32))));
        }
    }
    runs
}

fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() <= 0.005 * expected.abs(), "{got}, expected {expected}");
}

fn list_of(study: &Study, runs: &[Run]) -> Worklist {
    analyse_on(study, None, runs, 1.0).worklist.unwrap()
}

fn of_kind(findings: &[Finding], kind: FindingKind) -> Vec<String> {
    findings.iter().filter(|finding| finding.kind == kind).map(Finding::text).collect()
}

#[test]
fn series_points_and_steps() {
    let list = list_of(&reload(), &story(8));
    assert_eq!((list.recipe.as_str(), list.items), ("sqlite", Some(5)));
    let found: Vec<(&str, Vec<u32>)> = list
        .series
        .iter()
        .map(|series| (series.label.as_str(), series.points.iter().map(|point| point.jobs).collect()))
        .collect();
    assert_eq!(found, [("all", vec![1, 2, 4]), ("no-smt", vec![1, 2, 4])]);
    let all = &list.series[0];
    close(all.points[0].item_s.mean, 16.0 / 5.0);
    close(all.points[1].item_s.mean, 2.0);
    close(all.points[1].total_s.as_ref().unwrap().mean, 10.0);
    assert_eq!((all.points[0].treatment.as_str(), all.points[0].item_s.unit.as_str()), ("all j1", "s/item"));
    close(all.points[2].idle_share.as_ref().unwrap().mean, 0.3);
    // The first step is the comparison with the baseline, upside down.
    let speeds: Vec<(u32, u32, &Ratio)> =
        all.steps.iter().map(|step| (step.from, step.to, step.speed.as_ref().unwrap())).collect();
    assert_eq!((speeds[0].0, speeds[0].1, speeds[1].0, speeds[1].1), (1, 2, 2, 4));
    close(speeds[0].2.value, 1.6);
    assert!(speeds[0].2.is_different() && speeds[0].2.low < 1.6 && speeds[0].2.high > 1.6);
    assert!(speeds[0].2.low > 1.5 && speeds[0].2.high < 1.7);
    close(speeds[1].2.value, 1.0);
    assert!(!speeds[1].2.is_different());
}

#[test]
fn pairs_have_both_threads_on_top() {
    let list = list_of(&reload(), &story(8));
    let found: Vec<(PairKind, &str, &str, u32)> = list
        .pairs
        .iter()
        .map(|pair| (pair.kind, pair.treatment.as_str(), pair.baseline.as_str(), pair.jobs))
        .collect();
    let expected = [
        (PairKind::Placement, "all j1", "no-smt j1", 1),
        (PairKind::Placement, "all j2", "no-smt j2", 2),
        (PairKind::Placement, "all j4", "no-smt j4", 4),
    ];
    assert_eq!(found, expected);
    list.pairs.iter().for_each(|pair| close(pair.speed.value, 1.1));
    assert!(list.pairs.iter().all(|pair| pair.speed.low < pair.speed.high));
}

#[test]
fn other_schedules_are_computed_from_the_items_of_each_run() {
    let list = list_of(&reload(), &story(8));
    assert_eq!(list.series[0].points[0].computed, [], "one job is as busy by any schedule");
    let computed = &list.series[0].points[1].computed;
    let found: Vec<&str> = computed.iter().map(|computed| computed.schedule.as_str()).collect();
    assert_eq!(found, ["queue, largest first", "queue, as given", "fixed parts, as given"]);
    // 8 s, 10 s and 10 s by hand (schedule.rs); 10 s was run.
    let seconds = [8.0, 10.0, 10.0];
    computed.iter().zip(seconds).for_each(|(computed, expected)| close(computed.total_s.mean, expected));
    close(computed[0].ratio.mean, 0.8);
    // The ratio is one of the same run, so that what stretches the run leaves it as it is.
    assert!(
        (computed[1].ratio.mean - 1.0).abs() < 1e-6 && computed[1].ratio.high - computed[1].ratio.low < 1e-6
    );
    assert!(computed[0].total_s.low < 8.0 && computed[0].total_s.high > 8.0);
    // With four jobs: 6 s; 1 + 6 s; parts of 2, 1, 1 and 1 items.
    let four: Vec<f64> =
        list.series[0].points[2].computed.iter().map(|computed| computed.total_s.mean).collect();
    [6.0, 7.0, 6.0].into_iter().zip(four).for_each(|(expected, got)| close(got, expected));
}

#[test]
fn the_run_that_is_drawn_is_the_median() {
    let mut runs = story(7);
    for run in runs.iter_mut().filter(|run| run.treatment == "all j2") {
        // Blocks 0 to 6 get ranks 3, 0, 6, 1, 5, 2, 4; the median, rank 3, is block 0.
        let rank = [3.0, 0.0, 6.0, 1.0, 5.0, 2.0, 4.0][run.block as usize];
        *run = self::run(run.block, "all j2", 0.2, &stretched(&TWO, 1.0 + rank));
    }
    let list = list_of(&reload(), &runs);
    let names: Vec<&str> = list.timelines.iter().map(|timeline| timeline.treatment.as_str()).collect();
    assert_eq!(names, ["all j1", "all j2", "all j4", "no-smt j1", "no-smt j2", "no-smt j4"]);
    let two = &list.timelines[1];
    assert_eq!((two.block, two.bars.len()), (0, 5));
    assert_eq!((two.bars[4].name.as_str(), two.bars[4].job), ("db 4.fdb", 0));
    close(two.bars[4].start_s, 16.0);
    close(two.bars[4].elapsed_s, 24.0);
    assert_eq!(two.bars[0].start_s, 0.0);
}

#[test]
fn a_list_that_is_not_reported_whole_is_not_computed() {
    let many: Vec<(u32, f64, f64)> = (0..threadwise_study::worklist::MAX_SPANS as u32)
        .map(|at| (at % 2, f64::from(at / 2), 1.0))
        .collect();
    let mut study = lists(&[("all j2", "all", 2, &[]), ("all j4", "all", 4, &[])]);
    let runs: Vec<Run> = (0..8)
        .flat_map(|block| {
            let run =
                |(salt, name): (u32, &str)| run(block, name, 0.1, &stretched(&many, wobble(block, salt)));
            [(0, "all j2"), (1, "all j2'"), (2, "all j4")].map(run)
        })
        .collect();
    let list = list_of(&study, &runs);
    assert!(list.timelines.is_empty() && list.series[0].points.iter().all(|point| point.computed.is_empty()));
    assert_eq!(list.items, Some(40), "as many as are asked for");
    for treatment in &mut study.treatments {
        treatment.options.insert("list".to_owned(), OptionValue::Text("/srv/list".to_owned()));
    }
    assert_eq!(list_of(&study, &runs).items, None);
    let topology = machine(1, 2, 1);
    let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &runs, 1.0));
    assert!(of_kind(&findings, FindingKind::NotMeasurable)[0].contains("2000 items or more"), "{findings:?}");
    // Runs that tell no items at all are no reason to say so of the list.
    let mut silent = story(8);
    silent.iter_mut().for_each(|run| run.readings.retain(|reading| reading.sampler == command::SAMPLER));
    let findings = plain_verdict(&reload(), &topology, &analyse_on(&reload(), Some(&topology), &silent, 1.0));
    assert!(of_kind(&findings, FindingKind::NotMeasurable)[0].contains("no run reported"), "{findings:?}");
}

#[test]
fn the_verdict_of_a_work_list() {
    let (study, topology) = (reload(), machine(1, 2, 2));
    let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &story(8), 1.0));
    let texts: Vec<String> = findings.iter().map(Finding::text).collect();
    assert_eq!(
        texts,
        [
            "Jobs to run: 2 on all and on no-smt.",
            "Logical CPUs to run it on: all with 1 job, with 2 jobs and 1 more.",
            "Seconds per item (recipe sqlite, 5 items): 3.200 [3.195, 3.205] with 1 job on all, 2.000 [1.994, 2.007] \
             with 2 jobs (the list 10.00 s [9.97, 10.03]); 3.520 [3.509, 3.531] with 1 job on no-smt, 2.201 [2.195, 2.207] \
             with 2 jobs (the list 11.01 s [10.98, 11.04]). Among the fastest of 6: all j4 and all j2.",
            "Speed by number of jobs on all: from 1 to 2 1.60x [1.59, 1.61]; from 2 to 4 1.00x [0.99, 1.01], the same \
             within 3%. 4 jobs are no faster than 2 (within 3%). Speed by number of jobs on no-smt: from 1 to 2 1.60x \
             [1.59, 1.61]; from 2 to 4 1.00x [0.99, 1.01], the same within 3%. 4 jobs are no faster than 2 (within \
             3%). Intervals of steps are adjusted for all comparisons.",
            "Both threads of every core against one of each: with 1 job 1.10x [1.09, 1.11]; with 2 jobs 1.10x \
             [1.09, 1.11]; with 4 jobs 1.10x [1.09, 1.11].",
            "Share of time in which jobs had nothing left to do at the end: 20% [20, 20] with 2 jobs and 30% [30, 30] \
             with 4 jobs on all; 20% [20, 20] with 2 jobs and 30% [30, 30] with 4 jobs on no-smt.",
            "Time of other schedules over the one that was run, computed from each item's time and not run: with 2 \
             jobs on all 0.80x [0.80, 0.80] (queue, largest first), 1.00x [1.00, 1.00] (queue, as given) and 1.00x \
             [1.00, 1.00] (fixed parts, as given); with 2 jobs on no-smt 0.80x [0.80, 0.80] (queue, largest first), \
             1.00x [1.00, 1.00] (queue, as given) and 1.00x [1.00, 1.00] (fixed parts, as given).",
            "CPU per run: 16.00 s [15.98, 16.02] on all j1; all j2 0.63x [0.62, 0.63], better; all j4 0.62x \
             [0.62, 0.63], better; no-smt j1 1.10x [1.09, 1.11], worse; no-smt j2 0.69x [0.68, 0.69], better; 1 more \
             in the table. Logical CPUs kept busy: 1.00 of 2 on all j1; 1.00 of 2 on all j2; 1.00 of 2 on all j4; \
             1.00 of 2 on no-smt j1; 2 more in the table. Peak memory: 50.00 MiB [50.00, 50.00] on all j1; no \
             difference shown in 5 comparisons.",
            "Declared as 1 package x 2 cores x 2 threads, SMT on, 1 NUMA node.",
            "Trust: noise floor ±0.5%; 8 blocks; no steal seen; enough to decide ±3% with this noise.",
            "Scope: engine worklist, workload worklist, recipe sqlite, 40 made items (64 MiB requested), the largest \
             first, one queue, evicted from the page cache before each run.",
        ]
    );
    let steps = findings.iter().find(|finding| finding.kind == FindingKind::JobsStep).unwrap();
    assert_eq!(
        steps.evidence,
        ["all j2 : all j1+all j1'", "all j4 : all j2", "no-smt j2 : no-smt j1", "no-smt j4 : no-smt j2"]
    );
}

#[test]
fn a_machine_without_smt_has_none_to_compare() {
    let mut study = lists(&[("all j1", "all", 1, &[]), ("all j2", "all", 2, &[]), ("all j4", "all", 4, &[])]);
    study.comparisons.push(comparison("all j4", &["all j2"], "jobs-step"));
    study.left_out = vec!["no-smt: the same as all on this machine".to_owned()];
    let runs: Vec<Run> = story(8).into_iter().filter(|run| run.treatment.starts_with("all")).collect();
    let topology = machine(1, 2, 1);
    let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &runs, 1.0));
    assert_eq!(
        of_kind(&findings, FindingKind::NotMeasurable),
        ["SMT yield: not measurable here (no core has two logical CPUs); that does not mean none."]
    );
    assert_eq!(of_kind(&findings, FindingKind::SmtWhole), Vec::<String>::new());
}

#[test]
fn growth_to_the_end_and_a_fall() {
    let study = lists(&[("all j1", "all", 1, &[]), ("all j2", "all", 2, &[])]);
    let topology = machine(1, 2, 1);
    let say = |two: &[(u32, f64, f64)]| {
        let of_block = |block| {
            let run = |(salt, name, items): (u32, &str, &[(u32, f64, f64)])| {
                run(block, name, 0.0, &stretched(items, wobble(block, salt)))
            };
            [(0, "all j1", &ONE[..]), (1, "all j1'", &ONE[..]), (2, "all j2", two)].map(run)
        };
        let runs: Vec<Run> = (0..8).flat_map(of_block).collect();
        let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &runs, 1.0));
        of_kind(&findings, FindingKind::JobsStep)[0].clone()
    };
    assert!(
        say(&TWO).contains("Speed still grows at 2 jobs, the largest number tested. Intervals"),
        "{}",
        say(&TWO)
    );
    let slow = say(&stretched(&ONE, 1.2));
    assert!(
        slow.contains("2 jobs are slower than 1. Intervals of steps are adjusted for all comparisons."),
        "{slow}"
    );
}

#[test]
fn schedules_that_were_run_are_pairs() {
    let study = lists(&[
        ("queue largest", "all", 2, &[("feed", "queue"), ("order", "largest")]),
        ("split given", "all", 2, &[("feed", "split"), ("order", "given")]),
    ]);
    let runs: Vec<Run> = (0..8)
        .flat_map(|block| {
            let run = |(salt, name, by): (u32, &str, f64)| {
                run(block, name, 0.2, &stretched(&TWO, by * wobble(block, salt)))
            };
            [(0, "queue largest", 1.0), (1, "queue largest'", 1.0), (2, "split given", 1.25)].map(run)
        })
        .collect();
    let list = list_of(&study, &runs);
    let labels: Vec<&str> = list.series.iter().map(|series| series.label.as_str()).collect();
    assert_eq!(labels, ["one queue, largest first", "fixed parts, as given"]);
    assert!(list.series.iter().flat_map(|series| &series.points).all(|point| point.computed.is_empty()));
    assert_eq!((list.pairs.len(), list.pairs[0].kind, list.pairs[0].jobs), (1, PairKind::Schedule, 2));
    close(list.pairs[0].speed.value, 0.8);
    let topology = machine(1, 2, 1);
    let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &runs, 1.0));
    let text = of_kind(&findings, FindingKind::Schedule);
    assert_eq!(text.len(), 1, "what was run needs no computing");
    assert!(
        text[0].starts_with(
            "Speed of schedules over one queue, largest first, with 2 jobs: fixed parts, as given 0.80x ["
        ),
        "{text:?}"
    );
    let idle = &of_kind(&findings, FindingKind::IdleTail)[0];
    assert!(idle.contains("20% [20, 20] with 2 jobs, one queue, largest first; 20%"), "{idle}");
}

#[test]
fn one_block_has_no_interval_and_other_workloads_no_list() {
    let study = reload();
    let topology = machine(1, 2, 2);
    let analysis = analyse_on(&study, Some(&topology), &story(1), 1.0);
    let list = analysis.worklist.as_ref().unwrap();
    let speed = list.series[0].steps[0].speed.as_ref().unwrap();
    assert!(speed.low == 0.0 && speed.high.is_infinite() && !speed.is_different());
    let findings = plain_verdict(&study, &topology, &analysis);
    assert!(
        of_kind(&findings, FindingKind::JobsStep)[0].contains("1.60x (1 block, no interval)"),
        "{findings:?}"
    );
    let nothing = analyse_on(&study, None, &[], 1.0).worklist.unwrap();
    assert!(nothing.series.is_empty() && nothing.pairs.is_empty() && nothing.timelines.is_empty());
    let other = Study { workload: Workload::Command, ..study };
    assert_eq!(analyse_on(&other, None, &story(2), 1.0).worklist, None);
}

/// Two jobs that are seldom alike, on logical CPUs of which others may have a share.
fn noisy(others: f64) -> (Study, Vec<Run>) {
    let study = lists(&[("all j1", "all", 1, &[]), ("all j2", "all", 2, &[])]);
    let of_block = |block: u32| {
        let far = [0.7, 1.5, 1.0][block as usize % 3];
        let run = |(name, by): (&str, f64)| {
            let mut run = run(block, name, 0.0, &stretched(&ONE, by));
            // Its own processes keep one of two busy.
            let busy = 50 + (100.0 * others) as u64;
            run.slices[0].cpu_times = vec![cpu_times(0, busy, 0), cpu_times(1, busy, 0)];
            run
        };
        [("all j1", 1.0), ("all j1'", 1.0 / far), ("all j2", far)].map(run)
    };
    (study, (0..8).flat_map(of_block).collect())
}

#[test]
fn what_more_blocks_would_not_fix_is_not_answered_with_more_blocks() {
    let topology = machine(1, 2, 1);
    let found = |others: f64| {
        let (study, runs) = noisy(others);
        let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &runs, 1.0));
        [FindingKind::Trust, FindingKind::Scope].map(|kind| of_kind(&findings, kind)[0].clone())
    };
    let [trust, scope] = found(0.0);
    assert!(!trust.contains("other processes kept"), "{trust}");
    assert!(scope.contains("Next: the same") && scope.contains("would take too many blocks"), "{scope}");
    let [trust, scope] = found(0.4);
    assert!(trust.contains("other processes kept the list's logical CPUs 40% busy"), "{trust}");
    assert!(scope.ends_with("Next: the same when nothing else runs here."), "{scope}");
}

#[test]
fn why_no_difference_is_shown_and_what_is_not_decided() {
    let (study, runs) = noisy(0.0);
    let topology = machine(1, 2, 1);
    let analysis = analyse_on(&study, Some(&topology), &runs, 1.0);
    let list = analysis.worklist.as_ref().unwrap();
    let speed = list.series[0].steps[0].speed.as_ref().unwrap();
    let estimate = analysis.estimates.iter().find(|estimate| estimate.metric == ITEM_S).unwrap();
    // One comparison: Holm's ends are its own, upside down as well.
    assert_eq!(
        (speed.adjusted_low, speed.adjusted_high),
        (1.0 / estimate.ratio.adjusted_high, 1.0 / estimate.ratio.adjusted_low)
    );
    let mut steady = analysis.clone();
    let point = &mut steady.worklist.as_mut().unwrap().series[0].steps[0];
    point.speed = Some(Ratio { answer: Answer::Undecided, ..ratio(1.07, 1.04, 1.10) });
    let findings = plain_verdict(&study, &topology, &steady);
    assert_eq!(
        of_kind(&findings, FindingKind::JobsStep),
        [
            "Speed by number of jobs on all: from 1 to 2 1.07x [1.04, 1.10], undecided (not after adjusting for all \
              comparisons and for correlation). Whether 2 jobs are faster than 1 is not decided; best guess 2 \
              (probability over 99% that 2 jobs do over 3% more). Intervals of steps are adjusted for all comparisons."
        ]
    );
}

#[test]
fn one_job_has_no_idle_share_to_compare_with() {
    let (study, runs) = (reload(), story(8));
    let analysis = analyse_on(&study, None, &runs, 1.0);
    let of_idle = |analysis: &Analysis| {
        let commands = analysis.commands.as_ref().unwrap();
        let has_gap = commands.gaps.iter().any(|gap| gap.metric == IDLE_SHARE);
        (commands.quantity(IDLE_SHARE).is_some(), has_gap)
    };
    assert_eq!(of_idle(&analysis), (false, false));
    assert!(!analysis.estimates.iter().any(|estimate| estimate.metric == IDLE_SHARE), "a family without it");
    close(analysis.treatments[2].metrics[IDLE_SHARE].mean, 0.2);
    let two = lists(&[("all j2", "all", 2, &[]), ("all j4", "all", 4, &[])]);
    let runs: Vec<Run> = (0..8)
        .flat_map(|block| ["all j2", "all j2'", "all j4"].map(|name| run(block, name, 0.2, &TWO)))
        .collect();
    assert!(of_idle(&analyse_on(&two, None, &runs, 1.0)).0);
}

#[test]
fn jobs_and_placement_at_once_are_reported_against_the_baseline() {
    let study = lists(&[("one", "1c1t", 1, &[]), ("many", "all", 4, &[])]);
    let runs: Vec<Run> = (0..8)
        .flat_map(|block| {
            let run = |(salt, name, items): (u32, &str, &[(u32, f64, f64)])| {
                run(block, name, 0.0, &stretched(items, wobble(block, salt)))
            };
            [(0, "one", &ONE[..]), (1, "one'", &ONE[..]), (2, "many", &TWO[..])].map(run)
        })
        .collect();
    let topology = machine(1, 2, 1);
    let findings = plain_verdict(&study, &topology, &analyse_on(&study, Some(&topology), &runs, 1.0));
    let text = of_kind(&findings, FindingKind::Command);
    assert!(text[0].contains("Against it: many (all) 0.63x ["), "{findings:?}");
}

#[test]
fn a_step_that_the_study_does_not_have_is_a_gap() {
    let mut study = reload();
    let is_step = |comparison: &Comparison| {
        comparison.treatment == "all j4" && comparison.kind == ComparisonKind::JobsStep
    };
    study.comparisons.retain(|comparison| !is_step(comparison));
    let list = list_of(&study, &story(8));
    assert_eq!(list.series[0].steps[1], Step { from: 2, to: 4, speed: None });
}

#[test]
fn the_first_line_is_validity_or_the_answer() {
    crate::fixtures::assert_leads(&reload(), &machine(1, 2, 2), &story(8), FindingKind::Advice);
}

#[test]
fn schedules_worked_by_hand() {
    let times = [1.0, 2.0, 3.0, 4.0, 6.0];
    // Given: 1+3 at 4 takes the 6; 2+4. Largest: 6+2 | 4+3+1. Parts: 1+2+3 | 4+6.
    assert_eq!(
        [queue(&times, 2), queue_largest_first(&times, 2), contiguous_parts(&times, 2)],
        [10.0, 8.0, 10.0]
    );
    assert_eq!([queue(&times, 1), queue_largest_first(&times, 1), contiguous_parts(&times, 1)], [16.0; 3]);
    // Parts of 2, 2 and 1 items.
    assert_eq!(
        [queue(&times, 3), queue_largest_first(&times, 3), contiguous_parts(&times, 3)],
        [8.0, 6.0, 7.0]
    );
}

#[test]
fn more_jobs_than_items_are_as_long_as_the_longest() {
    let times = [5.0, 1.0];
    assert_eq!([queue(&times, 9), queue_largest_first(&times, 9), contiguous_parts(&times, 9)], [5.0; 3]);
    assert_eq!([queue(&[], 2), queue_largest_first(&[], 0), contiguous_parts(&[], 2)], [0.0; 3]);
}
