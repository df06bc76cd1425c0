//! Numbers computed by hand, and what holds for all busy times.

use super::*;
use crate::core_time::{CpuTime, core_times, cpu_times};
use crate::switches::Traced;
use proptest::prelude::*;
use threadwise_machine::topology::LogicalCpu;
use threadwise_machine::{CpuSet, Topology};
use threadwise_study::CpuTimes;

/// A machine of so many cores of so many threads; siblings have neighbouring numbers.
fn machine(cores: u32, threads: u32) -> Layout {
    let cpu = |os_id: u32| LogicalCpu {
        os_id,
        package: Some(0),
        siblings: (0..threads).map(|thread| os_id / threads * threads + thread).collect::<CpuSet>(),
        online: true,
        allowed: true,
        ..LogicalCpu::default()
    };
    Layout::of(&Topology { logical_cpus: (0..cores * threads).map(cpu).collect(), ..Topology::default() })
}

/// The machine's row in a window of a second, from busy and stolen seconds.
fn row(layout: &Layout, cpus: &[(f64, f64)], traced: &[Option<Traced>], smt_yield: [f64; 2]) -> Row {
    let times: Vec<_> = cpus.iter().map(|&(busy_s, stolen_s)| Some(CpuTime { busy_s, stolen_s })).collect();
    let cores = core_times(layout, &times, traced, 1.0);
    rows(layout, &cores, 1.0, &SmtYield::new(smt_yield[0], smt_yield[1]).unwrap(), 1.0)[0]
}

fn close(bounds: Bounds, low: f64, high: f64) {
    assert!(
        (bounds.low - low).abs() < 1e-9 && (bounds.high - high).abs() < 1e-9,
        "{bounds:?}, not {low} to {high}"
    );
}

fn exactly(busy_s: &[f64], either_s: f64) -> Vec<Option<Traced>> {
    vec![Some(Traced { busy_s: busy_s.to_vec(), either_s })]
}

#[test]
fn half_busy_is_most_of_the_capacity_where_siblings_take_turns() {
    let layout = machine(1, 2);
    // One sibling busy all the time: exact without switches, 1 / 1.25 of what both do.
    let one = row(&layout, &[(1.0, 0.0), (0.0, 0.0)], &[], [1.25, 1.25]);
    assert!((one.busy_share - 0.5).abs() < 1e-12);
    close(one.capacity_used_share, 0.8, 0.8);
    close(one.headroom_share, 0.2, 0.2);
    close(one.core_busy_share, 1.0, 1.0);
    // Both busy half of the time: together (0.5) or in turns (0.8).
    let both = row(&layout, &[(0.5, 0.0), (0.5, 0.0)], &[], [1.25, 1.25]);
    close(both.capacity_used_share, 0.5, 0.8);
    close(both.headroom_share, 0.2, 0.5);
    close(both.core_seconds, 0.5, 1.0);
    // B = 0.2, A = 0.6: (0.6 / 1.25 + 0.2) / 1.
    let known = row(&layout, &[(0.5, 0.0), (0.5, 0.0)], &exactly(&[0.5, 0.5], 0.8), [1.25, 1.25]);
    close(known.capacity_used_share, 0.68, 0.68);
    assert!(known.is_traced && !both.is_traced);
    // An interval of yields: 0.6 / 1.5 + 0.2 to 0.6 / 1.2 + 0.2.
    let open = row(&layout, &[(0.5, 0.0), (0.5, 0.0)], &exactly(&[0.5, 0.5], 0.8), [1.2, 1.5]);
    close(open.capacity_used_share, 0.6, 0.7);
}

#[test]
fn without_a_yield_the_capacity_is_that_of_cores() {
    let layout = machine(1, 2);
    let both = row(&layout, &[(0.5, 0.0), (0.5, 0.0)], &[], [1.0, 1.0]);
    close(both.capacity_used_share, 0.5, 1.0);
    close(both.core_busy_share, 0.5, 1.0);
    // Second threads that take more than they give count as nothing, and everything is used by one.
    let loss = row(&layout, &[(1.0, 0.0), (0.0, 0.0)], &[], [0.8, 0.9]);
    close(loss.capacity_used_share, 1.0, 1.0);
    // A yield of 2 is two cores, whatever was busy when.
    let two = row(&layout, &[(0.5, 0.0), (0.7, 0.0)], &[], [2.0, 2.0]);
    close(two.capacity_used_share, 0.6, 0.6);
}

#[test]
fn four_threads_and_one_are_general() {
    // One of four busy: 1 of 1 + 3 * 0.25.
    let four = row(&machine(1, 4), &[(1.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)], &[], [1.25, 1.25]);
    close(four.capacity_used_share, 1.0 / 1.75, 1.0 / 1.75);
    let one = row(&machine(2, 1), &[(0.5, 0.0), (0.0, 0.0)], &[], [1.2, 1.4]);
    close(one.capacity_used_share, 0.25, 0.25);
    assert_eq!((one.logical_cpus, one.cores, one.is_traced), (2, 2, true));
}

#[test]
fn a_machine_adds_its_cores() {
    // Both of the first core all the time, the second core idle.
    let two = row(&machine(2, 2), &[(1.0, 0.0), (1.0, 0.0), (0.0, 0.0), (0.0, 0.0)], &[], [1.25, 1.25]);
    close(two.capacity_used_share, 0.5, 0.5);
    close(two.core_busy_share, 0.5, 0.5);
}

#[test]
fn stolen_time_is_no_capacity() {
    // A fifth was stolen, and all the rest was busy.
    let one = row(&machine(1, 1), &[(0.8, 0.2)], &[], [1.0, 1.0]);
    close(one.capacity_used_share, 1.0, 1.0);
    assert!((one.busy_share - 0.8).abs() < 1e-12 && (one.stolen_share - 0.2).abs() < 1e-12);
    // The other sibling was stolen all the time: the one that ran had all that there was.
    let sibling = row(&machine(1, 2), &[(1.0, 0.0), (0.0, 1.0)], &[], [1.25, 1.25]);
    close(sibling.capacity_used_share, 1.0, 1.0);
}

#[test]
fn a_higher_clock_than_with_all_busy_uses_more() {
    let layout = machine(1, 2);
    let times = [Some(CpuTime { busy_s: 0.5, stolen_s: 0.0 }), Some(CpuTime::default())];
    let cores = core_times(&layout, &times, &[], 1.0);
    let yield_ = SmtYield::new(1.25, 1.25).unwrap();
    close(rows(&layout, &cores, 1.0, &yield_, 1.2)[0].capacity_used_share, 0.48, 0.48);
    let full = core_times(&layout, &[Some(CpuTime { busy_s: 1.0, stolen_s: 0.0 }); 2], &[], 1.0);
    let row = rows(&layout, &full, 1.0, &yield_, 1.2)[0];
    close(row.capacity_used_share, 1.2, 1.2);
    close(row.headroom_share, 0.0, 0.0);
}

#[test]
fn what_is_offline_is_no_capacity() {
    let layout = machine(2, 2);
    let only = [None, Some(CpuTime { busy_s: 0.5, stolen_s: 0.0 })];
    let cores = core_times(&layout, &only, &[], 1.0);
    let row = rows(&layout, &cores, 1.0, &SmtYield::new(1.25, 1.25).unwrap(), 1.0)[0];
    assert_eq!((row.logical_cpus, row.cores), (1, 1));
    close(row.capacity_used_share, 0.5, 0.5);
    let none = core_times(&layout, &[], &[], 1.0);
    assert!(rows(&layout, &none, 1.0, &SmtYield::new(1.2, 1.2).unwrap(), 1.0).is_empty());
}

/// Busy states of each sibling in steps of a hundredth of the window.
fn pattern(threads: usize) -> impl Strategy<Value = Vec<Vec<bool>>> {
    let share =
        (0.0..=1.0_f64).prop_flat_map(|share| prop::collection::vec(prop::bool::weighted(share), 100));
    prop::collection::vec(share, threads)
}

proptest! {
    #[test]
    fn the_truth_lies_within_the_bounds(
        states in (1_usize..=4).prop_flat_map(pattern),
        low in 1.0..2.0_f64,
        width in 0.0..0.5_f64,
    ) {
        let high = (low + width).min(2.0);
        let busy = |cpu: &Vec<bool>| cpu.iter().filter(|state| **state).count() as f64 / 100.0;
        let cpus: Vec<(f64, f64)> = states.iter().map(|cpu| (busy(cpu), 0.0)).collect();
        let threads = states.len();
        let at = |step: usize| states.iter().filter(|cpu| cpu[step]).count();
        let either_s = (0..100).filter(|step| at(*step) > 0).count() as f64 / 100.0;
        let layout = machine(1, threads as u32);
        let bounds = row(&layout, &cpus, &[], [low, high]);
        let busy_s: Vec<f64> = cpus.iter().map(|cpu| cpu.0).collect();
        let exact = row(&layout, &cpus, &exactly(&busy_s, either_s), [low, low]);
        // By definition: y(k) = 1 + (y - 1)(k - 1) in each step, over y(all).
        let y = |busy: usize| if busy == 0 { 0.0 } else { 1.0 + (low - 1.0) * (busy as f64 - 1.0) };
        let truth = (0..100).map(|step| y(at(step))).sum::<f64>() / 100.0 / y(threads);
        let used = exact.capacity_used_share;
        prop_assert!((used.low - truth).abs() < 1e-9 && (used.high - truth).abs() < 1e-9, "{used:?} {truth}");
        prop_assert!(bounds.capacity_used_share.low <= truth + 1e-9);
        prop_assert!(bounds.capacity_used_share.high >= truth - 1e-9);
        prop_assert!((-1e-9..=1.0 + 1e-9).contains(&bounds.capacity_used_share.low));
        prop_assert!((-1e-9..=1.0 + 1e-9).contains(&bounds.capacity_used_share.high));
    }

    #[test]
    fn shares_are_shares_whatever_was_read(
        ticks in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 1..9),
        threads in 1_u32..5,
        low in 0.5..2.0_f64,
        window_s in 0.01..100.0_f64,
    ) {
        let times: Vec<CpuTimes> = ticks
            .iter()
            .enumerate()
            .map(|(cpu, &(busy_ns, steal_ns, total_ns))| CpuTimes { cpu: cpu as u32, busy_ns, steal_ns, total_ns })
            .collect();
        let layout = machine(8, threads);
        let cores = core_times(&layout, &cpu_times(&times, window_s), &[], window_s);
        for row in rows(&layout, &cores, window_s, &SmtYield::new(low, 2.0).unwrap(), 1.0) {
            let Bounds { low, high } = row.capacity_used_share;
            prop_assert!(low >= -1e-9 && low <= high + 1e-9 && high <= 1.0 + 1e-9, "{row:?}");
            prop_assert!((0.0..=1.0).contains(&row.busy_share) && (0.0..=1.0).contains(&row.stolen_share));
        }
    }
}
