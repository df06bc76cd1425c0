//! Looks against a known truth: the two threads that look are moved between one logical CPU and two, on a
//! schedule that they do not know.
#![allow(clippy::unwrap_used)]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use threadwise_machine::CpuSet;
use threadwise_machine::pin::{current_affinity, set_thread_affinity};
use threadwise_probe::look::live::Lookers;
use threadwise_probe::neighbour::FREE_ADDS;

const LOOKS: usize = 200;
/// So many more are taken until both came to one: others with the same priority may keep a logical CPU for long.
const MOST_LOOKS: usize = 20 * LOOKS;
/// Between looks, so that a hypervisor that runs both on one core gets to the other.
const PAUSE: Duration = Duration::from_millis(1);

/// Lookers run before all others, so that those of one test would keep those of another waiting.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The two lowest allowed logical CPUs.
fn two() -> [u32; 2] {
    let allowed: Vec<u32> = current_affinity().unwrap().iter().take(2).collect();
    allowed.try_into().unwrap()
}

/// 1,0,0,1,…: a linear congruential generator, so that the schedule has no period that looks could have.
fn schedule() -> impl Iterator<Item = bool> {
    let mut seed = 42_u64;
    std::iter::repeat_with(move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 63 == 1
    })
}

#[test]
fn a_cpu_without_a_thread_is_refused_and_one_alone_is_looked_at() {
    let _alone = alone();
    let a = current_affinity().unwrap().first().unwrap();
    let b = a + 1;
    let lookers = Lookers::new(&[a].into_iter().collect()).unwrap();
    assert!(lookers.look(&[a, b], &[(a, b)], Some((a, b))).is_err());
    let look = lookers.look(&[a], &[], None).unwrap();
    assert_eq!((look.cpus.len(), look.pairs.len()), (1, 0));
}

/// What these see is what the machine lets them see, and they take two logical CPUs.
mod lab_clock {
    use super::*;

    #[test]
    #[ignore = "laboratory: clock"]
    fn two_on_one_cpu_never_pass_a_line_and_apart_they_do() {
        let _alone = alone();
        let [a, b] = two();
        let lookers = Lookers::new(&[a, b].into_iter().collect()).unwrap();
        let tid = lookers.tids()[&b];
        let (mut apart, mut passed, mut one_came) = (0, 0, 0);
        for (at, is_stacked) in schedule().take(MOST_LOOKS).enumerate() {
            if at >= LOOKS && passed > 0 && one_came > 0 {
                break;
            }
            std::thread::sleep(PAUSE);
            let place: CpuSet = [if is_stacked { a } else { b }].into_iter().collect();
            set_thread_affinity(tid, &place).unwrap();
            let look = lookers.look(&[a, b], &[(a, b)], Some((a, b))).unwrap();
            assert_eq!((look.cpus.len(), look.pairs.len()), (2, 1));
            let line_ns = look.pairs[0].line_ns;
            if is_stacked {
                assert_eq!((line_ns, look.alone), (None, None), "{look:?}");
                // The first to come goes on without the other, which then finds the look over.
                let came = look.cpus.iter().filter(|seen| seen.chain_ns.is_some()).count();
                one_came += usize::from(came == 1);
                let of_missing = look.cpus.iter().filter(|seen| seen.chain_ns.is_none());
                assert!(of_missing.into_iter().all(|seen| seen.adds_per_step.is_none()), "{look:?}");
            } else {
                apart += 1;
                passed += usize::from(line_ns.is_some());
            }
        }
        // Others may take a logical CPU away for a look, and on a busy machine for many; for all they cannot.
        assert!(passed > 0, "no look of {apart} passed a line");
        assert!(one_came > 0, "in no look on one logical CPU did one of the two come");
    }

    #[test]
    #[ignore = "laboratory: clock"]
    fn every_figure_of_a_look_is_there_on_a_cpu_that_is_ours() {
        let _alone = alone();
        let [a, b] = two();
        let lookers = Lookers::new(&[a, b].into_iter().collect()).unwrap();
        let looks: Vec<_> =
            (0..LOOKS).map(|_| lookers.look(&[a, b], &[(a, b)], Some((a, b))).unwrap()).collect();
        let widths: Vec<f64> = looks.iter().filter_map(|look| look.cpus[0].adds_per_step).collect();
        assert_eq!(!widths.is_empty(), FREE_ADDS.is_some(), "of portable kernels no widths are known");
        assert!(widths.iter().all(|adds| adds.is_finite() && *adds > 0.0));
        assert!(looks.iter().any(|look| look.cpus[0].chain_ns.is_some_and(|chain_ns| chain_ns > 0.0)));
        assert!(
            looks.windows(2).all(|two| two[0].start_ns + two[0].took_ns <= two[1].start_ns),
            "one after the other"
        );
        let lines = looks.iter().filter_map(|look| look.pairs[0].line_ns);
        assert!(lines.into_iter().all(|line_ns| line_ns > 0.5 && line_ns < 60_000.0));
    }
}
