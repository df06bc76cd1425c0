//! What stands out, each with a reason that was built in.

use super::*;
use threadwise_study::Reading;

/// Eight blocks of queries 1 to 3 of 1,000 ms, of which one execution of T takes 3,000 ms; `change`
/// does to its run and slice what explains it.
fn one_slow(change: impl Fn(&mut Run, usize)) -> Queries {
    let study = study_of("1-3", &["T no-smt 1 2"]);
    let mut runs = power(&study, 8, |name, query, block| {
        let slow = (name, query, block) == ("T", 2, 5);
        let mut one = took(query, if slow { 3000.0 } else { 1000.0 } * noise(block, name, query, 0.005));
        one.counters.insert("read_bytes".to_owned(), 1000);
        one
    });
    for run in &mut runs {
        run.readings = clock(3000.0);
        for slice in &mut run.slices {
            let ms = slice.window_ns as f64 / 1e6;
            // Both own logical CPUs busy with the query, the others idle.
            slice.cpu_times =
                times(&[(0, ms, 0.0, ms), (1, ms, 0.0, ms), (2, 0.0, 0.0, ms), (3, 0.0, 0.0, ms)]);
        }
        if (run.block, run.treatment.as_str()) == (5, "T") {
            change(run, 1);
        }
    }
    look(&study, Some(&machine(1, 4, 1)), &runs).queries.unwrap()
}

fn clock(mhz: f64) -> Vec<Reading> {
    let reading = |metric: &str, cpu: Option<u32>, value: f64| Reading {
        sampler: "clock".to_owned(),
        metric: metric.to_owned(),
        cpu,
        start_ns: 0,
        end_ns: 1,
        value: Some(value),
        gap: None,
    };
    vec![reading("window_ns", None, 1e9), reading("cpufreq_mhz_ns", Some(0), mhz * 1e9)]
}

/// The one single execution that stands out.
fn single(found: &Queries) -> &Outlier {
    let single: Vec<&Outlier> = found.outliers.iter().filter(|one| one.block.is_some()).collect();
    let [one] = single.as_slice() else { panic!("{single:#?}") };
    assert_eq!((one.query, one.treatment.as_str(), one.block), (2, "T", Some(5)));
    assert!((one.times / 3.0).ln().abs() < 0.05, "{one:?}");
    let text = one.text.to_string();
    assert!(text.starts_with("Q2 under T took ") && text.ends_with('.'), "{text}");
    one
}

#[test]
fn reasons_of_a_slow_execution() {
    let nothing = one_slow(|_, _| ());
    assert_eq!(single(&nothing).reason, Reason::Unexplained);
    let plan =
        one_slow(|run, at| run.slices[at].sessions[0].queries[0].plan = Some("SORT\n  SCAN x".to_owned()));
    assert_eq!(single(&plan).reason, Reason::Plan);
    assert!(single(&plan).text.to_string().contains("another plan than its usual one"));
    let dop = one_slow(|run, at| run.slices[at].sessions[0].queries[0].dop = Some(0));
    assert_eq!(single(&dop).reason, Reason::Dop);
    let read = one_slow(|run, at| {
        run.slices[at].sessions[0].queries[0].counters.insert("spill_bytes".to_owned(), 800 << 20);
    });
    assert_eq!(single(&read).reason, Reason::Io);
    assert!(
        single(&read).text.to_string().contains("it spilled 800 MiB, mostly 0 bytes"),
        "{}",
        single(&read).text.to_string()
    );
    let steal = one_slow(|run, at| run.slices[at].cpu_times[0].steal_ns = 1_000_000_000);
    assert_eq!(single(&steal).reason, Reason::Neighbour);
    assert!(
        single(&steal).text.to_string().contains("steal 17%, usually 0%"),
        "{}",
        single(&steal).text.to_string()
    );
    let others = one_slow(|run, at| run.slices[at].sessions[0].cpu_ns = 3_000_000_000);
    assert_eq!(single(&others).reason, Reason::Neighbour);
    let free = one_slow(|run, at| run.slices[at].cpu_times[2].busy_ns = 2_000_000_000);
    assert_eq!(single(&free).reason, Reason::Neighbour);
    assert!(single(&free).text.to_string().contains("other logical CPUs busy"));
    let slower = one_slow(|run, _| run.readings = clock(1200.0));
    assert_eq!(single(&slower).reason, Reason::Clock);
    assert!(single(&slower).text.to_string().contains("the clock was 1200 MHz in that block, usually 3000"));
}

#[test]
fn what_cannot_explain_it_is_no_reason() {
    // 2% of steal is above the flag, and does not make a query three times as long.
    let steal = one_slow(|run, at| run.slices[at].cpu_times[0].steal_ns = 120_000_000);
    assert_eq!(single(&steal).reason, Reason::Unexplained);
    let clocks = one_slow(|run, _| run.readings = clock(2850.0));
    assert_eq!(single(&clocks).reason, Reason::Unexplained);
    let read = one_slow(|run, at| {
        run.slices[at].sessions[0].queries[0].counters.insert("read_bytes".to_owned(), 90_000);
    });
    assert_eq!(single(&read).reason, Reason::Unexplained);
}

#[test]
fn scatter_is_no_outlier() {
    let study = study_of("1-3", &["T no-smt 1 2"]);
    // Times vary by a factor of two up and down: twice the median is nothing special.
    let runs = power(&study, 8, |name, query, block| took(query, 1000.0 * noise(block, name, query, 0.6)));
    assert!(queries_of(&study, &runs).outliers.iter().all(|one| one.block.is_none()));
    // And 10% in a query that varies by 0.1% is nothing to act on.
    let runs = power(&study, 8, |name, query, block| {
        let slow = if (name, query, block) == ("T", 1, 0) { 1.1 } else { 1.0 };
        took(query, 1000.0 * slow * noise(block, name, query, 0.001))
    });
    assert!(queries_of(&study, &runs).outliers.is_empty());
}

#[test]
fn a_query_apart_from_the_rest_stands_out_with_its_reason() {
    let study = study_of("1-10", &["T no-smt 1 4"]);
    let runs = power(&study, 8, |name, query, block| {
        let mut one = took(query, 1000.0 * noise(block, name, query, 0.005));
        if name == "T" {
            one.dop = Some(4);
            let speed = match query {
                1..=3 => 1.0,
                4 => 8.0,
                _ => 3.0,
            };
            one.elapsed_ns = (one.elapsed_ns as f64 / speed) as u64;
            match query {
                1 => one.dop = Some(1),
                2 => {
                    one.counters.insert("spill_bytes".to_owned(), 1 << 30);
                }
                4 => one.plan = Some("INDEX_SCAN".to_owned()),
                _ => {}
            }
        }
        one
    });
    let found = queries_of(&study, &runs);
    let reasons: std::collections::BTreeMap<u8, Reason> =
        found.outliers.iter().map(|one| (one.query, one.reason)).collect();
    let expected = [(1, Reason::Dop), (2, Reason::Io), (3, Reason::Unexplained), (4, Reason::Plan)];
    for (query, reason) in expected {
        assert_eq!(reasons.get(&query), Some(&reason), "Q{query}: {:#?}", found.outliers);
    }
    assert!(found.outliers.iter().all(|one| one.block.is_none() && one.treatment == "T"));
    let first = &found.outliers[0];
    assert!(first.text.to_string().contains("of the baseline's speed, all queries "), "{}", first.text);
}

#[test]
fn what_no_total_shows_is_no_outlier() {
    let study = study_of("1-3", &["T no-smt 1 2"]);
    let with = |ms: f64| {
        let runs = power(&study, 8, |name, query, block| {
            let slow = if (name, query, block) == ("T", 2, 5) { 3.0 } else { 1.0 };
            let usual = if query == 2 { ms } else { 1000.0 };
            took(query, usual * slow * noise(block, name, query, 0.002))
        });
        queries_of(&study, &runs).outliers.len()
    };
    // Of 2,015 ms 10 ms more are half a percent, of 2,060 ms 40 ms are two.
    assert_eq!((with(5.0), with(20.0)), (0, 1));
}

#[test]
fn a_share_as_large_as_ever_and_one_thread_less_explain_little() {
    let with = |ms: f64, others: f64| {
        one_slow(|_, _| ()).outliers.len() + {
            let study = study_of("1-3", &["T no-smt 1 2"]);
            let mut runs = power(&study, 8, |name, query, block| {
                let slow = if (name, query, block) == ("T", 2, 5) { ms } else { 1000.0 };
                let mut one = took(query, slow * noise(block, name, query, 0.005));
                one.dop = Some(if slow > 1000.0 { 1 } else { 2 });
                one
            });
            for slice in runs.iter_mut().flat_map(|run| &mut run.slices) {
                let total = slice.window_ns as f64 / 1e6;
                slice.sessions[0].cpu_ns = (2.0 * (1.0 - others) * slice.window_ns as f64) as u64;
                slice.cpu_times = times(&[(0, total, 0.0, total), (1, total, 0.0, total)]);
            }
            let found = queries_of(&study, &runs);
            let [one] = found.outliers.as_slice() else { panic!("{:#?}", found.outliers) };
            usize::from(one.reason == Reason::Dop) + 10 * usize::from(one.reason == Reason::Unexplained)
        }
    };
    // Half of the threads make it twice as long, a quarter of what is missing at five times.
    assert_eq!(with(4500.0, 0.8), 1 + 1);
    // At ten times they do not, and others had their 80% in every execution.
    assert_eq!(with(10_000.0, 0.8), 1 + 10);
}

#[test]
fn of_many_those_that_cost_most_are_listed_and_the_rest_is_counted() {
    let study = study_of("1-22", &["T no-smt 1 2"]);
    let runs = power(&study, 8, |name, query, block| {
        // 33 executions, longer with the number of their query.
        let slow = if name == "T" && query % 2 == 0 && block < 3 { 3.0 } else { 1.0 };
        took(query, 100.0 * f64::from(query) * slow * noise(block, name, query, 0.002))
    });
    let found = queries_of(&study, &runs);
    assert!(found.outliers.iter().all(|one| one.block.is_some()), "{:#?}", found.outliers);
    let lost: Vec<u8> = found.outliers.iter().map(|one| one.query).collect();
    assert_eq!((found.outliers.len(), lost[0], lost[19]), (20, 22, 10));
    let small = 33 - 20 - found.outliers_left_out;
    // Those of Q2 lost 200 of 51,000 ms.
    assert_eq!(small, 3, "{}", found.outliers_left_out);
}
