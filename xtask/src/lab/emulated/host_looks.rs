//! Looks of the host itself at the two logical CPUs of the guest's threads.
//!
//! The schedule binds threads apart to logical CPUs of this machine. If it is a guest too, a hypervisor may take
//! them away or put both on one core, which this kernel cannot count; then the schedule is not executed.
//! `threadwise watch` looks at both while the guest does, with priority over all threads of QEMU.

use super::agreement::HostLook;
use super::{agreement, host, lines};
use crate::command::Task;
use crate::lab::watched::{Line, Watched};
use std::path::Path;
use std::time::{Duration, Instant};

/// QEMU's threads have 1 and 2 ([`host::prefer`]); looks take 0.1 ms, less than lookers of the guest wait.
const PRIORITY: u32 = 3;

/// From the start to the first look; a tenth of a second if the host is not busy.
const FIRST_WITHIN: Duration = Duration::from_secs(20);

/// A running `threadwise watch`.
#[derive(Debug)]
pub struct HostLooks(Watched);

impl HostLooks {
    /// Starts it.
    ///
    /// # Errors
    /// The program cannot be started.
    pub fn start(program: &Path, [first, second]: [usize; 2], every: &str) -> Result<Self, String> {
        let watch = "{} watch --json --every {} --cpus {},{}";
        Watched::start(&Task::new(watch, &[&program.display(), &every, &first, &second])).map(Self)
    }

    /// Gives all its threads the highest priority of all that run here; returns whether that is permitted. Waits for
    /// the first look, from which on its lookers exist with the priority that they give themselves.
    pub fn prefer(&self) -> bool {
        self.0.lines.recv_timeout(FIRST_WITHIN).is_ok() && host::prefer_at(self.0.process(), PRIORITY)
    }

    /// The looks so far, in their order, with the time since `start` at which their lines came.
    pub fn since(&self, start: Instant) -> Vec<HostLook> {
        let look = |line: Line| {
            let states = lines::read(&line.text)?.states;
            let arrived: Duration = line.arrived.checked_duration_since(start)?;
            Some(HostLook { arrived, is_apart: agreement::is_apart(&states) })
        };
        self.0.lines.try_iter().filter_map(look).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_have_the_time_since_the_start_and_earlier_ones_are_none() {
        let (line, lines) = std::sync::mpsc::channel();
        let mut watched = Watched::start(&Task::new("true", &[])).unwrap();
        watched.lines = lines;
        let looks = HostLooks(watched);
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
