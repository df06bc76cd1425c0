//! The programs of a treatment: their logical CPUs, and the home of their database.

use threadwise_engine::{EngineError, Placed, Standing};
use threadwise_engine_sql::{Host, Threads};
use threadwise_machine::CpuSet;
use threadwise_process::proc::thread_numbers;

use crate::home::Home;

/// A home, and where its programs are.
#[derive(Debug)]
pub(crate) struct PlacedHome {
    pub home: Home,
    /// Logical CPUs of each session, which its program inherits, and of the control program.
    pub sessions: Vec<CpuSet>,
    pub service: CpuSet,
    /// Whether runs change the data, which is then removed.
    pub discard: bool,
}

impl<C> Host<C> for PlacedHome {
    /// Main threads first.
    fn standing(&self, _: &mut C, threads: Result<Threads, String>) -> Result<Standing, EngineError> {
        let Ok(threads) = threads else { return Ok(Standing::default()) };
        let of_sessions = threads.sessions.iter().flat_map(|(number, (pid, _))| {
            let cpus = self.sessions.get(*number as usize).unwrap_or(&self.service);
            placed(&format!("session {number}"), *pid, cpus)
        });
        let (main, further): (Vec<_>, Vec<_>) = of_sessions.partition(|thread| thread.pid == thread.tid);
        let mut all: Vec<Placed> = main.into_iter().chain(further).collect();
        all.extend(
            threads.control.iter().flat_map(|(pid, _)| placed("control session", *pid, &self.service)),
        );
        Ok(Standing { placed: all, notes: Vec::new() })
    }

    /// A copy that is not in order is made again when it is needed next.
    fn finish(&self, is_sound: bool) -> Result<(), EngineError> {
        match self.discard || !is_sound {
            true => self.home.0.remove(),
            false => self.home.0.end(),
        }
    }
}

/// All threads of a program; its main thread first, under the program's name.
fn placed(name: &str, pid: u32, cpus: &CpuSet) -> Vec<Placed> {
    let entry = |tid: u32| {
        let name = if tid == pid { name.to_owned() } else { format!("thread of {name}") };
        Placed { name, pid, tid, cpus: cpus.clone() }
    };
    thread_numbers(pid).into_iter().map(entry).collect()
}
