//! What the benchmarks beside pgbench have in common: sessions on threads of their own, and the interval of a ratio.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use threadwise_engine::{EngineError, LoadRequest, SessionRequest, Window};
use threadwise_engine_postgres::Server;
use threadwise_engine_sql::{Sessions, Treatment};
use threadwise_machine::CpuSet;
use threadwise_study::SessionSlice;

/// A session's thread.
pub struct Member {
    pub windows: Sender<Window>,
    pub slices: Receiver<Result<SessionSlice, EngineError>>,
}

/// Opens a session on a new thread, which first sends an empty slice.
pub fn member<'a>(
    scope: &'a Scope<'a, '_>,
    treatment: &'a Treatment<Server>,
    load: &LoadRequest,
    session: u32,
) -> Member {
    let (windows, orders) = channel::<Window>();
    let (results, slices) = channel();
    let request =
        SessionRequest { load: load.clone(), session, sessions: load.sessions, cpus: CpuSet::new(), seed: 1 };
    scope.spawn(move || {
        let opened = treatment.open(&request).and_then(|mut session| session.warm().map(|()| session));
        let mut session = match opened {
            Ok(session) => session,
            Err(error) => return results.send(Err(error)).unwrap_or(()),
        };
        // If nothing receives, the benchmark has failed with another message.
        let _ = results.send(Ok(SessionSlice::default()));
        while let Ok(window) = orders.recv() {
            let _ = results.send(session.slice(&window));
        }
    });
    Member { windows, slices }
}

/// exp of the mean of ln(ours / pgbench), with its t interval over pairs; `t` is Student's quantile.
pub fn interval(pairs: impl Iterator<Item = [f64; 2]>, t: f64) -> [f64; 3] {
    let logs: Vec<f64> = pairs.map(|[ours, theirs]| (ours / theirs).ln()).collect();
    let count = logs.len() as f64;
    let centre = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - centre).powi(2)).sum();
    let half = t * (squares / (count - 1.0) / count).sqrt();
    [centre, centre - half, centre + half].map(f64::exp)
}
