//! Core-seconds: bounds of small cases, worked by hand and by trying every schedule.

use super::*;
use crate::queries::cores::{busy_bounds, straggler_bounds};

fn bounds(cores: &[&[f64]], window: f64) -> CoreSeconds {
    let cores: Vec<Vec<f64>> = cores.iter().map(|core| core.to_vec()).collect();
    CoreSeconds::of(&cores, window)
}

#[test]
fn one_thread_a_core_is_exact() {
    let got = bounds(&[&[3.0], &[10.0], &[0.0]], 10.0);
    assert_eq!((got.logical_s, got.core_low_s, got.core_high_s), (13.0, 13.0, 13.0));
    assert_eq!((got.straggler_low_s, got.straggler_high_s), (0.0, 0.0));
}

#[test]
fn two_threads_worked_by_hand() {
    // 6 and 7 of 10 overlap between 3 and 6: a core busy 7 to 10.
    assert_eq!(busy_bounds(&[6.0, 7.0], 10.0), (7.0, 10.0));
    assert_eq!(busy_bounds(&[2.0, 3.0], 10.0), (3.0, 5.0));
    // The other core idle 9 of 10: they meet for at least 3 + 9 − 10, at most min(6, 9).
    assert_eq!(straggler_bounds(&[vec![6.0, 7.0], vec![1.0, 0.0]], 10.0), (2.0, 6.0));
    // The other core never idle; with a little of its second thread it may be the one that is doubled
    // up, while the first idles for 3 at most.
    assert_eq!(straggler_bounds(&[vec![6.0, 7.0], vec![10.0, 0.0]], 10.0), (0.0, 0.0));
    assert_eq!(straggler_bounds(&[vec![6.0, 7.0], vec![10.0, 1.0]], 10.0), (0.0, 1.0));
    // One core alone has no other that could idle.
    assert_eq!(straggler_bounds(&[vec![10.0, 10.0]], 10.0), (0.0, 0.0));
    assert_eq!(straggler_bounds(&[vec![10.0, 10.0], vec![0.0, 0.0]], 10.0), (10.0, 10.0));
    // Ticks beyond the window are cut off.
    assert_eq!(bounds(&[&[10.01, 10.02]], 10.0).core_high_s, 10.0);
}

#[test]
fn four_threads_worked_by_hand() {
    // Three always busy: at least two of them all of the time.
    assert_eq!(straggler_bounds(&[vec![10.0, 10.0, 10.0, 0.0], vec![0.0; 4]], 10.0), (10.0, 10.0));
    // 16 busy of 4 times 10: (16 − 10)/3 = 2 at least, all of 16/2 = 8 at most.
    assert_eq!(straggler_bounds(&[vec![4.0; 4], vec![0.0; 4]], 10.0), (2.0, 8.0));
    assert_eq!(busy_bounds(&[4.0; 4], 10.0), (4.0, 10.0));
}

/// Every schedule of two cores of two threads in windows of a few ticks lies within the bounds, and
/// those of busy time are reached.
#[test]
fn no_schedule_is_out_of_bounds() {
    const TICKS: u32 = 3;
    let mut reached: std::collections::BTreeMap<[u32; 4], (u32, u32)> = Default::default();
    for schedule in 0_u32..1 << (4 * TICKS) {
        let thread = |at: u32| schedule >> (at * TICKS) & ((1 << TICKS) - 1);
        let busy = [0, 1, 2, 3].map(|at| thread(at).count_ones());
        let cores = [[0, 1], [2, 3]].map(|core| core.map(|at| f64::from(busy[at as usize])).to_vec());
        let got = CoreSeconds::of(&cores, f64::from(TICKS));
        let any = [thread(0) | thread(1), thread(2) | thread(3)];
        let both = [thread(0) & thread(1), thread(2) & thread(3)];
        let core_busy = any[0].count_ones() + any[1].count_ones();
        let straggling = ((both[0] & !any[1]) | (both[1] & !any[0])).count_ones();
        assert!(
            got.core_low_s <= f64::from(core_busy) && f64::from(core_busy) <= got.core_high_s,
            "{busy:?}"
        );
        assert!(
            got.straggler_low_s <= f64::from(straggling) && f64::from(straggling) <= got.straggler_high_s,
            "{busy:?}: {straggling} not in {got:?}"
        );
        let (low, high) = reached.entry(busy).or_insert((core_busy, core_busy));
        (*low, *high) = ((*low).min(core_busy), (*high).max(core_busy));
    }
    for (busy, (low, high)) in reached {
        let cores = [[busy[0], busy[1]], [busy[2], busy[3]]].map(|core| core.map(f64::from).to_vec());
        let got = CoreSeconds::of(&cores, f64::from(TICKS));
        assert_eq!((got.core_low_s, got.core_high_s), (f64::from(low), f64::from(high)), "{busy:?}");
    }
}

/// The same for three cores with 1, 2 and 4 threads, by draws.
#[test]
fn no_drawn_schedule_is_out_of_bounds() {
    const TICKS: usize = 8;
    let mut random = ChaCha8Rng::seed_from_u64(11);
    for _ in 0..20_000 {
        let load: f64 = random.random();
        let cores: Vec<Vec<u32>> = [1, 2, 4, 2]
            .iter()
            .map(|threads| {
                let mut thread =
                    || (0..TICKS).fold(0_u32, |bits, _| bits << 1 | u32::from(random.random::<f64>() < load));
                (0..*threads).map(|_| thread()).collect()
            })
            .collect();
        let busy: Vec<Vec<f64>> = cores
            .iter()
            .map(|core| core.iter().map(|thread| f64::from(thread.count_ones())).collect())
            .collect();
        let got = CoreSeconds::of(&busy, TICKS as f64);
        let at = |tick: usize, core: &Vec<u32>| core.iter().filter(|thread| *thread >> tick & 1 == 1).count();
        let (mut used, mut straggling) = (0.0, 0.0);
        for tick in 0..TICKS {
            let counts: Vec<usize> = cores.iter().map(|core| at(tick, core)).collect();
            used += counts.iter().filter(|count| **count > 0).count() as f64;
            straggling += f64::from(counts.iter().any(|c| *c >= 2) && counts.contains(&0));
        }
        assert!(got.core_low_s <= used && used <= got.core_high_s, "{busy:?} {used} {got:?}");
        assert!(
            got.straggler_low_s <= straggling && straggling <= got.straggler_high_s,
            "{busy:?} {straggling} {got:?}"
        );
    }
}

/// One process's share of drawn schedules: whatever the others do, its core-seconds lie within the
/// bounds from its CPU time and all busy times.
#[test]
fn no_share_of_a_drawn_schedule_is_out_of_bounds() {
    const TICKS: usize = 8;
    let mut random = ChaCha8Rng::seed_from_u64(12);
    for _ in 0..20_000 {
        let (load, part): (f64, f64) = (random.random(), random.random());
        // By core, thread and tick: idle, others', own.
        let cores: Vec<Vec<Vec<u8>>> = [1, 2, 4, 2]
            .iter()
            .map(|threads| {
                let mut tick = || match random.random::<f64>() {
                    x if x < load * part => 2,
                    x if x < load => 1,
                    _ => 0,
                };
                (0..*threads).map(|_| (0..TICKS).map(|_| tick()).collect()).collect()
            })
            .collect();
        let count = |is_so: &dyn Fn(u8) -> bool, thread: &[u8]| {
            thread.iter().filter(|state| is_so(**state)).count() as f64
        };
        let busy: Vec<Vec<f64>> = cores
            .iter()
            .map(|core| core.iter().map(|thread| count(&|state| state > 0, thread)).collect())
            .collect();
        let cpu: f64 = cores.iter().flatten().map(|thread| count(&|state| state == 2, thread)).sum();
        let used: usize = cores
            .iter()
            .map(|core| (0..TICKS).filter(|tick| core.iter().any(|thread| thread[*tick] == 2)).count())
            .sum();
        let (low, high) = own_bounds(&busy, cpu, TICKS as f64);
        assert!(
            low <= used as f64 + 1e-9 && used as f64 <= high + 1e-9,
            "{busy:?} {cpu} {used} [{low}, {high}]"
        );
    }
}

#[test]
fn own_bounds_worked_by_hand() {
    // Alone on one thread a core they are the CPU time, whatever others do there.
    assert_eq!(own_bounds(&[vec![9.0], vec![10.0]], 12.0, 10.0), (12.0, 12.0));
    // All of the busy times are its own: as for busy times alone, and at most as long as its CPU time.
    assert_eq!(own_bounds(&[vec![6.0, 7.0]], 13.0, 10.0), (7.0, 10.0));
    assert_eq!(own_bounds(&[vec![2.0, 3.0]], 5.0, 10.0), (3.0, 5.0));
    // 4 of 13 are its own: 2 of the core's seconds where both siblings worked for it, 4 where none did.
    assert_eq!(own_bounds(&[vec![6.0, 7.0]], 4.0, 10.0), (2.0, 4.0));
    // More than siblings can have shared goes to where one was busy.
    assert_eq!(own_bounds(&[vec![1.0, 7.0], vec![5.0, 0.0]], 6.0, 10.0), (5.0, 6.0));
    // CPU time that ticks did not show.
    assert_eq!(own_bounds(&[vec![0.0, 0.0]], 4.0, 10.0), (2.0, 2.0));
    assert_eq!(own_bounds(&[vec![0.0]], 4.0, 10.0), (4.0, 4.0));
}

/// Queries 1 and 2 of 100 ms each with so much CPU time, on two cores of two threads, of which the first
/// is busy for 60 and 70 ms, the second for 10 and 0.
fn on_two_cores(cpu_ms: Option<u64>) -> (Study, Vec<Run>) {
    let study = study_of("1-2", &["T all 1 4"]);
    let mut runs = power(&study, 3, |_, query, _| QueryExecution {
        cpu_ns: cpu_ms.map(|ms| ms * 1_000_000),
        planning_ns: None,
        ..took(query, 100.0)
    });
    for run in &mut runs {
        run.cpus = vec![0, 1, 2, 3];
        for slice in &mut run.slices {
            slice.cpu_times = times(&[
                (0, 60.0, 0.0, 110.0),
                (1, 70.0, 0.0, 110.0),
                (2, 10.0, 0.0, 110.0),
                (3, 0.0, 0.0, 110.0),
                (9, 99.0, 0.0, 110.0),
            ]);
        }
    }
    (study, runs)
}

fn cores_of_t(study: &Study, runs: &[Run], topology: Option<&Topology>) -> Option<CoreSeconds> {
    look(study, topology, runs).queries.unwrap().treatments[2].cores.clone()
}

#[test]
fn bounds_of_a_treatment_are_sums_over_its_slices() {
    let topology = machine(1, 4, 2);
    let (study, runs) = on_two_cores(Some(130));
    let cores = cores_of_t(&study, &runs, Some(&topology)).unwrap();
    assert_eq!(cores.cores, 2);
    for (got, expected) in [
        // 120 of 130 ms can be in pairs on the first core, 10 on single threads; at most 100 ms of the
        // first core, which is all of the query, and 10 of the second.
        (cores.core_low_s, 0.14),
        (cores.core_high_s, 0.22),
        (cores.engine_cpu_s.unwrap(), 0.26),
        (cores.elapsed_s, 0.2),
        (cores.logical_s, 0.28),
        (cores.slice_s, 0.22),
        // 60 + 70 − 110 while the other idles for 100 at least: at least 20 + 100 − 110; at most 60 + 0.
        (cores.straggler_low_s, 0.02),
        (cores.straggler_high_s, 0.12),
    ] {
        close(got, expected);
    }
    // A slice without the times of one of its own logical CPUs, or an unknown machine: nothing.
    assert_eq!(cores_of_t(&study, &runs, None), None);
    let mut lacking = runs;
    lacking.iter_mut().flat_map(|run| &mut run.slices).for_each(|slice| {
        slice.cpu_times.remove(2);
    });
    assert_eq!(cores_of_t(&study, &lacking, Some(&topology)), None);
}

#[test]
fn others_work_is_in_the_busy_times_and_not_in_the_core_seconds() {
    let topology = machine(1, 4, 2);
    let (study, runs) = on_two_cores(Some(40));
    let cores = cores_of_t(&study, &runs, Some(&topology)).unwrap();
    close(cores.logical_s, 0.28);
    // 40 of 140 ms are the query's: between 20 and 40 of a core.
    close(cores.core_low_s, 0.04);
    close(cores.core_high_s, 0.08);
    // Without its CPU time they cannot be separated.
    let (study, runs) = on_two_cores(None);
    let cores = cores_of_t(&study, &runs, Some(&topology)).unwrap();
    assert_eq!(cores.engine_cpu_s, None);
    for (got, expected) in [(cores.core_low_s, 0.16), (cores.core_high_s, 0.24), (cores.elapsed_s, 0.22)] {
        close(got, expected);
    }
}
