//! Windows over recorded series.

use super::testing::{Series, Step, opened, read};
use super::*;

fn plan() -> Vec<Plan> {
    let event = |name: &str| Event { name: name.to_owned(), kind: 4, config: [0; 3] };
    vec![Plan { name: "basic", metrics: vec![("a", event("a")), ("b", event("b"))] }]
}

fn set(list: &str) -> CpuSet {
    CpuSet::parse_list(list).unwrap()
}

fn window(kept: &mut Kept, cpus: &str, window_ns: u64) -> Vec<(u32, Result<Grown, String>)> {
    kept.start(&set(cpus), |_| plan());
    let mut seen = Vec::new();
    kept.finish(window_ns, |cpu, _, grown| seen.push((cpu, grown)));
    seen
}

#[test]
fn a_multiplexed_count_is_scaled_and_its_running_time_reported() {
    let series = Series::of(&[(0, &[opened(), read(100, 100, &[10, 0]), read(1100, 350, &[60, 5])])]);
    let seen = window(&mut Kept::new(Box::new(series), 99), "0", 1000);
    // Ran 250 of 1000 ns: 50 counted stand for 200.
    let grown = Grown { enabled_ns: 1000, running_ns: 250, values: vec![Ok(200.0), Ok(20.0)] };
    assert_eq!(seen, [(0, Ok(grown))]);
}

#[test]
fn a_counter_that_did_not_run_or_ran_backwards_is_no_zero() {
    let snapshot =
        |enabled_ns, running_ns, value| Snapshot { enabled_ns, running_ns, values: vec![Some(value), None] };
    let why = growth(&snapshot(0, 0, 5), &snapshot(10, 0, 5), &[]).unwrap_err();
    assert!(why.contains("NMI watchdog"), "{why}");
    assert!(growth(&snapshot(10, 10, 5), &snapshot(10, 10, 5), &[]).unwrap_err().contains("stood still"));
    assert!(growth(&snapshot(10, 10, 5), &snapshot(9, 9, 5), &[]).unwrap_err().contains("backwards"));
    let missing = [None, Some("no such event".to_owned())];
    let grown = growth(&snapshot(0, 0, 5), &snapshot(10, 10, 4), &missing).unwrap();
    assert!(grown.values[0].as_ref().unwrap_err().contains("backwards"));
    assert_eq!(grown.values[1], Err("no such event".to_owned()));
}

#[test]
fn a_cpu_that_goes_offline_is_a_gap_and_is_counted_again_later() {
    let offline = Step::Open(Err(OpenError::Offline(3)));
    let series = Series::of(&[(
        3,
        &[
            opened(),
            read(0, 0, &[0, 0]),
            // Offline after 400 of 1000 ns: the second look finds the times unmoved.
            read(400, 400, &[9, 9]),
            read(400, 400, &[9, 9]),
            // The next window finds it dead and offline.
            read(400, 400, &[9, 9]),
            offline,
            // The one after finds it online.
            opened(),
            read(0, 0, &[0, 0]),
            read(1000, 1000, &[7, 8]),
        ],
    )]);
    let mut kept = Kept::new(Box::new(series.clone()), 99);
    let why = window(&mut kept, "3", 1000).remove(0).1.unwrap_err();
    assert!(why.contains("400 of 1000 ns"), "{why}");
    assert_eq!(window(&mut kept, "3", 1000).remove(0).1, Err("logical CPU 3 is offline".to_owned()));
    assert_eq!(window(&mut kept, "3", 1000).remove(0).1.unwrap().values, [Ok(7.0), Ok(8.0)]);
    assert!(series.0.lock().unwrap()[&3].is_empty());
}

#[test]
fn a_late_reader_is_no_gap() {
    let series = Series::of(&[(
        0,
        &[opened(), read(0, 0, &[0, 0]), read(500, 500, &[5, 5]), read(510, 510, &[5, 5])],
    )]);
    assert!(window(&mut Kept::new(Box::new(series), 99), "0", 1000)[0].1.is_ok());
}

#[test]
fn refusals_are_asked_for_once_and_failed_reads_open_again() {
    let denied = OpenError::Denied { why: "no".into(), remedy: "ask".into() };
    let series = Series::of(&[
        (0, &[Step::Open(Err(denied))]),
        (
            1,
            &[
                opened(),
                read(0, 0, &[0, 0]),
                Step::Fail("gone"),
                Step::Fail("gone"),
                opened(),
                read(0, 0, &[0, 0]),
                read(9, 9, &[1, 1]),
            ],
        ),
    ]);
    let mut kept = Kept::new(Box::new(series), 99);
    let first = window(&mut kept, "0,1", 9);
    assert_eq!(first[0].1, Err("no; ask".to_owned()));
    assert_eq!(first[1].1, Err("the counters cannot be read: gone".to_owned()));
    let second = window(&mut kept, "0,1", 9);
    assert_eq!(second[0].1, Err("no; ask".to_owned()));
    assert!(second[1].1.is_ok());
}

#[test]
fn too_few_file_descriptors_leave_cpus_out_with_a_reason() {
    let steps = [opened(), read(0, 0, &[0, 0]), read(9, 9, &[1, 1])];
    let series = Series::of(&[(0, &steps), (1, &steps)]);
    let mut kept = Kept::new(Box::new(series), 5);
    kept.start(&set("0-2"), |_| plan());
    let mut seen = Vec::new();
    let left_out = kept.finish(9, |cpu, _, _| seen.push(cpu));
    assert_eq!(seen, [0, 1]);
    assert!(left_out.unwrap().contains("ulimit -n"));
}

#[test]
fn a_large_placement_is_read_in_evenly_spread_places() {
    let chosen = evenly(&set("0-511"), MOST_CPUS);
    assert_eq!(chosen.len(), MOST_CPUS);
    assert_eq!(chosen[..3], [0, 8, 16]);
    assert_eq!(evenly(&set("3,9"), 64), [3, 9]);
    assert!(evenly(&CpuSet::new(), 64).is_empty());
}
