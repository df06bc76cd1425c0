//! One treatment at work: its sessions' programs, and one more that only looks.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadwise_engine::{EngineError, Placed, Running, Session, SessionRequest, Standing, StartRequest};
use threadwise_machine::CpuSet;
use threadwise_server::masks;
use threadwise_server::proc::thread_numbers;
use threadwise_study::{Counters, SessionSlice};

use super::counters::{self, Pages};
use super::insert::Content;
use super::session::{FirebirdSession, Told, share};
use super::{Work, insert, logical_io};
use crate::error::failed;
use crate::home::{DATABASE, Home};
use crate::isql::Isql;
use crate::programs::Programs;

/// A treatment. Called by the worker's main thread, but for `open`.
#[derive(Debug)]
pub(crate) struct Treatment {
    home: Home,
    programs: Programs,
    work: Work,
    service: CpuSet,
    control: Mutex<Control>,
    open: Mutex<Vec<OpenSession>>,
}

/// The program that looks, and what it saw before the slice; gone once the treatment is finished.
#[derive(Debug)]
struct Control {
    isql: Option<Isql>,
    before: BTreeMap<u32, Pages>,
}

impl Control {
    fn isql(&mut self) -> Result<&mut Isql, EngineError> {
        self.isql.as_mut().ok_or_else(|| failed("look at the sessions", "the run is finished"))
    }
}

/// What the treatment knows of one of its sessions.
#[derive(Debug)]
struct OpenSession {
    number: u32,
    pid: u32,
    cpus: CpuSet,
    plan: Option<String>,
    told: Arc<Told>,
}

impl Treatment {
    /// Opens the copy of the database that is this treatment's own, and finds it as it was loaded.
    ///
    /// # Errors
    /// Firebird's; or data that is not what was loaded.
    pub(crate) fn start(
        home: Home,
        programs: Programs,
        work: Work,
        request: &StartRequest,
    ) -> Result<Self, EngineError> {
        home.set_forced_writes(&programs, work.forced_writes())?;
        let mut isql = Isql::start(&home, &programs.isql, Some(DATABASE))?;
        for tid in thread_numbers(isql.pid()) {
            masks::set_thread(tid, &request.service)
                .map_err(|cause| failed("place the control session", cause))?;
        }
        if matches!(work, Work::Insert(_)) {
            insert::check_forced_writes(&mut isql, work.forced_writes())?;
            let (expected, held) = (insert::facts(&mut isql)?, insert::held(&mut isql)?);
            if expected != held {
                return Err(EngineError::WrongAnswer(insert::differs("as loaded", expected, held)));
            }
        }
        let control = Mutex::new(Control { isql: Some(isql), before: BTreeMap::new() });
        let service = request.service.clone();
        Ok(Self { home, programs, work, service, control, open: Mutex::new(Vec::new()) })
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        // A panic elsewhere has failed the run already; the session itself is sound.
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> MutexGuard<'_, Vec<OpenSession>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that the table holds what the sessions said.
    fn check(&self) -> Result<(), EngineError> {
        if !matches!(self.work, Work::Insert(_)) {
            return Ok(());
        }
        let told = self.opened().iter().fold(Content::default(), |sum, open| {
            sum + Content {
                rows: open.told.inserted.load(Ordering::Relaxed),
                key_sum: open.told.key_sum.load(Ordering::Relaxed),
            }
        });
        let mut control = self.control();
        let isql = control.isql()?;
        let (expected, held) = (insert::facts(isql)? + told, insert::held(isql)?);
        match expected == held {
            true => Ok(()),
            false => Err(EngineError::WrongAnswer(insert::differs("after the run", expected, held))),
        }
    }
}

/// All threads of a program; its own first, under its name.
fn placed(name: &str, pid: u32, cpus: &CpuSet) -> Vec<Placed> {
    let entry = |tid: u32| {
        let name = if tid == pid { name.to_owned() } else { format!("thread of {name}") };
        Placed { name, pid, tid, cpus: cpus.clone() }
    };
    thread_numbers(pid).into_iter().map(entry).collect()
}

impl Running for Treatment {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let mut isql = Isql::start(&self.home, &self.programs.isql, Some(DATABASE))?;
        let plan = match &self.work {
            Work::LogicalIo(spec) => {
                let table = if spec.shared { 0 } else { request.session };
                Some(logical_io::plan(&mut isql, table, spec.work_unit)?)
            }
            Work::Insert(_) => None,
        };
        let told = Arc::new(Told::default());
        let mut open = self.opened();
        open.push(OpenSession {
            number: request.session,
            pid: isql.pid(),
            cpus: request.cpus.clone(),
            plan,
            told: Arc::clone(&told),
        });
        open.sort_by_key(|session| session.number);
        drop(open);
        Ok(Box::new(FirebirdSession::new(isql, self.work, request.session, request.seed, told)))
    }

    fn standing(&self) -> Result<Standing, EngineError> {
        let open = self.opened();
        let mut all: Vec<Placed> = Vec::new();
        let mut others = Vec::new();
        for session in open.iter() {
            let (own, further): (Vec<_>, Vec<_>) =
                placed(&format!("session {}", session.number), session.pid, &session.cpus)
                    .into_iter()
                    .partition(|thread| thread.pid == thread.tid);
            all.extend(own);
            others.extend(further);
        }
        all.extend(others);
        all.extend(placed("control session", self.control().isql()?.pid(), &self.service));
        let mut notes = vec![
            "each session is a program of its own with the engine and a page cache inside (ServerMode = Classic)"
                .to_owned(),
            "loops run inside the engine, whose clock counts milliseconds: windows begin and end on whole ones"
                .to_owned(),
        ];
        notes.extend(
            open.iter()
                .find_map(|session| session.plan.clone())
                .map(|plan| format!("plan of a step: {plan}")),
        );
        notes.push(match self.work {
            Work::LogicalIo(_) => {
                "logical_reads are page fetches of MON$IO_STATS; a row costs more than one, for the \
                                   pointer page and the index"
                    .into()
            }
            Work::Insert(_) => {
                "pages that two sessions change travel between their caches through the file, as in a \
                                Classic server and unlike a SuperServer"
                    .to_owned()
            }
        });
        Ok(Standing { placed: all, notes })
    }

    fn before(&self) -> Result<(), EngineError> {
        let mut control = self.control();
        control.before = counters::read(control.isql()?)?;
        Ok(())
    }

    fn after(&self, sessions: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let mut control = self.control();
        let after = counters::read(control.isql()?)?;
        let mut counters = Counters::from([("pages_written".into(), 0), ("pages_changed".into(), 0)]);
        for (open, slice) in self.opened().iter().zip(sessions) {
            let at = |reading: &BTreeMap<u32, Pages>| {
                let missing = || failed("read the counters of a session", "it is not among the sessions");
                reading.get(&open.pid).copied().ok_or_else(missing)
            };
            let pages = at(&after)?.since(at(&control.before)?);
            let of_window = |amount| share(amount, slice.steps, open.told.calls.load(Ordering::Relaxed));
            slice.counters.insert("logical_reads".into(), of_window(pages.fetches));
            slice.counters.insert("physical_reads".into(), of_window(pages.reads));
            for (name, amount) in [("pages_written", pages.writes), ("pages_changed", pages.marks)] {
                *counters.entry(name.into()).or_default() += of_window(amount);
            }
        }
        Ok(counters)
    }

    fn finish(&self) -> Result<(), EngineError> {
        let checked = self.check();
        drop(self.control().isql.take());
        let failed = self.opened().iter().any(|open| open.told.failed.load(Ordering::Relaxed));
        // What is not in order is made anew by whoever comes next.
        let left = match self.work.changes_data() || checked.is_err() || failed {
            true => self.home.remove(),
            false => self.home.mark_clean(),
        };
        checked.and(left)
    }
}
