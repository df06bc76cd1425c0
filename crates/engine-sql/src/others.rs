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

/// What tells the time of units, and waits for the next one.
#[derive(Debug)]
struct Clock {
    now_ns: fn() -> u64,
    sleep_until_ns: fn(u64),
}

/// The clock of windows.
const CLOCK: Clock = Clock { now_ns: monotonic_ns, sleep_until_ns };

/// Another connection's units.
#[derive(Debug)]
pub(crate) struct Others<S> {
    clock: Clock,
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
        let (before_ns, latest_ns, fair) = (None, Vec::new(), fair.max(1.0));
        Ok(Self { clock: CLOCK, transaction, statement, before_ns, latest_ns, fair })
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
            (self.clock.sleep_until_ns)(at_ns);
            let took_ns = self.unit_ns(connection)?;
            self.latest_ns.push(took_ns);
            if self.latest_ns.len() > JUDGED {
                self.latest_ns.remove(0);
            }
            for (name, amount) in [(UNITS, 1), (UNITS_NS, took_ns)] {
                *counters.entry(name.to_owned()).or_insert(0) += amount;
            }
            self.judge()?;
            at_ns = (at_ns + PERIOD_NS).max((self.clock.now_ns)());
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
        let began_ns = (self.clock.now_ns)();
        unit(connection, &self.transaction, &self.statement)?;
        Ok((self.clock.now_ns)() - began_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Parameter, Value};
    use std::cell::Cell;
    use std::fmt::Arguments;
    use threadwise_engine::workloads::transaction::{
        BindValue, ColumnValues, Parameter as Declared, Quoting, Statement,
    };

    const ANSWER: i64 = 7;
    const MS: u64 = 1_000_000;

    thread_local! {
        /// The time of the test: it passes while a unit runs, and while one is waited for.
        static NOW_NS: Cell<u64> = const { Cell::new(0) };
    }

    fn pass(nanoseconds: u64) {
        NOW_NS.set(NOW_NS.get() + nanoseconds);
    }

    /// A server whose units take so long and answer so.
    struct Scripted {
        unit_ns: u64,
        answer: i64,
    }

    impl Connection for Scripted {
        type Statement = ();

        fn run(&mut self, action: &str, _: &str) -> Result<(), EngineError> {
            panic!("{action}")
        }

        fn rows(
            &mut self,
            action: &str,
            _: &str,
            _: &[Parameter<'_>],
        ) -> Result<Vec<Vec<Value>>, EngineError> {
            panic!("{action}")
        }

        fn prepare(&mut self, sql: &str) -> Result<(), EngineError> {
            panic!("{sql}")
        }

        fn first(
            &mut self,
            action: Arguments<'_>,
            (): &(),
            _: &[Parameter<'_>],
            _: &mut [Option<i64>],
        ) -> Result<bool, EngineError> {
            panic!("{action}")
        }

        fn change(
            &mut self,
            action: Arguments<'_>,
            (): &(),
            _: &[Parameter<'_>],
        ) -> Result<Option<u64>, EngineError> {
            panic!("{action}")
        }

        fn prepare_theirs(&mut self, _: &Statement, _: &[Declared]) -> Result<(), EngineError> {
            Ok(())
        }

        fn column_of_theirs(&mut self, _: &Statement, (): &()) -> Result<ColumnValues, EngineError> {
            pass(self.unit_ns);
            let mut column = ColumnValues::default();
            column.add(Some(BindValue::Whole(self.answer))).unwrap();
            Ok(column)
        }
    }

    fn others(sessions: u32, vcpus: Option<u32>) -> (Scripted, Others<()>) {
        let mut server = Scripted { unit_ns: 4 * MS, answer: ANSWER };
        let transaction = Transaction::of_statement("SELECT 7", Quoting::default(), ANSWER).unwrap();
        let mut others = Others::new(&mut server, &transaction, sessions, vcpus).unwrap();
        others.clock =
            Clock { now_ns: || NOW_NS.get(), sleep_until_ns: |at_ns| NOW_NS.set(NOW_NS.get().max(at_ns)) };
        others.before(&mut server).unwrap();
        (server, others)
    }

    /// A window of two seconds.
    fn watch(server: &mut Scripted, others: &mut Others<()>) -> (Result<(), EngineError>, Counters) {
        let start_ns = NOW_NS.get() + MS;
        let window =
            Window { sequence: 0, start_ns, end_ns: start_ns + 2_000 * MS, piece_ns: None, arrivals: None };
        let mut counters = Counters::new();
        let watched = others.during(server, &window, &mut counters);
        (watched, counters)
    }

    #[test]
    fn units_of_another_connection_are_counted_and_timed() {
        let (mut server, mut others) = others(1, Some(2));
        let (watched, counters) = watch(&mut server, &mut others);
        assert_eq!(watched, Ok(()));
        assert_eq!(
            counters,
            [(UNITS, 40), (UNITS_NS, 160 * MS)].map(|(name, n)| (name.to_owned(), n)).into()
        );
    }

    #[test]
    fn a_fair_share_is_no_reason_to_end_and_much_less_is_one() {
        // Four times the work of two vCPUs, and the units of others take four times as long.
        let (mut server, mut others) = others(7, Some(2));
        server.unit_ns = 16 * MS;
        assert_eq!(watch(&mut server, &mut others).0, Ok(()));
        server.unit_ns = 48 * MS;
        assert_eq!(watch(&mut server, &mut others).0, Ok(()), "three times a fair share is the limit");
        server.unit_ns = 49 * MS;
        let (watched, counters) = watch(&mut server, &mut others);
        let Err(EngineError::OthersWaited(why)) = watched else { panic!("{watched:?}") };
        assert!(why.contains("took 49000 us each, and 4000 us before the load"), "{why}");
        assert!(why.contains("smaller --share"), "{why}");
        assert_eq!(counters[UNITS], 10, "as soon as half of the latest units are so slow");
    }

    #[test]
    fn without_the_number_of_vcpus_one_is_assumed_and_few_units_decide_nothing() {
        let (mut server, mut others) = others(1, None);
        server.unit_ns = 24 * MS;
        assert_eq!(watch(&mut server, &mut others).0, Ok(()));
        let (mut server, mut others) = self::others(1, Some(8));
        server.unit_ns = 150 * MS;
        let (watched, counters) = watch(&mut server, &mut others);
        assert_eq!((watched, counters[UNITS]), (Ok(()), 14), "fewer than are judged");
    }

    #[test]
    fn a_wrong_answer_is_a_failure() {
        let (mut server, mut others) = others(1, Some(2));
        server.answer = ANSWER + 1;
        let (watched, counters) = watch(&mut server, &mut others);
        assert!(
            matches!(&watched, Err(EngineError::WrongAnswer(why)) if why.contains("8 instead of 7")),
            "{watched:?}"
        );
        assert!(counters.is_empty(), "{counters:?}");
    }
}
