//! A model of sessions that serve requests as they arrive, in virtual time: c servers, one queue, first come, first
//! served (docs/METHODOLOGY.md, "Load at a rate").

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::worker::arrivals::{Arrivals, Next};
use crate::worker::measure::StepResult;
use crate::worker::open_loop::{Moments, Requests};
use crate::{EngineError, Window};

/// What a server did.
#[derive(Debug)]
pub(super) struct Served {
    /// The requests of the window.
    pub requests: Requests,
    /// How long it was busy with them.
    pub busy_ns: u64,
}

/// What each of `sessions` servers does with the requests of a window; `service_ns` gives the time that a request takes
/// which begins at a moment.
///
/// # Errors
/// A histogram cannot be made.
pub(super) fn serve(
    window: &Window,
    arrivals: &Arrivals,
    sessions: u32,
    mut service_ns: impl FnMut(u64) -> u64,
    result: StepResult,
) -> Result<Vec<Served>, EngineError> {
    let new = |_| Ok(Served { requests: Requests::new(window)?, busy_ns: 0 });
    let mut done: Vec<Served> = (0..sessions).map(new).collect::<Result<_, EngineError>>()?;
    // The server that is free first takes the next request; of several, the one with the lowest number.
    let mut free: BinaryHeap<Reverse<(u64, usize)>> =
        (0..done.len()).map(|server| Reverse((arrivals.begin_ns(), server))).collect();
    while let Some(Reverse((free_ns, server))) = free.pop() {
        let Next::Due(due_ns) = arrivals.next(free_ns) else { continue };
        let began_ns = due_ns.max(free_ns);
        let ended_ns = began_ns.saturating_add(service_ns(began_ns));
        if arrivals.is_counted(due_ns) {
            done[server].requests.add(&Moments { due_ns, free_ns, began_ns, ended_ns }, result);
            done[server].busy_ns += ended_ns - began_ns;
        }
        free.push(Reverse((ended_ns, server)));
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::arrivals::Rate;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};
    use threadwise_study::arrivals::{ARRIVALS, BEGUN_LATE, DUE, QUEUED_NS, RATE, UNSERVED};
    use threadwise_study::{OptionValue, Options, SessionSlice};

    const SERVICE_NS: f64 = 1e6;
    const S: u64 = 1_000_000_000;

    fn rate(per_s: f64, way: &str) -> Rate {
        let options = Options::from([
            (RATE.to_owned(), OptionValue::Number(per_s)),
            (ARRIVALS.to_owned(), OptionValue::Text(way.to_owned())),
        ]);
        Rate::of(&options).unwrap().unwrap()
    }

    /// The slices of a window of so many seconds, whose queue settles for a tenth of it, and its arrivals.
    fn served(
        rate: Rate,
        seed: u64,
        servers: u32,
        seconds: u64,
        service_ns: impl FnMut(u64) -> u64,
    ) -> (Vec<SessionSlice>, Arrivals) {
        let window = Window {
            sequence: 0,
            start_ns: seconds * S / 10,
            end_ns: seconds * S,
            piece_ns: None,
            arrivals: None,
        };
        let arrivals = Arrivals::new(rate, seed, 0, [window.start_ns, window.end_ns]);
        let step = StepResult { rows: 1, ..StepResult::default() };
        let done = serve(&window, &arrivals, servers, service_ns, step).unwrap();
        (done.into_iter().map(|one| one.requests.give(SessionSlice::default()).unwrap()).collect(), arrivals)
    }

    fn merged(slices: &[SessionSlice]) -> Histogram<u64> {
        let mut all: Histogram<u64> = Histogram::new_with_bounds(1, 60 * S, 3).unwrap();
        for slice in slices.iter().filter(|slice| !slice.latency.is_empty()) {
            let one: Histogram<u64> = Deserializer::new().deserialize(&mut &slice.latency[..]).unwrap();
            all.add(one).unwrap();
        }
        all
    }

    fn exponential(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        move |_| {
            let uniform = ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            (-uniform.ln() * SERVICE_NS) as u64
        }
    }

    /// Mean and 99.9% half-width of the means of several windows: the windows are the units, as blocks are.
    fn mean_of_windows(windows: &[f64]) -> (f64, f64) {
        let n = windows.len() as f64;
        let mean = windows.iter().sum::<f64>() / n;
        let variance = windows.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (n - 1.0);
        // Student's quantile for 19 degrees of freedom.
        (mean, 3.883 * (variance / n).sqrt())
    }

    /// Erlang's C: the share of requests that wait, of M/M/c with this utilisation.
    fn share_that_waits(servers: u32, utilisation: f64) -> f64 {
        let load = utilisation * f64::from(servers);
        let mut below = 0.0;
        let mut term = 1.0;
        for k in 0..servers {
            below += term;
            term *= load / f64::from(k + 1);
        }
        let at = term / (1.0 - utilisation);
        at / (below + at)
    }

    #[test]
    fn exponential_service_is_mmc() {
        for servers in [1, 2, 4] {
            for utilisation in [0.3, 0.6, 0.9] {
                let per_s = utilisation * f64::from(servers) * 1e9 / SERVICE_NS;
                let window = |seed| {
                    let (slices, _) =
                        served(rate(per_s, "poisson"), seed, servers, 100, exponential(seed + 1000));
                    merged(&slices).mean()
                };
                let windows: Vec<f64> = (0..20).map(window).collect();
                let (mean, half_width) = mean_of_windows(&windows);
                let waits = share_that_waits(servers, utilisation);
                let truth = SERVICE_NS * (1.0 + waits / (f64::from(servers) * (1.0 - utilisation)));
                assert!(
                    (mean - truth).abs() < half_width.max(0.002 * truth),
                    "{servers} at {utilisation}: {mean} ± {half_width}, {truth}"
                );
                assert!(half_width < 0.1 * truth, "{servers} at {utilisation}: ± {half_width} of {truth}");
            }
        }
    }

    #[test]
    fn constant_service_is_md1() {
        for utilisation in [0.3, 0.6, 0.9] {
            let per_s = utilisation * 1e9 / SERVICE_NS;
            let window = |seed| {
                let (slices, _) = served(rate(per_s, "poisson"), seed, 1, 100, |_| SERVICE_NS as u64);
                merged(&slices).mean()
            };
            let windows: Vec<f64> = (0..20).map(window).collect();
            let (mean, half_width) = mean_of_windows(&windows);
            // Pollaczek and Khinchine: half of the wait of exponential service.
            let truth = SERVICE_NS * (1.0 + utilisation / (2.0 * (1.0 - utilisation)));
            assert!(
                (mean - truth).abs() < half_width.max(0.002 * truth),
                "{utilisation}: {mean} ± {half_width}, {truth}"
            );
        }
    }

    #[test]
    fn latencies_of_one_exponential_server_are_exponential() {
        let (slices, _) = served(rate(600.0, "poisson"), 5, 1, 1000, exponential(6));
        let all = merged(&slices);
        let mean = SERVICE_NS / (1.0 - 0.6);
        for quantile in [0.5_f64, 0.9, 0.99] {
            let (found, truth) = (all.value_at_quantile(quantile) as f64, -mean * (1.0 - quantile).ln());
            assert!((found / truth - 1.0).abs() < 0.04, "{quantile}: {found}, {truth}");
        }
    }

    #[test]
    fn a_stall_is_in_the_latencies_of_all_that_were_due_in_it() {
        // 200 requests a second for 45 s; all servers stop once for half a second, so that 100 requests wait.
        let stalls_ns = 20 * S;
        let service = |began_ns: u64| match (stalls_ns..stalls_ns + S / 2).contains(&began_ns) {
            true => stalls_ns + S / 2 - began_ns + 1_000_000,
            false => 1_000_000,
        };
        let (slices, _) = served(rate(200.0, "constant"), 1, 1, 50, service);
        let all = merged(&slices);
        assert_eq!(all.len(), 9_000);
        assert!(all.value_at_quantile(0.999) > 440_000_000, "{}", all.value_at_quantile(0.999));
        let above = all.len() - all.count_between(0, 250_000_000);
        // The k-th request of the stall is due 5k ms after its begin and waits for it and for k of 1 ms: 500 - 4k ms.
        assert!((61..=64).contains(&above), "{above}");
        assert!(slices[0].counters[QUEUED_NS] > 20 * S);
    }

    #[test]
    fn constant_arrivals_keep_their_schedule_and_poisson_ones_their_rate() {
        let (slices, arrivals) = served(rate(1_000.0, "constant"), 1, 4, 10, |_| 100_000);
        let counters = arrivals.counters().unwrap();
        assert_eq!((counters[DUE], counters[UNSERVED]), (9_000, 0));
        assert_eq!(slices.iter().map(|slice| slice.steps).sum::<u64>(), 9_000);
        assert!(merged(&slices).max() <= 100_100, "nothing waits at 10%");
        let counts: Vec<f64> = (0..400)
            .map(|seed| served(rate(100.0, "poisson"), seed, 1, 10, |_| 1).1.counters().unwrap()[DUE] as f64)
            .collect();
        let mean = counts.iter().sum::<f64>() / 400.0;
        let variance = counts.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 399.0;
        // 900 in each window on average, and as much for the variance.
        assert!((mean - 900.0).abs() < 6.0 && (700.0..1_120.0).contains(&variance), "{mean} {variance}");
        assert_eq!(
            counts[7],
            served(rate(100.0, "poisson"), 7, 1, 10, |_| 1).1.counters().unwrap()[DUE] as f64
        );
    }

    #[test]
    fn an_overload_is_seen_and_ends() {
        // 1,500 a second for a server that does 1,000.
        let (slices, arrivals) = served(rate(1_500.0, "constant"), 1, 1, 10, |_| 1_000_000);
        let counters = arrivals.counters().unwrap();
        assert!((13_498..=13_501).contains(&counters[DUE]), "{counters:?}");
        // Two seconds after the end it gives up: 12,000 were begun, of which 1,500 were due before the window.
        assert!((2_990..=3_010).contains(&counters[UNSERVED]), "{counters:?}");
        assert_eq!(slices[0].steps + counters[UNSERVED], counters[DUE]);
        assert!((1_900..=2_100).contains(&slices[0].counters[BEGUN_LATE]), "{:?}", slices[0].counters);
    }
}
