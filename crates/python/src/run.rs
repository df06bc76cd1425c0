//! Runs a program that may take long: its lines as they come, a time limit, and a stop flag.
//!
//! The program leads its own process group, so that its children end with it, and a Ctrl-C in the
//! terminal reaches only this process, which then cleans up.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Interval of checks whether it has ended or must.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// How long its output may stay open after its end, when a child of it has it.
const AFTER_THE_END: Duration = Duration::from_secs(1);
/// Number of lines that are kept; the oldest are dropped.
const MOST_LINES: usize = 500;
/// Length at which a line is split.
const LONGEST_LINE_BYTES: usize = 4096;

/// Output of a program that ended by itself.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// Lines of its standard output.
    pub(crate) output: Vec<String>,
    /// Lines of both, in about the order in which they came.
    pub(crate) all: Vec<String>,
}

/// Why there is no [`Ended`].
#[derive(Debug)]
pub(crate) enum Cut {
    /// It could not be started.
    NotStarted(io::Error),
    /// The user stopped it; it was killed.
    Stopped,
    /// It took too long; it was killed.
    TooLong(Duration),
}

impl Cut {
    /// One line for the program `what`.
    pub(crate) fn words(&self, what: &str) -> String {
        match self {
            Self::NotStarted(cause) => format!("{what} cannot be started: {cause}"),
            Self::Stopped => format!("{what} was stopped"),
            Self::TooLong(limit) => format!("{what} did not end within {} s", limit.as_secs()),
        }
    }
}

struct Line {
    is_output: bool,
    text: String,
}

/// Runs it to its end; `heard` gets each line.
pub(crate) fn run(
    command: &mut Command,
    limit: Option<Duration>,
    stop: &AtomicBool,
    heard: &mut dyn FnMut(&str),
) -> Result<Ended, Cut> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(Cut::NotStarted)?;
    let lines = listen(&mut child);
    let begun = Instant::now();
    let (mut output, mut all) = (Vec::new(), Vec::new());
    let mut ended: Option<(ExitStatus, Instant)> = None;
    loop {
        match lines.recv_timeout(BETWEEN_LOOKS) {
            Ok(line) => {
                heard(&line.text);
                if line.is_output {
                    keep(&mut output, line.text.clone());
                }
                keep(&mut all, line.text);
                // A program that never stops printing is checked too.
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match ended {
                Some((status, _)) => return Ok(Ended { status, output, all }),
                None => std::thread::sleep(BETWEEN_LOOKS),
            },
        }
        if let Some((status, since)) = ended {
            if since.elapsed() >= AFTER_THE_END {
                return Ok(Ended { status, output, all });
            }
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            end(&mut child);
            return Err(Cut::Stopped);
        }
        if let Some(limit) = limit.filter(|limit| begun.elapsed() >= *limit) {
            end(&mut child);
            return Err(Cut::TooLong(limit));
        }
        // An error can only mean that another caller waited for it, and there is none.
        ended = child.try_wait().ok().flatten().map(|status| (status, Instant::now()));
    }
}

/// Kills the whole group, and waits for its leader. The group's number is reserved until then.
fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // It may have ended just now.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

fn listen(child: &mut Child) -> Receiver<Line> {
    let (send, receive) = channel();
    if let Some(from) = child.stdout.take() {
        let send = send.clone();
        std::thread::spawn(move || pass_on(from, true, &send));
    }
    if let Some(from) = child.stderr.take() {
        std::thread::spawn(move || pass_on(from, false, &send));
    }
    receive
}

/// Sends lines as they come until the end, or until the receiver is gone.
fn pass_on(mut from: impl Read, is_output: bool, to: &Sender<Line>) {
    let mut pending: Vec<u8> = Vec::new();
    let mut chunk = [0; LONGEST_LINE_BYTES];
    let tell = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).trim_end().to_owned();
        text.is_empty() || to.send(Line { is_output, text }).is_ok()
    };
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        pending.extend_from_slice(&chunk[..count]);
        while let Some(length) = line_length(&pending) {
            let line: Vec<u8> = pending.drain(..length).collect();
            if !tell(&line) {
                return;
            }
        }
    }
    // The last line; the receiver may be gone.
    let _ = tell(&pending);
}

fn line_length(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
    end.or_else(|| (bytes.len() >= LONGEST_LINE_BYTES).then_some(LONGEST_LINE_BYTES))
}

fn keep(lines: &mut Vec<String>, line: String) {
    if lines.len() >= MOST_LINES {
        lines.remove(0);
    }
    lines.push(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str, limit: Option<Duration>, stop: bool) -> Result<Ended, Cut> {
        run(Command::new("sh").args(["-c", text]), limit, &AtomicBool::new(stop), &mut |_| {})
    }

    #[test]
    fn lines_of_both_outputs_and_the_status_come_back() {
        let ended = shell("echo one; echo two >&2; printf three; exit 3", None, false).unwrap();
        assert_eq!(ended.output, ["one", "three"]);
        assert_eq!((ended.all.len(), ended.status.code()), (3, Some(3)));
    }

    #[test]
    fn the_user_and_the_limit_end_it_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let note = folder.path().join("note");
        let text = format!("sleep 600 & echo $! > {}; wait", note.display());
        // On a busy machine it may not have come so far within a second.
        let written = [1, 8, 60].into_iter().find_map(|limit_s| {
            let cut = shell(&text, Some(Duration::from_secs(limit_s)), false);
            assert!(matches!(cut, Err(Cut::TooLong(_))));
            std::fs::read_to_string(&note).ok().filter(|number| number.ends_with('\n'))
        });
        let number = written.unwrap();
        // A killed process takes a moment to go; it is a zombie until init has waited for it.
        let is_alive = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", number.trim()));
            stat.is_ok_and(|stat| !stat.contains(") Z "))
        };
        let begun = Instant::now();
        while is_alive() {
            assert!(begun.elapsed() < Duration::from_secs(60), "process {number} goes on");
            std::thread::sleep(BETWEEN_LOOKS);
        }
        assert!(matches!(shell("sleep 600", None, true), Err(Cut::Stopped)));
    }

    #[test]
    fn what_it_leaves_running_does_not_hold_us() {
        let ended = shell("sleep 600 & echo $!", None, false).unwrap();
        let pid = ended.output[0].parse().ok().and_then(Pid::from_raw).unwrap();
        rustix::process::kill_process(pid, Signal::KILL).unwrap();
    }

    #[test]
    fn endless_talk_is_cut_and_forgotten() {
        let mut longest = 0;
        // On a busy machine it may not have said anything within a third of a second.
        for limit_ms in [300, 8_000, 60_000] {
            let cut = run(
                Command::new("sh").args(["-c", "exec cat /dev/zero"]),
                Some(Duration::from_millis(limit_ms)),
                &AtomicBool::new(false),
                &mut |line| longest = longest.max(line.len()),
            );
            assert!(matches!(cut, Err(Cut::TooLong(_))));
            if longest > 0 {
                break;
            }
        }
        assert!(longest > 0 && longest <= LONGEST_LINE_BYTES, "{longest}");
        let mut lines = Vec::new();
        (0..=MOST_LINES).for_each(|number| keep(&mut lines, number.to_string()));
        assert_eq!((lines.len(), lines[0].as_str()), (MOST_LINES, "1"));
    }

    #[test]
    fn a_missing_program_is_no_failure_of_it() {
        let cut = run(&mut Command::new("/proc/no/such/program"), None, &AtomicBool::new(false), &mut |_| {});
        assert!(cut.unwrap_err().words("x").starts_with("x cannot be started"));
    }
}
