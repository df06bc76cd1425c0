//! A treatment, and the server under it: where its threads run, and who ends it.

use threadwise_engine::servers::Thread;
use threadwise_engine::{EngineError, Running, Session, SessionRequest, Standing, Window};
use threadwise_machine::CpuSet;
use threadwise_study::{Counters, Note, SessionSlice};

/// Threads of the server: those of the sessions in their order, and that of the control connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Threads {
    /// Of each session, with its number.
    pub sessions: Vec<(u32, Thread)>,
    /// Of the control connection, if it has one.
    pub control: Option<Thread>,
}

/// How a server's threads are placed for a treatment, and who ends the server.
pub trait Host<C>: Send + Sync {
    /// Places the server's thread of a session before it warms up, since memory is placed where it is first touched.
    ///
    /// # Errors
    /// It could not be bound.
    fn opened(&self, session: u32, thread: Thread, cpus: &CpuSet) -> Result<(), EngineError> {
        let _ = (session, thread, cpus);
        Ok(())
    }

    /// Places all threads, once the sessions are open and warm; `threads` are those of the server, or why they are out of
    /// reach.
    ///
    /// # Errors
    /// One could not be bound.
    fn standing(&self, control: &mut C, threads: Result<Threads, String>) -> Result<Standing, EngineError>;

    /// Before the first slice and after the last: the server's memory by NUMA node ([`Running::memory`]).
    ///
    /// # Errors
    /// An error of the server.
    fn memory(&self, control: &mut C) -> Result<Counters, EngineError> {
        let _ = control;
        Ok(Counters::new())
    }

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

    /// Ends a server of this treatment alone; its data is not to be used again unless it `is_sound`.
    ///
    /// # Errors
    /// It did not end in order.
    fn finish(&self, is_sound: bool) -> Result<(), EngineError> {
        let _ = is_sound;
        Ok(())
    }
}

/// A treatment's sessions, and what is read around their slices.
pub trait Sessions: Send + Sync {
    /// The control connection.
    type Control;

    /// Uses the control connection.
    fn with_control<T>(&self, ask: impl FnOnce(&mut Self::Control) -> T) -> T;

    /// The server's threads, or why they are out of reach.
    ///
    /// # Errors
    /// The reason, for the note `server not pinned`.
    fn threads(&self) -> Result<Threads, String>;

    /// Opens a session on the calling thread.
    ///
    /// # Errors
    /// An error of the server; a plan that does not read rows; a clock that is too uncertain.
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError>;

    /// Notes for the report, once all sessions are open and warm.
    ///
    /// # Errors
    /// The data is not as the workload requires.
    fn notes(&self) -> Result<Vec<String>, EngineError>;

    /// Reads counters before a slice.
    ///
    /// # Errors
    /// An error of the server.
    fn before(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Samples what sessions wait for during a slice.
    ///
    /// # Errors
    /// An error of the server.
    fn during(&self, window: &Window) -> Result<(), EngineError> {
        let _ = window;
        Ok(())
    }

    /// Reads counters after a slice, and completes what the sessions reported.
    ///
    /// # Errors
    /// An error of the server.
    fn after(&self, sessions: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let _ = sessions;
        Ok(Counters::new())
    }

    /// Checks that the data is what the sessions reported, and resets it unless it is discarded.
    ///
    /// # Errors
    /// Rows are missing or there are too many; or they could not be removed.
    fn finish(&self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Whether a session failed at something, so that the data is not to be trusted.
    fn has_failed(&self) -> bool {
        false
    }
}

/// An engine, started for one treatment.
pub struct Started<T, H> {
    /// The sessions. Before the server, so that their connections are closed first.
    pub sessions: T,
    /// The server.
    pub host: H,
}

impl<T: Sessions, H: Host<T::Control>> Started<T, H> {
    /// Places the server's thread of a session that was opened.
    ///
    /// # Errors
    /// It could not be bound.
    pub fn place(&self, request: &SessionRequest) -> Result<(), EngineError> {
        let threads = self.sessions.threads().map(|threads| threads.sessions).unwrap_or_default();
        let thread = threads.into_iter().find(|(session, _)| *session == request.session);
        thread.map_or(Ok(()), |(session, thread)| self.host.opened(session, thread, &request.cpus))
    }
}

impl<T: Sessions, H: Host<T::Control>> Running for Started<T, H> {
    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let session = self.sessions.open(request)?;
        self.place(request)?;
        Ok(session)
    }

    fn standing(&self) -> Result<Standing, EngineError> {
        let threads = self.sessions.threads();
        let mut standing = self.sessions.with_control(|control| self.host.standing(control, threads))?;
        standing.notes.extend(self.sessions.notes()?.into_iter().map(Note::from));
        Ok(standing)
    }

    fn memory(&self) -> Result<Counters, EngineError> {
        self.sessions.with_control(|control| self.host.memory(control))
    }

    fn before(&self) -> Result<(), EngineError> {
        self.sessions.with_control(|control| self.host.before(control))?;
        self.sessions.before()
    }

    fn during(&self, window: &Window) -> Result<(), EngineError> {
        self.sessions.during(window)
    }

    fn after(&self, sessions: &mut [SessionSlice]) -> Result<Counters, EngineError> {
        let counters = self.sessions.after(sessions)?;
        self.host.after()?;
        Ok(counters)
    }

    fn finish(&self) -> Result<(), EngineError> {
        let checked = self.sessions.finish();
        let is_sound = checked.is_ok() && !self.sessions.has_failed();
        checked.and(self.host.finish(is_sound))
    }
}
