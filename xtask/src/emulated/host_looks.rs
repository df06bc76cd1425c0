//! Looks of the host itself at the two logical CPUs of the guest's threads.
//!
//! The schedule binds threads apart to logical CPUs of this machine. If it is a guest too, a hypervisor may take
//! them away or put both on one core, which this kernel cannot count; then the schedule is not executed.
//! `threadwise watch` looks at both while the guest does, with priority over all threads of QEMU.

use super::agreement::HostLook;
use super::{agreement, host, lines};
use crate::guest::{Line, pass_on};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// QEMU's threads have 1 and 2 ([`host::prefer`]); looks take 0.1 ms, less than lookers of the guest wait.
const PRIORITY: &str = "3";

/// From the start to the first look; a tenth of a second if the host is not busy.
const FIRST_WITHIN: Duration = Duration::from_secs(20);

/// A running `threadwise watch`. It is killed when this is dropped.
#[derive(Debug)]
pub struct HostLooks {
    watch: Child,
    lines: Receiver<Line>,
}

impl HostLooks {
    /// Starts it.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(program: &Path, [first, second]: [usize; 2], every: &str) -> Result<Self, String> {
        let started = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .arg(program)
            .args(["watch", "--json", "--every", every, "--cpus", &format!("{first},{second}")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn();
        let mut watch = started.map_err(|cause| format!("cannot start setpriv (util-linux): {cause}"))?;
        let (line, lines) = channel();
        if let Some(output) = watch.stdout.take() {
            std::thread::spawn(move || pass_on(output, &line));
        }
        Ok(Self { watch, lines })
    }

    /// Gives all its threads the highest priority of all that run here; returns whether that is permitted. Waits for
    /// the first look, from which on its lookers exist with the priority that they give themselves.
    pub fn prefer(&self) -> bool {
        self.lines.recv_timeout(FIRST_WITHIN).is_ok() && host::prefer_at(self.watch.id(), PRIORITY)
    }

    /// The looks so far, in their order, with the time since `start` at which their lines came.
    pub fn since(&self, start: Instant) -> Vec<HostLook> {
        let look = |line: Line| {
            let states = lines::read(&line.text)?.states;
            let arrived: Duration = line.arrived.checked_duration_since(start)?;
            Some(HostLook { arrived, is_apart: agreement::is_apart(&states) })
        };
        self.lines.try_iter().filter_map(look).collect()
    }
}

impl Drop for HostLooks {
    fn drop(&mut self) {
        // One that has ended needs no signal.
        let _ = self.watch.kill();
        let _ = self.watch.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_have_the_time_since_the_start_and_earlier_ones_are_none() {
        let (line, lines) = channel();
        let watch = Command::new("true").spawn().unwrap();
        let looks = HostLooks { watch, lines };
        let start = Instant::now() + Duration::from_secs(1);
        let text = |state: &str| {
            format!(
                r#"{{"cpus":[{{"state":"{state}"}},{{"state":"alone"}}],"utc":"2026-11-23T20:25:05.533Z"}}"#
            )
        };
        let send = |at, text| line.send(Line { arrived: at, text }).unwrap();
        send(start - Duration::from_millis(1), text("alone"));
        send(start + Duration::from_millis(5), text("alone"));
        send(start + Duration::from_millis(45), text("away"));
        send(start + Duration::from_millis(50), "cut off".to_owned());
        let seen = |ms, is_apart| HostLook { arrived: Duration::from_millis(ms), is_apart };
        assert_eq!(looks.since(start), [seen(5, true), seen(45, false)]);
        assert!(looks.since(start).is_empty());
    }
}
