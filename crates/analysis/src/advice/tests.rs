//! Advice as a reader sees it.

use super::*;
use crate::fixtures::{comparison, latency, machine, run, study};
use crate::{Facts, analyse_on};
use threadwise_machine::Topology;
use threadwise_study::{Run, Study};

/// Blocks of two rounds in which each treatment does its ratio of 100,000 rows, which wobbles by so much.
fn runs(ratios: &[(&str, f64)], by: f64) -> Vec<Run> {
    let all = [("A", 1.0), ("A'", 1.0)].into_iter().chain(ratios.iter().copied());
    let all: Vec<(&str, f64)> = all.collect();
    let one = |block: u32, salt: usize, name: &str, ratio: f64| {
        let step = f64::from((block * 7 + salt as u32 * 5) % 9) - 4.0;
        let rows = (100_000.0 * ratio * (1.0 + by * step)).round() as u64;
        run(block, name, &[rows, rows])
    };
    let of_block = |block: u32| {
        all.iter()
            .enumerate()
            .map(move |(salt, (name, ratio))| one(block, salt, name, *ratio))
            .collect::<Vec<_>>()
    };
    (0..8).flat_map(of_block).collect()
}

fn said(study: &Study, topology: &Topology, runs: &[Run]) -> Vec<Advice> {
    let analysis = analyse_on(study, Some(topology), runs, 1.0);
    advice(&Facts::new(study, topology, &analysis))
}

fn texts(all: &[Advice]) -> Vec<String> {
    all.iter().map(|one| one.line.to_string()).collect()
}

fn swept() -> Study {
    study(&[""], &["S2 spread:2 2", "S4 spread:4 4", "S8 spread:8 8"])
}

#[test]
fn sessions_for_throughput_and_for_latency() {
    let mut study = swept();
    study.engine = "postgres".to_owned();
    study
        .comparisons
        .extend([comparison("S4", &["S2"], "sweep-step"), comparison("S8", &["S4"], "sweep-step")]);
    let mut all = runs(&[("S2", 1.9), ("S4", 3.5), ("S8", 3.51)], 0.0005);
    for (name, p99) in [("A", 3000), ("A'", 3000), ("S2", 3100), ("S4", 7000), ("S8", 9000)] {
        for run in all.iter_mut().filter(|run| run.treatment == name) {
            run.slices.iter_mut().for_each(|slice| {
                let wobble = u64::from(run.block % 3) * 10;
                slice.sessions[0].latency = latency(300, &[2000, 2000, 2000, p99 + wobble]);
            });
        }
    }
    let got = said(&study, &machine(1, 8, 1), &all);
    assert_eq!(
        texts(&got),
        [
            "Busy sessions to run: four (up to eight do as much), the fewest that are shown to be within 3% of the best of one to eight; 3.50x [3.49, 3.51] of one; \
          for latency two (p99 +125% [125, 126]); from four on p99 is over twice that of one: 2.33x [2.33, 2.33]."
        ]
    );
    let lines: Vec<String> =
        got[0].paste.iter().map(|paste| format!("{}: {}", paste.place, paste.text)).collect();
    assert_eq!(
        lines,
        ["pgbouncer.ini: default_pool_size = 4", "HikariCP, of all instances together: maximumPoolSize=4"]
    );
    assert!(got[0].is_decided && got[0].about == "sessions");
}

#[test]
fn the_most_that_were_tried_may_not_be_enough() {
    let got = said(&swept(), &machine(1, 8, 1), &runs(&[("S2", 1.9), ("S4", 3.5), ("S8", 6.0)], 0.0005));
    assert_eq!(
        texts(&got),
        [
            "Busy sessions to run: eight or more, the largest number tested; 6.00x [5.99, 6.01] of one; more may do \
          more, so that there is no line to paste: measure with `--sessions 8,16`."
        ]
    );
    // What a pool is asked about are connections, and nothing is pasted that was not excluded.
    let mut pool = swept();
    (pool.name, pool.engine) = ("pool".to_owned(), "postgres".to_owned());
    let rising = said(&pool, &machine(1, 8, 1), &runs(&[("S2", 1.9), ("S4", 3.5), ("S8", 6.0)], 0.0005));
    assert!(rising[0].is_decided && rising[0].paste.is_empty(), "{rising:?}");
    let text = &texts(&rising)[0];
    for part in ["connections of all application instances together", "`--connections-at-most 16`"] {
        assert!(text.contains(part), "{text}");
    }
    let falling = said(&pool, &machine(1, 8, 1), &runs(&[("S2", 1.9), ("S4", 3.5), ("S8", 2.0)], 0.0005));
    assert_eq!(falling[0].paste[0].text, "default_pool_size = 4");
    assert!(!texts(&falling)[0].contains("more may do more"), "{falling:?}");
}

#[test]
fn what_is_not_decided_is_guessed() {
    let got = said(&swept(), &machine(1, 8, 1), &runs(&[("S2", 1.9), ("S4", 3.4), ("S8", 3.5)], 0.04));
    let text = &texts(&got)[0];
    assert!(
        text.starts_with(
            "Not enough data to show how many busy sessions to run: best guess eight, probability "
        ),
        "{text}"
    );
    assert!(text.contains("% that it is within 3% of the best; if it is not, "), "{text}");
    assert!(!got[0].is_decided && got[0].paste.is_empty());
}

#[test]
fn second_threads_that_pay_and_that_do_not() {
    let mut study = study(&[""], &["O one-cpu 2", "C same-core 2"]);
    study.comparisons.push(comparison("C", &["O"], "smt-yield"));
    let topology = machine(1, 2, 2);
    let with = |ratio: f64| said(&study, &topology, &runs(&[("O", 1.0), ("C", ratio)], 0.0005));
    let kept = with(1.27);
    assert_eq!(
        texts(&kept),
        ["Keep SMT for throughput: both threads of a core do 1.27x [1.27, 1.27] of one. \
          Each session with a busy sibling does 0.63x [0.63, 0.64] of one alone."]
    );
    assert!(kept[0].paste.is_empty());
    let idle = with(0.9);
    assert!(texts(&idle)[0].starts_with(
        "Leave the second threads of cores idle: both threads of a core do less than one (0.90x"
    ));
    assert_eq!(idle[0].paste[1].text, "CPUAffinity=0,2");
    let same = with(1.0);
    assert!(
        texts(&same)[0].starts_with("Second threads of cores add nothing that matters here"),
        "{same:#?}"
    );
}

#[test]
fn groups_stand_in_one_line() {
    let study = study(&["data=l2", "data=memory"], &["S2 spread:2 2", "S4 spread:4 4"]);
    let mut all = Vec::new();
    for (group, most) in [("data=l2", 3.9), ("data=memory", 1.9)] {
        for mut one in runs(&[("S2", 1.9), ("S4", most)], 0.0005) {
            one.treatment = format!("{}/{group}", one.treatment);
            all.push(one);
        }
    }
    let got = said(&study, &machine(1, 4, 1), &all);
    assert_eq!(texts(&got), ["Busy sessions to run: four or more inside L2; two beyond the LLC."]);
    assert!(got[0].paste.is_empty(), "lines that contradict each other are none");
}

#[test]
fn a_study_without_a_choice_has_no_advice() {
    let study = study(&[""], &["O one-cpu 2"]);
    assert_eq!(said(&study, &machine(1, 2, 1), &runs(&[("O", 1.0)], 0.001)), []);
}

/// Slices in which the sessions of a treatment waited for so much of their time, and so much was stolen from them.
fn disturbed(all: &mut [Run], name: &str, waited: f64, stolen: f64) {
    for run in all.iter_mut().filter(|run| run.treatment == name) {
        let cpus = run.cpus.clone();
        for slice in &mut run.slices {
            let window = slice.window_ns as f64;
            for session in &mut slice.sessions {
                session.run_queue_wait_ns = Some((waited * window) as u64);
                session.cpu_ns = ((1.0 - waited - stolen) * window) as u64;
            }
            let times = |cpu: &u32| threadwise_study::CpuTimes {
                cpu: *cpu,
                busy_ns: (window * (1.0 - stolen)) as u64,
                steal_ns: (window * stolen) as u64,
                total_ns: window as u64,
            };
            slice.cpu_times = cpus.iter().map(times).collect();
        }
    }
}

#[test]
fn settings_that_lost_unlike_time_to_others_are_not_advised() {
    let mut study = swept();
    study.engine_properties =
        Some(threadwise_study::engine::Properties { service_threads: false, ..Default::default() });
    study
        .comparisons
        .extend([comparison("S4", &["S2"], "sweep-step"), comparison("S8", &["S4"], "sweep-step")]);
    let topology = machine(1, 8, 1);
    let measured = || {
        let mut all = runs(&[("S2", 0.9), ("S4", 0.85), ("S8", 0.8)], 0.0005);
        for run in &mut all {
            run.cpus = (0..8).collect();
        }
        all
    };
    // Alone it is one session, and no time was lost.
    let got = said(&study, &topology, &measured());
    assert!(got[0].is_decided && got[0].line.to_string().starts_with("Busy sessions to run: one"), "{got:?}");
    for (waited, stolen, whom) in
        [(0.5, 0.0, "other programs on its logical CPUs"), (0.0, 0.5, "the hypervisor")]
    {
        let mut all = measured();
        for name in ["A", "A'"] {
            disturbed(&mut all, name, 0.02, 0.0);
        }
        for name in ["S2", "S4", "S8"] {
            disturbed(&mut all, name, waited, stolen);
        }
        let analysis = analyse_on(&study, Some(&topology), &all, 1.0);
        let advice = advice(&Facts::new(&study, &topology, &analysis));
        let line = advice[0].line.to_string();
        assert!(line.starts_with("No advice on how many busy sessions to run: "), "{line}");
        assert!(line.contains(&format!("lost 50% of its time to {whom}, and one 2.0%.")), "{line}");
        // 0.8 of one as measured; of 0.98 of the time against 0.5 of it that is 1.57.
        assert!(line.contains("after correction for the time lost"), "{line}");
        let choice = &analysis.choices[0];
        let eight = choice.candidates.last().unwrap();
        let on_cpu = eight.speed_on_cpu.as_ref().unwrap();
        assert!((on_cpu.mean - 0.8 * 0.98 / 0.5).abs() < 0.01 && on_cpu.low < on_cpu.high, "{on_cpu:?}");
        assert!(!advice[0].is_decided && advice[0].paste.is_empty());
        assert!(choice.chosen.is_none() && choice.guess.is_none(), "{choice:?}");
        let facts = Facts::new(&study, &topology, &analysis);
        let reasons = crate::document(&facts).screen.trust.reasons;
        let is_said = |reason: &Prose| reason.to_string().starts_with("Settings lost unequal shares");
        assert!(reasons.iter().any(is_said), "{reasons:?}");
    }
    // All lost alike: ratios hold.
    let mut all = measured();
    for name in ["A", "A'", "S2", "S4", "S8"] {
        disturbed(&mut all, name, 0.3, 0.1);
    }
    assert!(said(&study, &topology, &all)[0].is_decided);
}

#[test]
fn the_bound_for_latency_decides_what_is_pasted_and_what_is_marked() {
    let mut study = swept();
    study.engine = "postgres".to_owned();
    study
        .comparisons
        .extend([comparison("S4", &["S2"], "sweep-step"), comparison("S8", &["S4"], "sweep-step")]);
    let mut all = runs(&[("S2", 1.9), ("S4", 3.5), ("S8", 6.0)], 0.0005);
    for (name, p99) in [("A", 3000), ("A'", 3000), ("S2", 3100), ("S4", 4000), ("S8", 9000)] {
        for run in all.iter_mut().filter(|run| run.treatment == name) {
            run.slices.iter_mut().for_each(|slice| {
                let wobble = u64::from(run.block % 3) * 10;
                slice.sessions[0].latency = latency(300, &[2000, 2000, 2000, p99 + wobble]);
            });
        }
    }
    let topology = machine(1, 8, 1);
    let analysis = analyse_on(&study, Some(&topology), &all, 1.0);
    let of_bound = |p99_ns: Option<f64>| {
        let asked = crate::asked::Asked { p99_ns, ..Default::default() };
        let facts = Facts { runs: &all, asked, ..Facts::new(&study, &topology, &analysis) };
        let picture = crate::sections::choices::picture(&facts).unwrap();
        let threadwise_document::Chart::Choice(chart) = picture.chart else { panic!("no choice") };
        let marked: Vec<String> = chart
            .candidates
            .iter()
            .filter(|one| one.chosen == Some(true))
            .map(|one| one.name.clone())
            .collect();
        let pasted: Vec<String> = advice(&facts)[0].paste.iter().map(|paste| paste.text.clone()).collect();
        (marked, pasted.first().cloned())
    };
    let of = |number: u32| (vec![number.to_string()], Some(format!("default_pool_size = {number}")));
    // Of eight more is not excluded.
    let not_pasted = |number: u32| (vec![number.to_string()], None);
    assert_eq!(of_bound(None), not_pasted(8));
    assert_eq!(of_bound(Some(5000.0)), of(4), "the most that keep it");
    assert_eq!(of_bound(Some(1e9)), not_pasted(8));
    assert_eq!(of_bound(Some(10.0)), (vec![], None), "none keeps it");
}

/// Advice of a bound for latency, where each treatment does so many steps a slice of two.
fn of_bound_with_steps(steps: &[(&str, u64)]) -> String {
    let study = swept();
    let mut all = runs(&[("S2", 1.9), ("S4", 3.5), ("S8", 3.51)], 0.0005);
    for (name, steps) in steps {
        for run in all.iter_mut().filter(|run| run.treatment == *name) {
            run.slices.iter_mut().for_each(|slice| slice.sessions[0].latency = latency(*steps, &[2000]));
        }
    }
    let topology = machine(1, 8, 1);
    let analysis = analyse_on(&study, Some(&topology), &all, 1.0);
    let asked = crate::asked::Asked { p99_ns: Some(1e6), ..Default::default() };
    let facts = Facts { runs: &all, asked, ..Facts::new(&study, &topology, &analysis) };
    advice(&facts)[0].line.to_string()
}

#[test]
fn a_percentile_that_was_not_measured_is_no_bound_that_is_not_kept() {
    let few = of_bound_with_steps(&[("A", 100), ("A'", 100), ("S2", 100), ("S4", 100), ("S8", 100)]);
    assert!(!few.contains("no number of sessions is shown to keep"), "{few}");
    assert!(
        few.contains(
            "whether any keeps p99 within 1.00 ms is not known: p99 of one is not measured: 200 steps per block, \
             1,000 are needed: longer slices (`--slice "
        ),
        "{few}"
    );
    let some = of_bound_with_steps(&[("A", 900), ("A'", 900), ("S2", 900), ("S4", 100), ("S8", 100)]);
    assert!(some.contains("the most with p99 within 1.00 ms: two ("), "{some}");
    assert!(some.contains(", and p99 of four is not measured: 200 steps per block"), "{some}");
    let none = of_bound_with_steps(&[]);
    assert!(none.contains("p99 of one is not measured: it has no steps, 1,000 are needed."), "{none}");
    let all = of_bound_with_steps(&[("A", 900), ("A'", 900), ("S2", 900), ("S4", 900), ("S8", 900)]);
    assert!(
        all.contains("the most with p99 within 1.00 ms: eight (") && !all.contains("not measured"),
        "{all}"
    );
}

#[test]
fn a_bound_is_answered_on_the_screen_of_two_numbers_of_sessions() {
    let study = study(&[""], &["S2 spread:2 2"]);
    let mut all = runs(&[("S2", 1.9)], 0.0005);
    for run in &mut all {
        run.slices.iter_mut().for_each(|slice| slice.sessions[0].latency = latency(900, &[2000]));
    }
    let topology = machine(1, 8, 1);
    let analysis = analyse_on(&study, Some(&topology), &all, 1.0);
    let answer = |p99_ns: Option<f64>| {
        let asked = crate::asked::Asked { p99_ns, ..Default::default() };
        let facts = Facts { runs: &all, asked, ..Facts::new(&study, &topology, &analysis) };
        crate::document(&facts).screen.answer.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let bounded = answer(Some(1e6));
    assert!(bounded.contains("the most with p99 within 1.00 ms: two ("), "{bounded}");
    assert!(answer(None).starts_with("Two cores do 1.90x"), "{}", answer(None));
}

#[test]
fn a_ratio_has_one_interval_in_findings_advice_and_answer() {
    let study = study(&[""], &["S2 spread:2 2", "S4 spread:4 4"]);
    let all = runs(&[("S2", 1.9), ("S4", 3.5)], 0.01);
    let topology = machine(1, 8, 1);
    let analysis = analyse_on(&study, Some(&topology), &all, 1.0);
    let facts = Facts { runs: &all, ..Facts::new(&study, &topology, &analysis) };
    let verdict = crate::document(&facts).verdict;
    let texts: Vec<String> = verdict.iter().map(crate::Finding::text).collect();
    for estimate in facts.throughput() {
        let (plain, decisive) = (Prose::from(&estimate.ratio), Prose::from(&estimate.ratio.decisive()));
        assert_ne!(plain, decisive, "else this shows nothing");
        assert!(texts.iter().any(|text| text.contains(&decisive.to_string())), "{decisive}: {texts:?}");
        assert!(!texts.iter().any(|text| text.contains(&plain.to_string())), "{plain}: {texts:?}");
    }
}
