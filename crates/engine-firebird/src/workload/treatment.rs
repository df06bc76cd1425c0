//! A treatment: its sessions' programs, and a control program.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadwise_engine::{EngineError, Running, Session, SessionRequest, Standing, StartRequest};
use threadwise_machine::CpuSet;
use threadwise_process::masks;
use threadwise_process::proc::thread_numbers;
use threadwise_study::Note;

use super::insert::Content;
use super::opened::{EACH_A_PROGRAM, OpenSession, Opened, placed};
use super::session::{FirebirdSession, Tally};
use super::{Work, insert, logical_io};
use crate::error::failed;
use crate::home::{DATABASE, Home};
use crate::isql::Isql;
use crate::programs::Programs;

/// A treatment. Called by the worker's main thread, except `open`.
#[derive(Debug)]
pub(crate) struct Treatment {
    home: Home,
    programs: Programs,
    workload: Work,
    service: CpuSet,
    /// The control program; `None` once the treatment is finished.
    control: Mutex<Option<Isql>>,
    open: Opened,
}

/// The control program.
fn looking(control: &mut Option<Isql>) -> Result<&mut Isql, EngineError> {
    control.as_mut().ok_or_else(|| failed("look at the data", "the run is finished"))
}

impl Treatment {
    /// Opens this treatment's copy of the database, and checks that it is as loaded.
    ///
    /// # Errors
    /// An error of Firebird; or data that is not as loaded.
    pub(crate) fn start(
        home: Home,
        programs: Programs,
        workload: Work,
        request: &StartRequest,
    ) -> Result<Self, EngineError> {
        home.set_forced_writes(&programs, workload.forced_writes())?;
        let mut isql = Isql::start(&home, &programs.isql, &[DATABASE])?;
        for tid in thread_numbers(isql.pid()) {
            masks::set_thread(tid, &request.service)
                .map_err(|cause| failed("place the control session", cause))?;
        }
        if matches!(workload, Work::Insert(_)) {
            insert::check_forced_writes(&mut isql, workload.forced_writes())?;
            let (expected, held) = (insert::facts(&mut isql)?, insert::held(&mut isql)?);
            if expected != held {
                return Err(EngineError::WrongAnswer(insert::differs("as loaded", expected, held)));
            }
        }
        let control = Mutex::new(Some(isql));
        let service = request.service.clone();
        Ok(Self { home, programs, workload, service, control, open: Opened::default() })
    }

    fn control(&self) -> MutexGuard<'_, Option<Isql>> {
        // A panic elsewhere has failed the run already; the session itself is sound.
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that the table holds what the sessions reported.
    fn check(&self) -> Result<(), EngineError> {
        if !matches!(self.workload, Work::Insert(_)) {
            return Ok(());
        }
        let inserted = self.open.all().iter().fold(Content::default(), |sum, open| {
            sum + Content {
                rows: open.tally.inserted.load(Ordering::Relaxed),
                key_sum: open.tally.key_sum.load(Ordering::Relaxed),
            }
        });
        let mut control = self.control();
        let isql = looking(&mut control)?;
        let (expected, held) = (insert::facts(isql)? + inserted, insert::held(isql)?);
        match expected == held {
            true => Ok(()),
            false => Err(EngineError::WrongAnswer(insert::differs("after the run", expected, held))),
        }
    }
}

impl Running for Treatment {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let mut isql = Isql::start(&self.home, &self.programs.isql, &[DATABASE])?;
        let plan = match &self.workload {
            Work::LogicalIo(spec) => {
                let table = if spec.shared { 0 } else { request.session };
                Some(logical_io::plan(&mut isql, table, spec.work_unit)?)
            }
            Work::Insert(_) => None,
        };
        let tally = Arc::new(Tally::default());
        self.open.add(OpenSession {
            number: request.session,
            pid: isql.pid(),
            cpus: request.cpus.clone(),
            plan,
            tally: Arc::clone(&tally),
        });
        Ok(Box::new(FirebirdSession::new(isql, self.workload, request.session, request.seed, tally)))
    }

    fn standing(&self) -> Result<Standing, EngineError> {
        let mut all = self.open.placed();
        all.extend(placed("control session", looking(&mut self.control())?.pid(), &self.service));
        let mut notes = vec![
            EACH_A_PROGRAM.to_owned(),
            "loops run inside the engine, whose clock counts milliseconds: windows begin and end on whole milliseconds"
                .to_owned(),
        ];
        notes.extend(
            self.open
                .all()
                .iter()
                .find_map(|session| session.plan.clone())
                .map(|plan| format!("plan of a step: {plan}")),
        );
        notes.push(match self.workload {
            Work::LogicalIo(_) => {
                "logical_reads are page fetches, as MON$IO_STATS has them; a row costs more than one, for the \
                                   pointer page and the index"
                    .into()
            }
            Work::Insert(_) => {
                "pages that two sessions change travel between their caches through the file, as in a \
                                Classic server and unlike a SuperServer"
                    .to_owned()
            }
        });
        Ok(Standing { placed: all, notes: notes.into_iter().map(Note::from).collect() })
    }

    fn finish(&self) -> Result<(), EngineError> {
        let checked = self.check();
        drop(self.control().take());
        let failed = self.open.has_failed();
        // A copy that is not in order is made again when it is needed next.
        let left = match self.workload.changes_data() || checked.is_err() || failed {
            true => self.home.0.remove(),
            false => self.home.0.end(),
        };
        checked.and(left)
    }
}
