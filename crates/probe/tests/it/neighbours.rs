//! How much of the time a neighbour is busy on a sibling, on a model whose truth is known.

use crate::model::toggle::Toggle;
use crate::model::{Core, Machine, Neighbour, Place, Weather};
use threadwise_machine::CpuSet;
use threadwise_probe::bench::{Bench, ProbeError, Timing};
use threadwise_probe::kernels::Kernel;
use threadwise_probe::neighbour::{FREE_ADDS, Watch, watch, width_of};
use threadwise_study::probe::ProbeForm;

const MS: f64 = 1e6;

/// A core a logical CPU, each with one neighbour: mean time on and off, and the width it wants.
fn machine(neighbours: &[(f64, f64, f64)], width: f64, weather: Weather, seed: u64) -> Machine {
    let core = |(at, &(on, off, demand)): (usize, &(f64, f64, f64))| Core {
        width,
        neighbours: vec![Neighbour { demand, busy: Toggle::new((on * MS, off * MS), seed * 97 + at as u64) }],
    };
    let places = (0..neighbours.len()).map(|core| Place { core, thread: 0 }).collect();
    Machine::new(neighbours.iter().enumerate().map(core).collect(), places, weather, seed)
}

fn long<'a>() -> Watch<'a> {
    Watch::of(ProbeForm::Standard, &[])
}

#[test]
fn a_known_share_is_found_again() {
    let weathers = [
        Weather::calm(),
        Weather { drift: 0.12, drift_ns: 0.4e9, turbo: 0.3, noise: 0.03, outliers: 0.01, ..Weather::calm() },
    ];
    let neighbours = [
        (1.0, 1.0, 1.0),
        (3.0, 9.0, 0.8),
        (40.0, 10.0, 1.0),
        (20.0, 200.0, 0.6),
        (0.0, 1.0, 1.0),
        (90.0, 10.0, 1.0),
    ];
    for weather in weathers {
        for seed in 0..6 {
            let mut machine = machine(&neighbours, 4.9, weather.clone(), seed);
            let cpus: Vec<u32> = (0..neighbours.len() as u32).collect();
            let watching = Watch { baseline: Some(4.9), ..long() };
            for (cpu, seen) in watch(&mut machine, &cpus, &watching).unwrap().iter().enumerate() {
                let (on, asked) = machine.cores[cpu].neighbours[0].busy.seen_on;
                let truth = on as f64 / asked as f64;
                let share = seen.busy_share.unwrap();
                assert!((share - truth).abs() < 0.1, "seed {seed}: {truth} of the time, not {seen:?}");
            }
        }
    }
}

#[test]
fn a_core_that_is_free_at_times_is_its_own_baseline_where_widths_are_known() {
    let mut machine = machine(&[(10.0, 10.0, 1.0)], 4.9, Weather::calm(), 4);
    let seen = watch(&mut machine, &[0], &long()).unwrap().remove(0);
    let (on, asked) = machine.cores[0].neighbours[0].busy.seen_on;
    match FREE_ADDS {
        Some(_) => assert!((seen.busy_share.unwrap() - on as f64 / asked as f64).abs() < 0.1, "{seen:?}"),
        None => assert!(seen.busy_share.is_none() && seen.why.contains("not known"), "{seen:?}"),
    }
}

#[test]
fn never_free_is_unknown_and_not_zero() {
    let mut machine = machine(&[(1.0, 0.0, 1.0)], 4.9, Weather::calm(), 2);
    let seen = watch(&mut machine, &[0], &long()).unwrap();
    assert_eq!(seen[0].busy_share, None, "{seen:?}");
    assert!(!seen[0].why.is_empty());
    assert!((seen[0].adds_per_step_p50.unwrap() - 2.45).abs() < 0.1, "{seen:?}");
    assert_eq!(width_of(&seen), None);
    let known = Watch { baseline: Some(4.9), ..long() };
    let seen = watch(&mut machine, &[0], &known).unwrap();
    assert_eq!(seen[0].busy_share, Some(1.0), "{seen:?}");
}

#[test]
fn the_widest_core_in_use_half_of_the_time_is_not_taken_for_a_narrow_free_one() {
    let mut machine = machine(&[(1.0, 0.0, 1.0)], 6.0, Weather::calm(), 2);
    assert_eq!(watch(&mut machine, &[0], &long()).unwrap()[0].busy_share, None);
}

#[test]
fn a_kind_shares_its_baseline_and_kinds_do_not() {
    let mut machine = machine(&[(1.0, 0.0, 0.3), (0.0, 1.0, 1.0), (0.0, 1.0, 1.0)], 5.8, Weather::calm(), 8);
    machine.cores[2].width = 3.9;
    let kinds = [CpuSet::from_iter([0, 1]), CpuSet::from_iter([2])];
    let watching = Watch { kinds: &kinds, ..long() };
    let seen = watch(&mut machine, &[0, 1, 2], &watching).unwrap();
    if FREE_ADDS.is_some() {
        assert_eq!(seen[0].busy_share, Some(1.0), "0.7 of the width all the time: {seen:?}");
        assert!(seen[1].busy_share.unwrap() < 0.02, "{seen:?}");
        assert!(seen[2].busy_share.unwrap() < 0.02, "a narrower kind: {seen:?}");
        assert!((width_of(&seen[..2]).unwrap() - 5.8).abs() < 0.3);
    } else {
        assert!(seen.iter().all(|neighbour| neighbour.busy_share.is_none()), "{seen:?}");
    }
}

#[test]
fn siblings_of_ours_never_run_together() {
    let mut machine = machine(&[(0.0, 1.0, 1.0)], 4.9, Weather::calm(), 1);
    machine.places.push(Place { core: 0, thread: 1 });
    let machine_of_two = Machine::new(machine.cores.clone(), machine.places.clone(), Weather::calm(), 1);
    let mut machine = machine_of_two;
    let cores = [CpuSet::from_iter([0, 1])];
    let watching = Watch { cores: &cores, baseline: Some(4.9), ..long() };
    let seen = watch(&mut machine, &[1, 0], &watching).unwrap();
    assert_eq!(seen.iter().map(|neighbour| neighbour.cpu).collect::<Vec<u32>>(), [1, 0]);
    assert!(seen.iter().all(|neighbour| neighbour.busy_share.unwrap() < 0.02), "{seen:?}");
}

#[test]
fn a_cpu_that_is_mostly_taken_away_is_unknown() {
    let weather = Weather { steal_ns: (50.0 * MS, 1.0 * MS), ..Weather::calm() };
    let mut machine = machine(&[(1.0, 1.0, 1.0)], 4.9, weather, 5);
    let watching = Watch { windows: 40, baseline: Some(4.9), ..long() };
    let seen = watch(&mut machine, &[0], &watching).unwrap();
    assert_eq!(seen[0].busy_share, None, "{seen:?}");
    assert!(seen[0].off_cpu_share > 0.8, "{seen:?}");
}

/// A bench whose threads never get onto their CPUs.
struct Held;

impl Bench for Held {
    fn run(&mut self, _: Kernel, cpus: &[u32], _: u64) -> Result<Vec<Timing>, ProbeError> {
        let held = |&cpu: &u32| Timing {
            cpu,
            step_ns: 0.3,
            steps_per_ns: 0.0,
            on_cpu_share: 0.0,
            involuntary_switches: 1,
        };
        Ok(cpus.iter().map(held).collect())
    }
}

#[test]
fn without_a_usable_window_there_is_no_figure_and_no_zero() {
    let seen = watch(&mut Held, &[0], &long()).unwrap();
    assert_eq!((seen[0].windows, seen[0].adds_per_step_p50, seen[0].busy_share), (0, None, None));
    assert!(seen[0].why.contains("too few"), "{seen:?}");
}
