//! A treatment, and the server under it: where its threads run, and who ends it.

use threadwise_engine::{EngineError, Running, Session, SessionRequest, Standing, Window};
use threadwise_machine::CpuSet;
use threadwise_study::{Counters, Note, SessionSlice};

use crate::driver::Driver;
use crate::treatment::{Threads, Treatment};

/// How a server's threads are placed for a treatment, and who ends the server.
pub trait Host<C>: Send + Sync {
    /// Places the server's thread of a session before it warms up, since memory is placed where it is first touched.
    ///
    /// # Errors
    /// It could not be bound.
    fn opened(&self, session: u32, thread: (u32, u32), cpus: &CpuSet) -> Result<(), EngineError> {
        let _ = (session, thread, cpus);
        Ok(())
    }

    /// Places all threads, once the sessions are open and warm; `threads` are those of the server, or why they are out of
    /// reach.
    ///
    /// # Errors
    /// One could not be bound.
    fn standing(&self, control: &mut C, threads: Result<Threads, String>) -> Result<Standing, EngineError>;

    /// Before each slice: places what treatments share.
    ///
    /// # Errors
    /// A thread could not be bound; or an error of the server.
    fn before(&self, control: &mut C) -> Result<(), EngineError> {
        let _ = control;
        Ok(())
    }

    /// After each slice: checks that the server is still in its place.
    ///
    /// # Errors
    /// It is not.
    fn after(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Ends a server of this treatment alone.
    ///
    /// # Errors
    /// It did not end in order.
    fn finish(&self) -> Result<(), EngineError> {
        Ok(())
    }
}

/// An engine, started for one treatment.
pub struct Started<D: Driver, H> {
    // Before the server, so that its connections are closed first.
    treatment: Treatment<D>,
    host: H,
}

impl<D: Driver, H: Host<D::Connection>> Started<D, H> {
    /// Combines both.
    pub fn new(treatment: Treatment<D>, host: H) -> Self {
        Self { treatment, host }
    }
}

impl<D: Driver, H: Host<D::Connection>> Running for Started<D, H> {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let session = self.treatment.open(request)?;
        if let Some(thread) = self.treatment.thread(request.session) {
            self.host.opened(request.session, thread, &request.cpus)?;
        }
        Ok(session)
    }

    fn standing(&self) -> Result<Standing, EngineError> {
        let threads = self.treatment.threads();
        let mut standing = self.treatment.with_control(|control| self.host.standing(control, threads))?;
        standing.notes.extend(self.treatment.standing()?.into_iter().map(Note::from));
        Ok(standing)
    }

    fn before(&self) -> Result<(), EngineError> {
        self.treatment.with_control(|control| self.host.before(control))?;
        self.treatment.before()
    }

    fn during(&self, window: &Window) -> Result<(), EngineError> {
        self.treatment.during(window)
    }

    fn after(&self, sessions: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let counters = self.treatment.after(sessions)?;
        self.host.after()?;
        Ok(counters)
    }

    fn finish(&self) -> Result<(), EngineError> {
        let checked = self.treatment.finish();
        checked.and(self.host.finish())
    }
}
