//! A loader and a measuring worker that are killed at random moments while a study begins, binds the server, changes its
//! affinity and puts it back: the affinity is the first one again, by the watchdog or by the next study, and no journal
//! is left.

use crate::affinity::{journals, kill, load, loaded, wait_until};
use crate::bench::{Bench, options};
use crate::model::Settings;
use crate::worker::Worker;
use crate::worker_program::{assert_ends_well, load_request, prepare, worker};
use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};
use threadwise_engine::LoadRequest;
use threadwise_engine::protocol::{Reply, Request, WireSession};
use threadwise_machine::pin::current_affinity;
use threadwise_process::proc;

/// What the study does when it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It records the affinity and starts the watchdog.
    Begin,
    /// It binds the server.
    Bind,
    /// It binds the server to other logical CPUs.
    Change,
    /// It puts the affinity back.
    Restore,
}

const STAGES: [Stage; 4] = [Stage::Begin, Stage::Bind, Stage::Change, Stage::Restore];

/// A study, whose next step was asked for.
struct Study {
    loader: Worker,
    measuring: Option<Worker>,
}

/// The treatment on the first logical CPU, or on the last one.
fn treatment(load: &LoadRequest, is_first: bool) -> Request {
    let mut request = prepare(load);
    let all = current_affinity().unwrap();
    let cpu = if is_first { all.iter().next() } else { all.iter().last() };
    if let Request::Prepare { sessions, .. } = &mut request {
        *sessions = vec![WireSession { cpus: cpu.unwrap().to_string() }];
    }
    request
}

fn stopped(mut worker: Worker) {
    assert!(matches!(worker.ask(&Request::Stop), Reply::Done { .. }));
    assert_ends_well(worker);
}

impl Study {
    fn at(stage: Stage, bench: &Bench, load: &LoadRequest) -> Self {
        if stage == Stage::Begin {
            let mut loader = worker(bench);
            loader.send(&load_request(load));
            return Self { loader, measuring: None };
        }
        let mut loader = loaded(bench, load);
        let mut measuring = worker(bench);
        if stage != Stage::Bind {
            assert!(matches!(measuring.ask(&treatment(load, true)), Reply::Ready { .. }));
            stopped(std::mem::replace(&mut measuring, worker(bench)));
        }
        match stage {
            Stage::Restore => {
                stopped(measuring);
                loader.send(&Request::Stop);
                return Self { loader, measuring: None };
            }
            _ => measuring.send(&treatment(load, stage == Stage::Bind)),
        }
        Self { loader, measuring: Some(measuring) }
    }

    /// Waits for the step, and ends the study; gives how long the step took.
    fn whole(mut self, stage: Stage) -> Duration {
        let begun = Instant::now();
        match (self.measuring.take(), stage) {
            (Some(mut measuring), _) => {
                assert!(matches!(measuring.reply(), Reply::Ready { .. }));
                let taken = begun.elapsed();
                stopped(measuring);
                stopped(self.loader);
                taken
            }
            (None, Stage::Begin) => {
                assert!(matches!(self.loader.reply(), Reply::Loaded { .. }));
                let taken = begun.elapsed();
                stopped(self.loader);
                taken
            }
            (None, _) => {
                assert!(matches!(self.loader.reply(), Reply::Done { .. }));
                begun.elapsed()
            }
        }
    }

    /// Stops its processes, looks whether the server is bound, and kills them; gives this and the watchdog.
    fn kill(self, with_watchdog: bool, mut is_bound: impl FnMut() -> bool) -> (bool, Option<u32>) {
        let pids: Vec<u32> = [&self.loader].into_iter().chain(&self.measuring).map(Worker::pid).collect();
        for &pid in &pids {
            signal(pid, rustix::process::Signal::STOP);
            wait_until("it stops", || is_stopped(pid));
        }
        let (was_bound, watchdog) = (is_bound(), proc::children(self.loader.pid()).first().copied());
        if let Some(watchdog) = watchdog.filter(|_| with_watchdog) {
            kill(watchdog);
        }
        self.loader.kill();
        self.measuring.map(Worker::kill);
        (was_bound, watchdog)
    }
}

fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// Whether a process is stopped, or has ended.
fn is_stopped(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['T', 'Z', 'X']))
}

/// A small seeded generator (Knuth's MMIX constants): the moments need no quality.
struct Moments(u64);

impl Moments {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }
}

/// Gives how many kills met a bound server with the watchdog alive, and with the watchdog killed too.
pub fn killed(kills: u64) -> [u32; 2] {
    let bench = Bench::new(Settings { change: Duration::from_millis(40), ..Settings::default() });
    let set = load(&bench);
    let mut keep = set.clone();
    keep.engine_options.extend(options("affinity=keep"));
    let longest = STAGES.map(|stage| Study::at(stage, &bench, &set).whole(stage));
    let (mut moments, mut bound) = (Moments(20_261_201), [0, 0]);
    for number in 0..kills {
        let at = (number % 4) as usize;
        let with_watchdog = (number + number / 4) % 2 == 1;
        let first = if number % 3 == 0 { None } else { Some(vec![2, 3]) };
        bench.state().affinity = first.clone();
        let study = Study::at(STAGES[at], &bench, &set);
        let longest_us = u64::try_from(longest[at].as_micros()).unwrap();
        std::thread::sleep(Duration::from_micros(moments.below(longest_us)));
        let (was_bound, watchdog) = study.kill(with_watchdog, || bench.state().affinity != first);
        bound[usize::from(with_watchdog)] += u32::from(was_bound);
        let when = format!("kill {number}, {:?}, with the watchdog: {with_watchdog}", STAGES[at]);
        if let Some(watchdog) = watchdog {
            wait_until("the watchdog ends", || proc::has_ended(watchdog));
        }
        // The next study begins when the server has done what the killed ones sent.
        wait_until("the end of all sessions", || bench.responder.connections_open() == 0);
        if watchdog.is_some() && !with_watchdog {
            assert_eq!((bench.state().affinity.clone(), journals(&bench)), (first.clone(), vec![]), "{when}");
        }
        stopped(loaded(&bench, if number % 2 == 0 { &set } else { &keep }));
        assert_eq!((bench.state().affinity.clone(), journals(&bench)), (first, vec![]), "{when}");
    }
    bench.assert_over();
    bench.assert_clean();
    let line = format!(
        "{kills} kills; the server was bound at {} with a watchdog and {} without\n",
        bound[0], bound[1]
    );
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    bound
}

#[test]
#[ignore = "laboratory: kills"]
fn killed_at_100_moments_the_affinity_is_the_first_one() {
    let bound = killed(104);
    // A study that changes the affinity or puts it back has bound the server when its moment begins.
    assert!(bound.iter().all(|&met| met > 0), "{bound:?}");
}
