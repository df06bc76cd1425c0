//! The sessions of a worker: one OS thread each, bound before it touches data, parked on its own
//! channel between slices. Sessions share nothing but the channel on which they hand in results,
//! and that only after a window has ended.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use threadwise_machine::CpuSet;
use threadwise_machine::pin::{current_thread_id, pin_current_thread};
use threadwise_study::SessionSlice;

use crate::{EngineError, LoadRequest, Running, Session, SessionRequest, Window};

/// What a session's thread sends.
enum Event {
    /// Open, bound and warm; the thread's OS id.
    Ready(u32),
    /// A window is over.
    Slice(Box<SessionSlice>),
}

type Handed = (usize, Result<Event, EngineError>);

/// An order to a session.
struct Order {
    window: Window,
    /// Queries to execute; empty if the workload has none.
    queries: Vec<u8>,
}

struct Member {
    orders: Sender<Order>,
    thread: JoinHandle<()>,
}

/// All sessions of the worker, parked.
pub(super) struct Crew {
    members: Vec<Member>,
    handed: Receiver<Handed>,
}

impl Crew {
    /// Opens, binds and warms one session per CPU set, all at the same time.
    ///
    /// # Errors
    /// The first error of any session.
    pub(super) fn assemble(
        running: &Arc<dyn Running>,
        load: &LoadRequest,
        cpus: &[CpuSet],
        seed: u64,
    ) -> Result<(Self, Vec<u32>), EngineError> {
        let (results, handed) = channel();
        let mut members = Vec::new();
        for (index, own_cpus) in cpus.iter().enumerate() {
            let request = SessionRequest {
                load: load.clone(),
                session: index as u32,
                sessions: cpus.len() as u32,
                cpus: own_cpus.clone(),
                seed,
            };
            members.push(start(Arc::clone(running), request, index, results.clone())?);
        }
        let crew = Self { members, handed };
        let tids = crew.collect(|event| match event {
            Event::Ready(tid) => Some(tid),
            Event::Slice(_) => None,
        })?;
        Ok((crew, tids))
    }

    /// Lets every session work until the window's end, or execute its queries, and calls `during` meanwhile.
    ///
    ///
    /// # Errors
    /// The first error of any session, or that of `during`.
    pub(super) fn work(
        &self,
        window: &Window,
        mut queries: Vec<Vec<u8>>,
        during: impl FnOnce() -> Result<(), EngineError>,
    ) -> Result<Vec<SessionSlice>, EngineError> {
        queries.resize(self.members.len(), Vec::new());
        for (member, queries) in self.members.iter().zip(queries) {
            let order = Order { window: window.clone(), queries };
            member.orders.send(order).map_err(|_| thread_lost("take a slice"))?;
        }
        let looked = during();
        // A session's error comes first.
        let slices = self.collect(|event| match event {
            Event::Slice(slice) => Some(*slice),
            Event::Ready(_) => None,
        })?;
        looked.map(|()| slices)
    }

    /// Closes every session and waits for its thread.
    pub(super) fn dismiss(self) {
        for member in self.members {
            drop(member.orders);
            // A panic was sent as an error before.
            let _ = member.thread.join();
        }
    }

    /// One event of the wanted kind from every session, in session order.
    fn collect<T: Clone>(&self, wanted: impl Fn(Event) -> Option<T>) -> Result<Vec<T>, EngineError> {
        let mut events = vec![None; self.members.len()];
        for _ in 0..self.members.len() {
            let (index, event) = self.handed.recv().map_err(|_| thread_lost("hand in a result"))?;
            events[index] = wanted(event?);
        }
        events.into_iter().collect::<Option<Vec<T>>>().ok_or_else(|| thread_lost("keep to the order of work"))
    }
}

fn thread_lost(action: &str) -> EngineError {
    EngineError::Failed {
        engine: "worker".into(),
        action: action.into(),
        why: "a session's thread ended too early; its last lines are in the worker's log".into(),
    }
}

fn start(
    running: Arc<dyn Running>,
    request: SessionRequest,
    index: usize,
    results: Sender<Handed>,
) -> Result<Member, EngineError> {
    let (sender, orders) = channel();
    let body = move || {
        let session = request.session;
        let whole_life = catch_unwind(AssertUnwindSafe(|| live(running, &request, index, &orders, &results)));
        let error = match whole_life {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error,
            Err(_) => thread_lost(&format!("keep session {session} running")),
        };
        // If nothing receives, the worker is ending and the error has no reader.
        let _ = results.send((index, Err(error)));
    };
    let thread = thread::Builder::new().name(format!("session-{index}")).spawn(body).map_err(|cause| {
        EngineError::Failed {
            engine: "worker".into(),
            action: format!("start the thread of session {index}"),
            why: cause.to_string(),
        }
    })?;
    Ok(Member { orders: sender, thread })
}

/// The main function of a session's thread.
fn live(
    running: Arc<dyn Running>,
    request: &SessionRequest,
    index: usize,
    orders: &Receiver<Order>,
    results: &Sender<Handed>,
) -> Result<(), EngineError> {
    // First: memory is placed where it is first touched, so everything else comes after binding.
    pin_current_thread(&request.cpus).map_err(|cause| EngineError::Pin {
        session: request.session,
        cpus: request.cpus.to_string(),
        why: cause.to_string(),
    })?;
    let mut session: Box<dyn Session> = running.open(request)?;
    // After the sessions, the worker is the only owner.
    drop(running);
    session.warm()?;
    let tid = current_thread_id().ok_or_else(|| EngineError::Failed {
        engine: "worker".into(),
        action: "get its thread id".into(),
        why: "/proc/thread-self cannot be read; /proc must be mounted".into(),
    })?;
    let mut event = Event::Ready(tid);
    loop {
        if results.send((index, Ok(event))).is_err() {
            return Ok(());
        }
        // Parked: a futex wait, no CPU. The channel closes when the worker stops.
        let Ok(Order { window, queries }) = orders.recv() else { return Ok(()) };
        let slice = match queries.as_slice() {
            [] => session.slice(&window)?,
            queries => session.queries(&window, queries)?,
        };
        event = Event::Slice(Box::new(slice));
    }
}
