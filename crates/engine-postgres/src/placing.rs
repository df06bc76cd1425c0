//! Binding of the server's processes: sessions' backends to their sessions' logical CPUs, service processes to theirs.
//! Masks of a server that threadwise did not start are recorded first.
//!
//! Every process of PostgreSQL has one working thread, so a mask of the process is that of its thread. Titles of
//! service processes: `src/backend/postmaster` and `src/backend/utils/misc/ps_status.c` ("postgres: walwriter", with
//! the cluster's name before it if it has one).

use std::path::PathBuf;
use threadwise_engine::servers::Rights;
use threadwise_engine::{EngineError, Placed};
use threadwise_machine::{CpuSet, pin};
use threadwise_process::proc;

use crate::connect::{Locality, Server};
use crate::error::{failed, refuse};

/// Service processes that live as long as the server, by their titles.
const SERVICES: [&str; 11] = [
    "archiver",
    "autovacuum launcher",
    "background writer",
    "checkpointer",
    "io worker",
    "logger",
    "logical replication launcher",
    "stats collector",
    "wal writer",
    "walsummarizer",
    "walwriter",
];

/// Name of the process that starts all others.
pub const POSTMASTER: &str = "postmaster";

/// Binds the processes that work for one treatment.
#[derive(Debug)]
pub struct Placing {
    rights: Rights,
    /// 0 if there is nothing to bind.
    postmaster: u32,
}

impl Placing {
    /// The rights on a server: `ours` is one that threadwise started.
    pub fn of(server: &Server, ours: bool, journal: Option<&PathBuf>) -> Self {
        let (postmaster, rights) = match server.locality() {
            Locality::Elsewhere { why } => (0, Rights::None(why.clone())),
            Locality::Here { postmaster } => (*postmaster, Rights::of(ours, journal.map(PathBuf::as_path))),
        };
        let placing = Self { postmaster: if rights.refusal().is_some() { 0 } else { postmaster }, rights };
        let first = placing.services().into_iter().next();
        match first.map(|(_, pid)| placing.rights.may_bind((pid, pid))) {
            Some(Err(why)) => Self { rights: Rights::None(why), postmaster: 0 },
            _ => placing,
        }
    }

    /// Why nothing is bound; `None` if processes are bound.
    pub fn refusal(&self) -> Option<&str> {
        self.rights.refusal()
    }

    /// The service processes by name: the postmaster's children that are not backends, and the postmaster itself if
    /// threadwise started it. A foreign one is not bound: new sessions of others would inherit its mask.
    pub fn services(&self) -> Vec<(String, u32)> {
        if self.postmaster == 0 {
            return Vec::new();
        }
        let children = proc::children(self.postmaster).into_iter();
        let mut found: Vec<(String, u32)> =
            children.filter_map(|pid| Some((service_name(&proc::title(pid)?)?, pid))).collect();
        if matches!(self.rights, Rights::Ours) {
            found.push((POSTMASTER.into(), self.postmaster));
        }
        found.sort();
        found
    }

    /// Parallel workers run where the postmaster runs: a private one is bound to the sessions' logical CPUs, a foreign
    /// one must be there already. Servers whose processes are not bound are not checked.
    ///
    /// # Errors
    /// The workers would be elsewhere.
    pub fn expect_workers_in(&self, placement: &CpuSet) -> Result<(), EngineError> {
        if self.postmaster == 0 {
            return Ok(());
        }
        let mask = pin::thread_affinity(self.postmaster, self.postmaster)
            .map_err(|cause| failed("read the postmaster's logical CPUs", cause))?;
        match &self.rights {
            _ if mask == *placement => Ok(()),
            Rights::Ours => Err(EngineError::Pin {
                session: 0,
                cpus: placement.to_string(),
                why: format!("its parallel workers inherit logical CPUs {mask} from the postmaster"),
            }),
            Rights::Journalled(_) | Rights::None(_) => Err(refuse(
                "dop",
                format!(
                    "parallel workers of your server run where its postmaster runs, on logical CPUs {mask}, not on \
                     {placement}: use dop 1, a placement with all of these, or a private server"
                ),
            )),
        }
    }

    /// Binds a process and gives its entry; if nothing may be bound, the entry has no logical CPUs.
    ///
    /// # Errors
    /// The mask cannot be set.
    pub fn bind(&self, name: &str, pid: u32, cpus: &CpuSet) -> Result<Placed, EngineError> {
        let fail = |why: String| failed(format!("bind {name} (process {pid}) to logical CPUs {cpus}"), why);
        let place = |cpus: &CpuSet| Placed { name: name.to_owned(), pid, tid: pid, cpus: cpus.clone() };
        if self.refusal().is_some() {
            return Ok(place(&CpuSet::new()));
        }
        self.rights.bind((pid, pid), cpus).map_err(fail)?;
        Ok(place(cpus))
    }

    /// Binds service processes and gives their entries, without those that have ended meanwhile.
    ///
    /// # Errors
    /// A mask cannot be set.
    pub fn bind_services(
        &self,
        services: &[(String, u32)],
        cpus: &CpuSet,
    ) -> Result<Vec<Placed>, EngineError> {
        let mut placed = Vec::new();
        for (name, pid) in services {
            match self.bind(name, *pid, cpus) {
                Ok(place) => placed.push(place),
                Err(_) if proc::title(*pid).is_none() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(placed)
    }
}

/// Checks that processes are still where they were bound; a service process may have ended.
///
/// # Errors
/// One may run elsewhere, or the process of a session is gone.
pub fn expect_in_place(placed: &[Placed]) -> Result<(), EngineError> {
    for place in placed.iter().filter(|place| !place.cpus.is_empty()) {
        let (name, wanted) = (&place.name, &place.cpus);
        let why = match pin::thread_affinity(place.pid, place.tid) {
            Ok(mask) if mask == *wanted => continue,
            Ok(mask) => format!("{name} of the server may run on {mask}"),
            Err(_) if !name.starts_with("session") => continue,
            Err(cause) => format!("the logical CPUs of {name} of the server cannot be read: {cause}"),
        };
        return Err(EngineError::Pin { session: 0, cpus: wanted.to_string(), why });
    }
    Ok(())
}

/// The service that a title names.
fn service_name(title: &str) -> Option<String> {
    let rest = title.strip_prefix("postgres: ")?;
    let last = rest.rsplit(": ").next()?.trim();
    let found = SERVICES.iter().find(|service| last.starts_with(**service))?;
    // "worker 2 of 3" keeps its number; the rest of a title tells what it is doing.
    match *found {
        "io worker" => Some(last.to_owned()),
        _ => Some((*found).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_place_is_named() {
        let this = std::process::id();
        let here = pin::thread_affinity(this, this).unwrap();
        let place = |name: &str, pid: u32, cpus: CpuSet| Placed { name: name.into(), pid, tid: pid, cpus };
        let elsewhere: CpuSet = [4000].into_iter().collect();
        let unbound = place("walwriter", this, CpuSet::new());
        let ended = place("walwriter", u32::MAX, here.clone());
        assert_eq!(expect_in_place(&[place("session 0", this, here.clone()), unbound, ended]), Ok(()));
        let message = expect_in_place(&[place("checkpointer", this, elsewhere)]).unwrap_err().to_string();
        assert!(message.contains("4000") && message.contains("checkpointer"), "{message}");
        assert_eq!(expect_in_place(&[place("session 0", u32::MAX, here)]).unwrap_err().kind(), "lost-pin");
    }

    #[test]
    fn services_are_known_by_their_titles_and_backends_are_none() {
        let name = |title: &str| service_name(title);
        assert_eq!(name("postgres: walwriter ").as_deref(), Some("walwriter"));
        assert_eq!(name("postgres: 15/main: checkpointer performing x").as_deref(), Some("checkpointer"));
        assert_eq!(name("postgres: io worker 2").as_deref(), Some("io worker 2"));
        assert_eq!(name("postgres: main: archiver last was 0001").as_deref(), Some("archiver"));
        assert_eq!(name("postgres: ada sales [local] idle"), None);
        assert_eq!(name("postgres: parallel worker for PID 7"), None);
        assert_eq!(name("postgres: autovacuum worker sales"), None);
        assert_eq!(name("/usr/lib/postgresql/15/bin/postgres -D x"), None);
        assert_eq!(name("nginx: walwriter"), None);
    }
}
