//! What other connections feel of a load on the user's server: the control connection does a unit of the work now and
//! then, as any other client would, and the load ends when its units take much longer than they should.
//!
//! A server divides its vCPUs among those that want one. With s sessions and one unit more on v vCPUs a unit takes
//! (s + 1) / v times as long, or as long as before if that is less. Three times that is not a fair share any more: the
//! load has found a limit that is not its vCPUs (credits, a host that is busy, a lock), and others feel it.

use threadwise_engine::clock::{monotonic_ns, sleep_until_ns};
use threadwise_engine::workloads::transaction::Transaction;
use threadwise_engine::{EngineError, Window};
use threadwise_study::Counters;

use crate::driver::Connection;
use crate::transaction::unit;

/// Time between two units.
const PERIOD_NS: u64 = 50_000_000;

/// Units before the load, of which the median is taken.
const FIRST_UNITS: usize = 7;

/// Units by which the load is judged, the latest ones.
const JUDGED: usize = 20;

/// How many times as long as a fair share makes it a unit may take.
const MOST_TIMES: f64 = 3.0;

/// Units of another connection in a slice, and the time that they took.
const UNITS: &str = "other_connection_units";
const UNITS_NS: &str = "other_connection_ns";

/// Another connection's units.
#[derive(Debug)]
pub(crate) struct Others<S> {
    transaction: Transaction,
    statement: S,
    before_ns: Option<f64>,
    latest_ns: Vec<u64>,
    /// Times as long that a fair share makes a unit.
    fair: f64,
}

impl<S> Others<S> {
    /// For so many sessions on a server of so many vCPUs, if that is known. Prepares the unit.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn new<C: Connection<Statement = S>>(
        connection: &mut C,
        transaction: &Transaction,
        sessions: u32,
        vcpus: Option<u32>,
    ) -> Result<Self, EngineError> {
        let statement = connection.prepare_theirs(&transaction.scripts[0].statements[0], &[])?;
        let fair = vcpus
            .map_or(f64::from(sessions) + 1.0, |vcpus| f64::from(sessions + 1) / f64::from(vcpus.max(1)));
        let transaction = transaction.clone();
        Ok(Self { transaction, statement, before_ns: None, latest_ns: Vec::new(), fair: fair.max(1.0) })
    }

    /// How long a unit takes while no session works.
    ///
    /// # Errors
    /// An error of the server, or a wrong answer.
    pub(crate) fn before<C: Connection<Statement = S>>(
        &mut self,
        connection: &mut C,
    ) -> Result<(), EngineError> {
        let mut all = (0..FIRST_UNITS).map(|_| self.unit_ns(connection)).collect::<Result<Vec<u64>, _>>()?;
        all.sort_unstable();
        self.before_ns = Some(all[FIRST_UNITS / 2] as f64);
        Ok(())
    }

    /// Does units during a window, and ends the load when they take too long.
    ///
    /// # Errors
    /// They do; an error of the server.
    pub(crate) fn during<C: Connection<Statement = S>>(
        &mut self,
        connection: &mut C,
        window: &Window,
        counters: &mut Counters,
    ) -> Result<(), EngineError> {
        let mut at_ns = window.start_ns;
        while at_ns < window.end_ns {
            sleep_until_ns(at_ns);
            let took_ns = self.unit_ns(connection)?;
            self.latest_ns.push(took_ns);
            if self.latest_ns.len() > JUDGED {
                self.latest_ns.remove(0);
            }
            for (name, amount) in [(UNITS, 1), (UNITS_NS, took_ns)] {
                *counters.entry(name.to_owned()).or_insert(0) += amount;
            }
            self.judge()?;
            at_ns = (at_ns + PERIOD_NS).max(monotonic_ns());
        }
        Ok(())
    }

    fn judge(&self) -> Result<(), EngineError> {
        let Some(before_ns) = self.before_ns.filter(|_| self.latest_ns.len() >= JUDGED) else {
            return Ok(());
        };
        let mut latest = self.latest_ns.clone();
        latest.sort_unstable();
        let now_ns = latest[JUDGED / 2] as f64;
        match now_ns > MOST_TIMES * self.fair * before_ns {
            false => Ok(()),
            true => Err(EngineError::OthersWaited(format!(
                "another connection's statements took {} us each, and {} us before the load, which is more than a fair \
                 share of the server explains: use a smaller --share, or another hour",
                (now_ns / 1e3).round() as u64,
                (before_ns / 1e3).round() as u64
            ))),
        }
    }

    fn unit_ns<C: Connection<Statement = S>>(&self, connection: &mut C) -> Result<u64, EngineError> {
        let began_ns = monotonic_ns();
        unit(connection, &self.transaction, &self.statement)?;
        Ok(monotonic_ns() - began_ns)
    }
}
