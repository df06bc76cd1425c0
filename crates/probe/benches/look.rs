//! Looks on this machine: whether they follow an unknown schedule, what they cost, and whether the hypervisor moves
//! CPUs that sleep between looks more often than CPUs that do not.
//!
//! `cargo bench -p threadwise-probe --bench look [-- SECONDS]`; SECONDS (default 60) for the last question.
//! The figures are in docs/PROBE.md, "Looks".
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};
use threadwise_machine::CpuSet;
use threadwise_machine::pin::{current_affinity, current_thread_id, pin_current_thread, set_thread_affinity};
use threadwise_probe::look::live::Lookers;
use threadwise_study::Look;
use threadwise_study::look::follow::{Follower, Share};

const SCHEDULED: usize = 2_000;
/// Between two looks, as between the ends of two slices.
const EVERY: Duration = Duration::from_millis(5);

/// A generator of bits (linear congruential), so that the schedule has no period that looks could match.
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

fn one(cpu: u32) -> CpuSet {
    [cpu].into_iter().collect()
}

/// Stacked on one logical CPU or apart on two, for a few looks each.
fn schedule(lookers: &Lookers, [a, b]: [u32; 2]) {
    let (tid, mut bits) = (lookers.tids()[&b], Bits(7));
    let (mut right, mut looks, mut is_stacked) = ([0, 0], [0, 0], false);
    while looks[0] + looks[1] < SCHEDULED {
        set_thread_affinity(tid, &one(if is_stacked { a } else { b })).unwrap();
        for _ in 0..=bits.next() % 8 {
            let line_ns = lookers.look(&[a, b], &[(a, b)], Some((a, b))).unwrap().pairs[0].line_ns;
            looks[usize::from(is_stacked)] += 1;
            right[usize::from(is_stacked)] += usize::from(line_ns.is_none() == is_stacked);
            sleep(Duration::from_micros(500 + bits.next() % 2_000));
        }
        is_stacked = !is_stacked;
    }
    set_thread_affinity(tid, &one(b)).unwrap();
    let share = |at: usize| 100.0 * right[at] as f64 / looks[at] as f64;
    println!(
        "schedule: apart {} of {} looks right ({:.2}%), stacked {} of {} ({:.2}%)",
        right[0],
        looks[0],
        share(0),
        right[1],
        looks[1],
        share(1),
    );
}

fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((share * (values.len() - 1) as f64) as usize).copied().unwrap_or(f64::NAN)
}

/// Keeps a logical CPU awake while `awake` says so, at the lowest priority, so that lookers need not wait.
fn keep_awake(cpu: u32, awake: Arc<AtomicBool>, over: Arc<AtomicBool>) {
    spawn(move || {
        pin_current_thread(&one(cpu)).unwrap();
        let tid = current_thread_id().unwrap().to_string();
        let niced = Command::new("renice").args(["-n", "19", "-p", &tid]).stdout(Stdio::null()).status();
        assert!(niced.unwrap().success());
        while !over.load(Ordering::Relaxed) {
            match awake.load(Ordering::Relaxed) {
                true => (0..1_000).for_each(|_| std::hint::spin_loop()),
                false => sleep(Duration::from_millis(1)),
            }
        }
    });
}

/// Looks in turns of a second: the CPUs sleep between them, or are kept awake.
fn taken(lookers: &Lookers, cpus: [u32; 2], seconds: u64) -> Vec<(bool, Look)> {
    let (awake, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    cpus.iter().for_each(|&cpu| keep_awake(cpu, Arc::clone(&awake), Arc::clone(&over)));
    let began = Instant::now();
    let mut all = Vec::new();
    while began.elapsed() < Duration::from_secs(seconds) {
        let is_awake = began.elapsed().as_secs() % 2 == 1;
        awake.store(is_awake, Ordering::Relaxed);
        sleep(EVERY);
        all.push((is_awake, lookers.look(&cpus, &[(cpus[0], cpus[1])], Some((cpus[0], cpus[1]))).unwrap()));
    }
    over.store(true, Ordering::Relaxed);
    all
}

fn report(looks: &[(bool, Look)], cpus: [u32; 2]) {
    let mut follower = Follower::new(&cpus);
    let judged: Vec<(bool, Vec<Share>)> =
        looks.iter().map(|(awake, look)| (*awake, follower.judge(look))).collect();
    let is_one_core = |shares: &[Share]| matches!(shares, [Share::With(_), Share::With(_)]);
    for is_awake in [false, true] {
        let of_mode: Vec<&[Share]> =
            judged.iter().filter(|(awake, _)| *awake == is_awake).map(|(_, shares)| &shares[..]).collect();
        let share = |wanted: fn(&Share) -> bool| {
            let looks = of_mode.iter().filter(|shares| shares.iter().any(wanted)).count();
            100.0 * looks as f64 / of_mode.len() as f64
        };
        let begun = judged
            .windows(2)
            .filter(|two| two[1].0 == is_awake && is_one_core(&two[1].1) && !is_one_core(&two[0].1));
        let mut took: Vec<f64> = looks
            .iter()
            .filter(|(awake, _)| *awake == is_awake)
            .map(|(_, look)| look.took_ns as f64 / 1e3)
            .collect();
        println!(
            "{}: {} looks; one core {:.2}% in {} visits begun; at least one of the two: neighbour {:.2}%, away \
             {:.2}%, unknown {:.2}%; a look took {:.0} us (median), {:.0} us (p99)",
            if is_awake { "kept awake" } else { "asleep between" },
            of_mode.len(),
            share(|share| matches!(share, Share::With(_))),
            begun.count(),
            share(|share| *share == Share::Neighbour),
            share(|share| *share == Share::Away),
            share(|share| *share == Share::Unknown),
            quantile(&mut took, 0.5),
            quantile(&mut took, 0.99),
        );
    }
}

fn main() {
    let seconds = std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(60);
    let allowed: Vec<u32> = current_affinity().unwrap().iter().take(2).collect();
    let Ok(cpus) = <[u32; 2]>::try_from(allowed) else {
        println!("two logical CPUs are needed");
        return;
    };
    let lookers = Lookers::new(&cpus.into_iter().collect()).unwrap();
    schedule(&lookers, cpus);
    report(&taken(&lookers, cpus, seconds), cpus);
}
