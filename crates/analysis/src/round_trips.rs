//! What waking sleeping CPUs takes of a client's step.
//!
//! A client that waits for its server's answer leaves its logical CPU idle, and the server's is idle until the next
//! statement. One session alone then pays two wake-ups of an idle CPU for each round trip; more sessions keep CPUs awake
//! and pay less. Rates against sessions contain this as scaling.
//!
//! Of each block the number is the share of a step's median latency that is waking: 2 r w over it, with r round trips per
//! step and w what the probe's TCP wake-up takes longer to an idle logical CPU than on one that stays busy (the nearest
//! ends of both intervals, at the distance where it is least). CPUs are idle for longer in a step than in the probe,
//! whose threads answer at once, so that w is a lower bound. A part of w is CPU time of the waking side, which in a
//! virtual machine leaves the guest to interrupt the other CPU; so the CPU time of a step does not bound it.
//!
//! That CPUs slept at all is seen otherwise: on one logical CPU client, server, or something else always runs. Idle is
//! what the busy and stolen time of the run's logical CPUs, added up, leaves of the time: they cannot have been busy at
//! once for longer. Waking is claimed where the whole t interval of its share is at [`LEAST_SHARE`] or above, and that
//! of the idle share at [`LEAST_IDLE_SHARE`] or above, at alpha over the number of baselines (Bonferroni).

use crate::activity::CLIENT_CPU;
use crate::estimate::{Digest, Latency, Observed};
use crate::question::Question;
use crate::setting::Setting;
use crate::words::finding;
use crate::{Facts, Finding, FindingKind, Interval};
use schemars::JsonSchema;
use serde::Serialize;
use threadwise_document::numbers::nanoseconds;
use threadwise_document::{Prose, numbers, prose};
use threadwise_machine::Pin;
use threadwise_statistics::{MeanEstimate, arithmetic, geometric, mean};
use threadwise_study::observation::ROUND_TRIPS as COUNTER;
use threadwise_study::probe::{Locality, Probe, WakeMethod};
use threadwise_study::{NoteCode, Role, Treatment};

pub(crate) const ROUND_TRIPS: Question = Question { findings, ..Question::new("round-trips") };

/// Share of a step from which waking is reported: without it the rate would be a third higher.
pub const LEAST_SHARE: f64 = 0.25;
/// Share of the time without a busy logical CPU, from which CPUs are taken to have slept between round trips.
pub const LEAST_IDLE_SHARE: f64 = 0.1;

/// The steps of one session of a baseline whose loop is in the client.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize)]
pub struct ClientSteps {
    /// The baseline.
    pub treatment: String,
    /// Median latency of a step.
    pub step_ns: Interval,
    /// Share of the time in which none of its logical CPUs was busy, at least.
    pub idle_share: Interval,
    /// Round trips per step, mean over blocks.
    pub round_trips: f64,
    /// What a wake-up takes longer to an idle logical CPU than on one that stays busy, at least, nanoseconds.
    pub wakeup_ns: f64,
    /// Share of a step that is waking; its interval decides.
    pub waking_share: Interval,
    /// Whether the client was bound to one logical CPU, on which a server that is bound too leaves none idle.
    pub on_one_cpu: bool,
}

impl ClientSteps {
    /// Whether waking is shown to be a large part of a step.
    fn is_mostly_waking(&self) -> bool {
        self.waking_share.low >= LEAST_SHARE && self.idle_share.low >= LEAST_IDLE_SHARE
    }
}

/// One block's figures of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Median latency, nanoseconds.
    pub latency_ns: f64,
    /// Round trips.
    pub round_trips: f64,
    /// Share of the time in which none of the run's logical CPUs was busy, at least; below 0 where several were at once.
    pub idle_share: f64,
}

impl Step {
    /// `None` without latencies, round trips, times of logical CPUs, or a CPU time of both sides; that of a remote server
    /// is 0.
    fn of(run: &Digest) -> Option<Self> {
        let Latency::Known { p50_ns, .. } = run.latency else { return None };
        let (sums, cpus) = (&run.activity, &run.totals.assigned);
        let (client_ns, round_trips) = (sums.counter(CLIENT_CPU)?, sums.counter(COUNTER)?);
        let busy_cpus = sums.cpus.len() as f64 * (cpus.busy_share()? + cpus.steal_share()?);
        let is_here = sums.cpu_ns > 0.0 && client_ns > 0.0;
        let is_known = is_here && sums.steps > 0.0 && round_trips > 0.0 && p50_ns > 0;
        is_known.then(|| Self {
            latency_ns: p50_ns as f64,
            round_trips: round_trips / sums.steps,
            idle_share: 1.0 - busy_cpus,
        })
    }

    /// The share of it that is waking, with wake-ups that take this much longer to an idle logical CPU.
    fn waking_share(&self, wakeup_ns: f64) -> f64 {
        (2.0 * self.round_trips * wakeup_ns / self.latency_ns).min(1.0)
    }
}

/// The share of steps that is waking, over blocks, with its interval at level 1 − `alpha`; `None` without blocks.
pub fn waking_share(steps: &[Step], wakeup_ns: f64, alpha: f64) -> Option<Interval> {
    let shares: Vec<f64> = steps.iter().map(|step| step.waking_share(wakeup_ns)).collect();
    arithmetic(&shares, "share", alpha)
}

/// What a wake-up by TCP takes longer to an idle logical CPU than on one that stays busy, at least; `None` if it was not
/// measured, or takes no longer.
fn wakeup_ns(probe: &Probe) -> Option<f64> {
    let busy = probe.wakeup(Locality::SameCpu, WakeMethod::Tcp, false)?;
    let idle = Locality::ALL.into_iter().filter(|distance| *distance != Locality::SameCpu);
    let idle = idle.filter_map(|distance| probe.wakeup(distance, WakeMethod::Tcp, false));
    let longer = idle.map(|one| one.median_low_ns - busy.median_high_ns).reduce(f64::min);
    longer.filter(|ns| *ns > 0.0)
}

/// The baselines of one session whose steps have latencies, round trips and a CPU time; `None` without any, or without a
/// wake-up of the probe.
pub(crate) fn client_steps(setting: &Setting<'_>, observed: &Observed) -> Option<Vec<ClientSteps>> {
    let wakeup_ns = wakeup_ns(setting.probe?)?;
    // A client that thinks sleeps in any case.
    let thinks = |one: &Treatment| one.options.get("think_time_us").is_some_and(|us| us.to_string() != "0");
    let is_meant = |one: &Treatment| one.role == Role::Baseline && one.sessions == 1 && !thinks(one);
    let treatments = setting.study.treatments.iter().enumerate();
    let baselines: Vec<_> = treatments.filter(|(_, treatment)| is_meant(treatment)).collect();
    let alpha = setting.alpha / baselines.len().max(1) as f64;
    let of_baseline = |(at, treatment): &(usize, &Treatment)| {
        let runs: Vec<&Digest> =
            observed.blocks.iter().filter_map(|block| observed.usable(block, *at)).collect();
        let steps: Vec<Step> = runs.iter().map(|run| Step::of(run)).collect::<Option<_>>()?;
        let latencies: Vec<f64> = steps.iter().map(|step| step.latency_ns.ln()).collect();
        let idle = MeanEstimate::of(&steps.iter().map(|step| step.idle_share).collect::<Vec<f64>>())?;
        let (idle_low, idle_high) = idle.interval(alpha);
        Some(ClientSteps {
            treatment: treatment.name.clone(),
            step_ns: geometric(&latencies, 1.0, "ns", setting.alpha)?,
            idle_share: Interval::of([idle.mean, idle_low, idle_high], "share"),
            round_trips: mean(steps.iter().map(|step| step.round_trips))?,
            wakeup_ns,
            waking_share: waking_share(&steps, wakeup_ns, alpha)?,
            on_one_cpu: treatment.pin == Pin::Each || runs.iter().all(|run| run.activity.cpus.len() == 1),
        })
    };
    let known: Vec<ClientSteps> = baselines.iter().filter_map(of_baseline).collect();
    (!known.is_empty()).then_some(known)
}

/// The baseline whose steps are shown to be waking for the largest part.
fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let is_placed = facts.notes.iter().all(|note| note.code != NoteCode::NotPlaced);
    let known = facts.analysis.get::<Vec<ClientSteps>>().into_iter().flatten();
    let apart = known.filter(|one| one.is_mostly_waking() && !(one.on_one_cpu && is_placed));
    let most = apart.max_by(|one, other| one.waking_share.low.total_cmp(&other.waking_share.low));
    most.map(|most| finding(FindingKind::RoundTrips, line(facts, most), &[&most.treatment]))
        .into_iter()
        .collect()
}

fn line(facts: &Facts<'_>, steps: &ClientSteps) -> Prose {
    let time = |ns: f64| Prose::figure(nanoseconds(ns));
    let at_least_ns = steps.waking_share.low * steps.step_ns.mean;
    let mut text = prose!(
        "A step of one session ({}) took {}, and waking sleeping CPUs {} or more of it: {} a step, each of two wake-ups, \
         which the probe found {} longer to an idle CPU than on a busy one; none of its CPUs was busy for {} of the time.",
        facts.name(&steps.treatment),
        &steps.step_ns,
        time(at_least_ns),
        trips(steps.round_trips),
        time(steps.wakeup_ns),
        &steps.idle_share
    );
    let group = facts.group_of(&steps.treatment);
    let has_more = facts.study.treatments.iter().any(|one| one.group == group && one.sessions > 1);
    if has_more {
        text.push(" Rates of more sessions, which keep CPUs awake, contain this as scaling.");
    }
    text
}

/// `1 round trip`, `3 round trips`, `1.50 round trips`.
fn trips(count: f64) -> Prose {
    match (count - count.round()).abs() < 0.005 {
        true => Prose::figure(numbers::counted(count.round() as usize, "round trip")),
        false => Prose::figure(format!("{} round trips", numbers::significant(count, 3))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, cpu_times, latency, run, study};
    use crate::{analyse_probed, verdict};
    use threadwise_study::probe::Wakeup;
    use threadwise_study::{Note, Run, Study};

    fn wake(distance: Locality, median_us: f64) -> Wakeup {
        Wakeup {
            distance,
            a: 0,
            b: if distance == Locality::SameCpu { 0 } else { 1 },
            method: WakeMethod::Tcp,
            idle_ns: 0,
            min_ns: 900.0 * median_us,
            median_ns: 1000.0 * median_us,
            median_low_ns: 1000.0 * median_us - 500.0,
            median_high_ns: 1000.0 * median_us + 500.0,
            p90_ns: 1500.0 * median_us,
            blocks: 12,
            samples: 144,
        }
    }

    /// A wake-up takes 32 µs longer to an idle logical CPU, and farther away more.
    fn probe() -> Probe {
        let all = [(Locality::SameCpu, 7.0), (Locality::SameLlc, 40.0), (Locality::OtherPackage, 60.0)];
        Probe { wakeups: all.map(|(distance, us)| wake(distance, us)).to_vec(), ..Probe::default() }
    }

    /// Steps of a client: their latency, CPU time of the server and of the client, in µs.
    #[derive(Clone, Copy)]
    struct Client {
        step_us: u64,
        server_us: u64,
        client_us: u64,
        round_trips: u64,
    }

    /// 0.110 ms a transaction, of which 0.03 ms is CPU time: two wake-ups of 32 µs, and what else sleep costs.
    const SLEEPY: Client = Client { step_us: 110, server_us: 20, client_us: 10, round_trips: 1 };

    fn runs(client: Client) -> Vec<Run> {
        let steps = 5_000;
        let of_client = |block: u32, name: &str| {
            let mut run = run(block, name, &[steps]);
            run.cpus = vec![0, 1];
            let session = &mut run.slices[0].sessions[0];
            // Blocks differ by a few per cent.
            let step_ns = client.step_us * (990 + 10 * u64::from(block % 3));
            (session.steps, session.cpu_ns) = (steps, 1000 * client.server_us * steps);
            session.latency = latency(steps, &[step_ns]);
            session.counters.insert(CLIENT_CPU.to_owned(), 1000 * client.client_us * steps);
            session.counters.insert(COUNTER.to_owned(), client.round_trips * steps);
            let busy = |us: u64| 100 * us / client.step_us;
            run.slices[0].cpu_times =
                vec![cpu_times(0, busy(client.client_us), 0), cpu_times(1, busy(client.server_us), 0)];
            run
        };
        (0..8).flat_map(|block| ["A", "A'", "T"].map(|name| of_client(block, name))).collect()
    }

    struct Case {
        study: Study,
        probe: Option<Probe>,
        runs: Vec<Run>,
        notes: Vec<Note>,
    }

    fn case(client: Client) -> Case {
        let mut study = study(&[""], &["T same-package 2"]);
        study.treatments.iter_mut().for_each(|one| one.pin = Pin::Set);
        Case { study, probe: Some(probe()), runs: runs(client), notes: Vec::new() }
    }

    fn said(case: &Case) -> Option<String> {
        let topology = fixtures::machine(1, 2, 1);
        let analysis = analyse_probed(&case.study, Some(&topology), case.probe.as_ref(), &case.runs, 1.0);
        let facts = Facts { notes: &case.notes, ..Facts::new(&case.study, &topology, &analysis) };
        let all = verdict(&facts);
        let found = all.iter().find(|finding| finding.kind == FindingKind::RoundTrips)?;
        Some(found.text())
    }

    #[test]
    fn a_step_that_is_mostly_waking_is_named_with_its_figures() {
        let text = said(&case(SLEEPY)).unwrap();
        assert!(text.starts_with("A step of one session (A) took 109.9 µs ["), "{text}");
        assert!(text.contains(", and waking sleeping CPUs 6"), "{text}");
        // 20 and 10 of 110 µs, in whole per cent.
        assert!(text.contains("none of its CPUs was busy for 73% [73, 73] of the time"), "{text}");
        assert!(text.contains("1 round trip a step, each of two wake-ups"), "{text}");
        assert!(text.contains("found 32.0 µs longer to an idle CPU"), "the nearer: {text}");
        assert!(text.ends_with("contain this as scaling."), "{text}");
        let mut alone = case(SLEEPY);
        alone.study.treatments[2].sessions = 1;
        assert!(said(&alone).unwrap().ends_with("of the time."), "no more sessions, no scaling");
    }

    #[test]
    fn a_busy_step_and_a_long_one_say_nothing() {
        // Client and server are busy all the time, as on one logical CPU.
        assert_eq!(said(&case(Client { server_us: 97, ..SLEEPY })), None);
        // A part of waking is CPU time of who wakes.
        assert!(said(&case(Client { server_us: 80, ..SLEEPY })).is_some());
        // They wait for something else: 64 µs of waking are a small part.
        assert_eq!(said(&case(Client { step_us: 5_000, ..SLEEPY })), None);
        // Just below a quarter, and above.
        assert_eq!(said(&case(Client { step_us: 260, ..SLEEPY })), None);
        assert!(said(&case(Client { step_us: 240, ..SLEEPY })).is_some());
        // As long, with more round trips.
        assert!(said(&case(Client { step_us: 500, round_trips: 3, ..SLEEPY })).is_some());
    }

    #[test]
    fn nothing_is_said_of_what_is_not_known() {
        let without = |change: &dyn Fn(&mut Case)| {
            let mut case = case(SLEEPY);
            change(&mut case);
            said(&case)
        };
        assert_eq!(without(&|case| case.probe = None), None);
        assert_eq!(without(&|case| case.probe = Some(Probe::default())), None);
        let probe_of = |distances: [(Locality, f64); 2]| {
            let wakeups = distances.map(|(distance, us)| wake(distance, us)).to_vec();
            Some(Probe { wakeups, ..Probe::default() })
        };
        let slow = [(Locality::SameCpu, 40.0), (Locality::SameLlc, 40.0)];
        assert_eq!(without(&|case| case.probe = probe_of(slow)), None, "idle CPUs are as quick");
        let each = |change: &dyn Fn(&mut threadwise_study::SessionSlice)| {
            without(&|case| {
                case.runs.iter_mut().flat_map(|run| &mut run.slices[0].sessions).for_each(change);
            })
        };
        assert_eq!(each(&|session| _ = session.counters.remove(COUNTER)), None);
        assert_eq!(each(&|session| _ = session.counters.remove(CLIENT_CPU)), None);
        assert_eq!(each(&|session| session.latency.clear()), None);
        assert_eq!(each(&|session| session.cpu_ns = 0), None, "a remote server");
        let without_times =
            |case: &mut Case| case.runs.iter_mut().for_each(|run| run.slices[0].cpu_times.clear());
        assert_eq!(without(&without_times), None);
        let thinks = |case: &mut Case| {
            let think = ("think_time_us".to_owned(), threadwise_study::OptionValue::Integer(50));
            case.study.treatments.iter_mut().for_each(|one| one.options.extend([think.clone()]));
        };
        assert_eq!(without(&thinks), None);
        let two = |case: &mut Case| case.study.treatments.iter_mut().for_each(|one| one.sessions = 2);
        assert_eq!(without(&two), None, "a baseline of two sessions");
        assert_eq!(
            without(&|case| case.runs.retain(|run| run.block == 0)),
            None,
            "one block has no interval"
        );
    }

    #[test]
    fn client_and_server_on_one_logical_cpu_leave_none_asleep() {
        let mut each = case(SLEEPY);
        each.study.treatments.iter_mut().for_each(|one| one.pin = Pin::Each);
        assert_eq!(said(&each), None, "a session has one of the placement's");
        let mut case = case(SLEEPY);
        case.runs.iter_mut().for_each(|run| run.cpus = vec![0]);
        assert_eq!(said(&case), None);
        case.notes = vec![Note::not_pinned("another user's")];
        assert!(said(&case).is_some(), "a server that is not placed may be on another");
    }

    #[test]
    fn shares_are_of_the_median_step() {
        let step = |round_trips| Step { latency_ns: 100.0, round_trips, idle_share: 0.5 };
        assert_eq!((step(1.0).waking_share(30.0), step(2.0).waking_share(30.0)), (0.6, 1.0));
        assert_eq!(waking_share(&[], 1.0, 0.05), None);
        assert_eq!(trips(1.0).to_string(), "1 round trip");
        assert_eq!(trips(2.5).to_string(), "2.50 round trips");
    }
}
