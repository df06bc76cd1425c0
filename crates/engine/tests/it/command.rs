//! The engine `command` behind the worker protocol: what a run measures, how it fails, and that nothing
//! lives on. The process is the reaper of all that its commands start, so one test runs at a time.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use threadwise_engine::protocol::{self, Reply, Request, VERSION, WireLoad, WireSession};
use threadwise_engine::worker;
use threadwise_engine::{LoadRequest, engines};
use threadwise_machine::pin::current_affinity;
use threadwise_process::marked;
use threadwise_study::command::PEAK_RSS_BYTES;
use threadwise_study::{Counters, OptionValue, SessionSlice};

pub static ALONE: Mutex<()> = Mutex::new(());

/// A shell's loop that takes some hundredths of a second of CPU, and nothing else.
const LOOP: &str = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";

struct Lab {
    folder: TempDir,
    _alone: MutexGuard<'static, ()>,
}

/// What a worker said: its run, or its failure's kind and message.
type Outcome = Result<(Vec<SessionSlice>, Counters), (String, String)>;

impl Lab {
    fn new() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        Self { folder: tempfile::tempdir().unwrap(), _alone: alone }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// One run of a worker, on the first logical CPU for each of the sessions.
    fn run(&self, sessions: u32, options: &[(&str, &str)]) -> Outcome {
        let cpu = current_affinity().unwrap().iter().next().unwrap();
        self.run_on(&vec![cpu.to_string(); sessions as usize], options)
    }

    fn run_on(&self, cpus: &[String], options: &[(&str, &str)]) -> Outcome {
        let text = |(key, value): &(&str, &str)| ((*key).to_owned(), OptionValue::Text((*value).to_owned()));
        let number = |(key, value): (String, OptionValue)| match value.to_string().parse() {
            Ok(whole) => (key, OptionValue::Integer(whole)),
            Err(_) => (key, value),
        };
        let load = LoadRequest {
            workload: "command".into(),
            options: options.iter().map(text).map(number).collect(),
            engine_options: Default::default(),
            data_dir: self.path().to_owned(),
            treatment: "all/x'".into(),
            sessions: cpus.len() as u32,
            seed: 5,
        };
        let load = WireLoad::try_from(&load).unwrap();
        let sessions = cpus.iter().map(|cpus| WireSession { cpus: cpus.clone() }).collect();
        let (protocol, seed, service, journal) = (VERSION, 1 << 40 | 77, None, None);
        let requests = [
            Request::Prepare { protocol, load, sessions, seed, service, journal },
            Request::Go {
                sequence: 0,
                warmup_ns: 0,
                window_ns: 60_000_000_000,
                queries: Vec::new(),
                piece_ns: None,
            },
            Request::Stop,
        ];
        let input: String = requests.iter().map(|request| protocol::encode(request).unwrap()).collect();
        let mut output = Vec::new();
        let ended = worker::run(engines::all(), "command", input.as_bytes(), &mut output);
        let replies: Vec<Reply> =
            String::from_utf8(output).unwrap().lines().map(|line| protocol::decode(line).unwrap()).collect();
        assert_eq!(marked::by(self.path()), Vec::<u32>::new(), "a process of a command lives on");
        let left: Vec<PathBuf> = std::fs::read_dir(self.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .collect();
        assert!(left.is_empty(), "{left:?}");
        if let Some(Reply::Failed { kind, message }) = replies.last() {
            assert!(ended.is_err());
            return Err((kind.clone(), message.clone()));
        }
        ended.unwrap();
        let slice = replies.into_iter().find_map(|reply| match reply {
            Reply::Slice { sessions, counters, .. } => Some((sessions, counters)),
            _ => None,
        });
        let (sessions, counters) = slice.unwrap();
        let sessions = sessions.into_iter().map(|session| SessionSlice::try_from(session).unwrap()).collect();
        Ok((sessions, counters))
    }

    /// The lines of a file that commands write.
    fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path().join("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// A command that writes a line into it.
    fn note(&self, word: &str, more: &str) -> String {
        format!("sh -c 'echo {word} >> {}/log; {more}'", self.path().display())
    }
}

fn failure(outcome: Outcome) -> (String, String) {
    outcome.unwrap_err()
}

#[test]
fn a_run_is_one_row_with_its_time_and_its_metrics() {
    let lab = Lab::new();
    let script = "sh -c 'echo tps = 1,234.5 >&2; echo \"{{\\\"a\\\": [7]}}\" > {out}/x.json; echo done'";
    let (sessions, _) = lab
        .run(
            2,
            &[
                ("command", script),
                ("metric.tps", "tx/s higher regex@stderr:tps = (.*)"),
                ("metric.seven", "1 none json@file=x.json:/a/0"),
            ],
        )
        .unwrap();
    let first = &sessions[0];
    assert_eq!((first.steps, first.rows), (1, 1));
    assert!(first.finished_ns.unwrap() > 0 && first.cpu_ns > 0);
    assert_eq!(first.metrics["tps"], 1234.5);
    assert_eq!(first.metrics["seven"], 7.0);
    assert_eq!(sessions[1], SessionSlice::default(), "one process stands for both sessions");
}

#[test]
fn placeholders_are_filled_for_the_run_and_for_each_session() {
    let lab = Lab::new();
    let cpu = current_affinity().unwrap().iter().next().unwrap();
    let command = format!("echo {{sessions}} {{cpus}} {{seed}} {{treatment}} {{block}} {{{{x}}}} {cpu}");
    let options = [
        ("command", command.as_str()),
        ("block", "3"),
        ("metric.ok", &format!("1 none regex:^2 {cpu} (77) all-x- 3 [{{]x[}}] {cpu}$")),
    ];
    let (sessions, _) = lab.run(2, &options).unwrap();
    assert_eq!(sessions[0].metrics["ok"], 77.0);
    let (sessions, _) = lab
        .run(
            3,
            &[
                ("command", "sh -c 'echo {session} of {sessions} > {out}/n'"),
                ("each", "session"),
                ("metric.n", "1 none regex@file=n:([0-9]) of 3"),
            ],
        )
        .unwrap();
    let numbers: Vec<f64> = sessions.iter().map(|session| session.metrics["n"]).collect();
    assert_eq!(numbers, [0.0, 1.0, 2.0]);
    assert!(sessions.iter().all(|session| session.rows == 1 && session.finished_ns.is_some()));
}

#[test]
fn a_command_inherits_its_cpus_and_nothing_of_ours() {
    let lab = Lab::new();
    let cpu = current_affinity().unwrap().iter().next().unwrap();
    let script = "sh -c 'grep Cpus_allowed_list /proc/self/status; ls /proc/self/fd | wc -l; wc -c; \
                  env | grep -c THREADWISE_REPLY; true'";
    let options = [
        ("command", script),
        ("metric.cpu", "1 none regex:^Cpus_allowed_list:\\s([0-9]+)$"),
        // Three, the listed folder itself, nothing to read, and no variable of the protocol.
        ("metric.zero", "1 none regex:^4\\n0\\n(0)$"),
    ];
    let (sessions, _) = lab.run(1, &options).unwrap();
    assert_eq!(sessions[0].metrics["cpu"], f64::from(cpu));
    assert_eq!(sessions[0].metrics["zero"], 0.0);
}

#[test]
fn exit_codes_are_judged() {
    let lab = Lab::new();
    let broken = "sh -c 'echo fine; echo broken table >&2; exit 3'";
    let (kind, message) = failure(lab.run(1, &[("command", broken)]));
    assert_eq!(kind, "exit-code");
    assert_eq!(message, "the command ended with exit code 3: broken table");
    assert!(lab.run(1, &[("command", broken), ("success", "0,3")]).is_ok());
    let (_, message) = failure(lab.run(1, &[("command", "true"), ("success", "3")]));
    assert_eq!(message, "the command ended with exit code 0: it wrote nothing");
    let (kind, message) = failure(lab.run(1, &[("command", "sh -c 'kill -9 $$'")]));
    assert_eq!(kind, "exit-code");
    assert!(message.contains("was ended by signal 9"), "{message}");
    let each = "sh -c 'exit {session}'";
    let (_, message) = failure(lab.run(2, &[("command", each), ("each", "session")]));
    assert!(message.contains("of session 1 ended with exit code 1"), "{message}");
    let (kind, message) = failure(lab.run(1, &[("setup", "true"), ("command", "/proc/no/such/program")]));
    assert!(kind == "engine" && message.contains("start '/proc/no/such/program'"), "{kind} {message}");
}

#[test]
fn a_command_that_takes_too_long_is_killed_with_all_it_started() {
    let lab = Lab::new();
    let script = "sh -c 'echo started; (setsid sleep 600 &); sleep 600 & sleep 600'";
    // On a busy machine it may not have come so far within a second.
    let begun = ["1", "8", "60"].into_iter().find(|limit_s| {
        let (kind, message) = failure(lab.run(1, &[("command", script), ("timeout_s", limit_s)]));
        assert_eq!(kind, "timeout");
        assert!(message.contains(&format!("within {limit_s} s")), "{message}");
        message.ends_with("started")
    });
    assert!(begun.is_some());
}

#[test]
fn processes_that_stay_are_named_and_killed() {
    let lab = Lab::new();
    for script in ["sh -c 'sleep 600 & exit 0'", "sh -c '(setsid sleep 600 &); exit 0'"] {
        let (kind, message) = failure(lab.run(1, &[("command", script)]));
        assert_eq!(kind, "left-behind");
        assert!(message.contains("sleep ("), "{message}");
    }
}

#[test]
fn what_setup_starts_lives_until_the_end() {
    let lab = Lab::new();
    let server = format!("sh -c 'setsid sleep 600 & echo $! > {}/pid'", lab.path().display());
    let alive = format!("sh -c 'kill -0 $(cat {}/pid)'", lab.path().display());
    // `run` sees that it is gone afterwards.
    let outcome =
        lab.run(1, &[("setup", &server), ("command", &alive), ("check", &alive), ("teardown", &alive)]);
    assert!(outcome.is_ok(), "{outcome:?}");
}

#[test]
fn too_much_output_ends_the_run() {
    let lab = Lab::new();
    let (kind, message) = failure(lab.run(1, &[("command", "yes"), ("output_limit_mib", "1")]));
    assert_eq!(kind, "output");
    assert!(message.contains("more than 1 MiB"), "{message}");
    // Whether it was seen while the command ran or only after it.
    let (kind, _) =
        failure(lab.run(1, &[("command", "head -c 3000000 /dev/zero"), ("output_limit_mib", "1")]));
    assert_eq!(kind, "output");
}

#[test]
fn a_command_that_binds_itself_elsewhere_has_lost_its_pin() {
    let lab = Lab::new();
    let allowed: Vec<u32> = current_affinity().unwrap().iter().collect();
    let [here, .., there] = allowed[..] else { panic!("this test needs two logical CPUs") };
    let script = format!("sh -c 'taskset -c {there} sleep 20 & wait'");
    let (kind, message) = failure(lab.run_on(&[here.to_string()], &[("command", &script)]));
    assert_eq!(kind, "lost-pin");
    assert!(message.contains(&format!("may run on CPUs {there}, outside of {here}")), "{message}");
    // Fewer than it may is its own affair.
    let narrow = format!("taskset -c {there} sleep 0.2");
    assert!(lab.run_on(&[format!("{here},{there}")], &[("command", &narrow)]).is_ok());
}

#[test]
fn the_other_commands_run_in_their_order_also_when_something_fails() {
    let lab = Lab::new();
    let notes = ["setup", "warmup", "before", "command", "check", "after", "teardown"];
    let texts: Vec<String> = notes.iter().map(|word| lab.note(word, "true")).collect();
    let all: Vec<(&str, &str)> = notes.iter().copied().zip(texts.iter().map(String::as_str)).collect();
    let (sessions, _) = lab.run(1, &all).unwrap();
    assert_eq!(lab.log(), notes);
    assert_eq!(sessions[0].answers_checked, 1);

    let failing = |at: usize| {
        std::fs::remove_file(lab.path().join("log")).unwrap();
        let bad = lab.note(notes[at], "echo no >&2; exit 4");
        let mut all = all.clone();
        all[at].1 = bad.as_str();
        let outcome = failure(lab.run(1, &all));
        (outcome, lab.log())
    };
    let ((kind, message), log) = failing(0);
    assert_eq!((kind.as_str(), log), ("engine", vec!["setup".to_owned(), "teardown".to_owned()]));
    assert!(message.contains("run setup: it ended with exit code 4: no"), "{message}");
    let ((kind, _), log) = failing(3);
    assert_eq!(kind, "exit-code");
    assert_eq!(log, ["setup", "warmup", "before", "command", "after", "teardown"]);
    let ((kind, message), log) = failing(4);
    assert_eq!((kind.as_str(), log.len()), ("wrong-answer", 7));
    assert!(message.contains("the check command failed"), "{message}");
    let ((kind, message), log) = failing(6);
    assert_eq!((kind.as_str(), log.len()), ("engine", 7));
    assert!(message.contains("run teardown"), "{message}");
}

#[test]
fn a_metric_that_is_not_there_fails_the_run_with_its_last_words() {
    let lab = Lab::new();
    let options = [("command", "echo all is well"), ("metric.tps", "tx/s higher regex:tps = ([0-9.]+)")];
    let (kind, message) = failure(lab.run(1, &options));
    assert_eq!(kind, "metric");
    assert!(message.contains("'tps' in standard output") && message.ends_with("all is well"), "{message}");
    let options = [("command", "true"), ("metric.n", "1 none json@file=no/such.json:/n")];
    let (_, message) = failure(lab.run(1, &options));
    assert!(message.contains("no/such.json in {out}: it cannot be read"), "{message}");
}

#[test]
fn a_short_command_is_a_run_too() {
    let lab = Lab::new();
    for _ in 0..20 {
        let (sessions, counters) = lab.run(1, &[("command", "true")]).unwrap();
        let finished = Duration::from_nanos(sessions[0].finished_ns.unwrap());
        assert!(finished > Duration::ZERO && counters.get(PEAK_RSS_BYTES) != Some(&0));
    }
}

/// Figures that the machine has a part in, and moments that it may be late for.
mod lab_clock {
    use super::*;

    #[test]
    #[ignore = "laboratory: clock"]
    fn a_process_that_is_only_a_moment_late_is_waited_for() {
        let lab = Lab::new();
        assert!(lab.run(1, &[("command", "sh -c 'sleep 0.05 & exit 0'")]).is_ok());
    }

    #[test]
    #[ignore = "laboratory: clock"]
    fn cpu_time_is_that_of_the_whole_tree() {
        let lab = Lab::new();
        // The shell says itself what its children took; the second line of `times` is theirs.
        let script = format!("sh -c '({LOOP}) & ({LOOP}) & wait; times'");
        let options = [
            ("command", script.as_str()),
            ("metric.user", "s none regex:^0m([0-9.]+)s 0m[0-9.]+s$"),
            ("metric.system", "s none regex:^0m[0-9.]+s 0m([0-9.]+)s$"),
        ];
        let (sessions, _) = lab.run(1, &options).unwrap();
        let known_s = sessions[0].metrics["user"] + sessions[0].metrics["system"];
        let ratio = sessions[0].cpu_ns as f64 / 1e9 / known_s;
        assert!(known_s > 0.02 && (0.9..1.3).contains(&ratio), "{ratio} of {known_s} s");
    }

    #[test]
    #[ignore = "laboratory: clock"]
    fn a_process_whose_parent_has_ended_is_counted() {
        let lab = Lab::new();
        // In a session of its own, with its parent gone: what a daemon does.
        let orphan = format!(
            "(setsid sh -c \"{}; times > {{out}}/times; : > {{out}}/done\" &)",
            LOOP.replace('$', "\\$")
        );
        let script = format!("sh -c '{orphan}; while [ ! -e {{out}}/done ]; do sleep 0.01; done'");
        let options =
            [("command", script.as_str()), ("metric.user", "s none regex@file=times:\\A0m([0-9.]+)s")];
        let (sessions, _) = lab.run(1, &options).unwrap();
        let known_s = sessions[0].metrics["user"];
        let counted_s = sessions[0].cpu_ns as f64 / 1e9;
        assert!(known_s > 0.01 && counted_s >= 0.9 * known_s, "{counted_s} s of {known_s} s");
    }

    #[test]
    #[ignore = "laboratory: clock"]
    fn memory_is_that_of_all_processes_together() {
        let lab = Lab::new();
        // Each `tail` holds 60 MB until its input ends.
        let hold = "(head -c 60000000 /dev/zero; sleep 1) | tail -c 60000000 | wc -c";
        // Where this machine kept us from looking for too long, another run will do.
        let mut tries =
            (0..20).map(|_| lab.run(1, &[("command", &format!("sh -c '{hold} & {hold} & wait'"))]));
        let peak = tries.find_map(|outcome| outcome.unwrap().1.get(PEAK_RSS_BYTES).copied()).unwrap();
        let ratio = peak as f64 / 120e6;
        assert!((0.95..1.4).contains(&ratio), "{ratio}");
    }

    #[test]
    #[ignore = "laboratory: clock"]
    fn what_is_hardly_seen_has_no_peak() {
        let lab = Lab::new();
        let (_, counters) = lab.run(1, &[("command", "sh -c 'sleep 0.1 & sleep 0.1; wait'")]).unwrap();
        assert!(!counters.contains_key(PEAK_RSS_BYTES), "{counters:?}");
    }

    #[test]
    #[ignore = "laboratory: clock"]
    fn a_run_ends_with_the_last_process_that_came_of_it() {
        let lab = Lab::new();
        let script =
            format!("sh -c '(sh -c \"{}; times > {{out}}/times\" &); exit 0'", LOOP.replace('$', "\\$"));
        let options =
            [("command", script.as_str()), ("metric.user", "s none regex@file=times:\\A0m([0-9.]+)s")];
        // One that outlives the command for longer than we wait has failed; that is another test's.
        let outcome = (0..20).find_map(|_| lab.run(1, &options).ok()).unwrap().0;
        let elapsed_s = outcome[0].finished_ns.unwrap() as f64 / 1e9;
        assert!(elapsed_s >= 0.9 * outcome[0].metrics["user"], "{elapsed_s} s: {outcome:?}");
    }
}
