//! `insert`: one table for all sessions of a treatment, and the loops that insert into it.
//!
//! Seeded rows are inserted in the random order of their keys, so that pages are as full as inserts leave them. What
//! the table must hold is known in closed form: the seeded keys, and those that sessions reported.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use threadwise_engine::clock::sleep_until_ns;
use threadwise_engine::worker::{StepResult, fixed_work, step_loop};
use threadwise_engine::workloads::insert::{CHECK_MODULUS, Insert, Key, RandomKeys, first_key, key_check};
use threadwise_engine::workloads::options::Loop;
use threadwise_engine::{EngineError, LoadRequest, Loaded, Session, SessionRequest, Window};
use threadwise_study::SessionSlice;

use crate::driver::{Connection, Driver, Parameter, failed, numbers};
use crate::session::{ClientLoop, Common, Tally, compile, counted, not_prepared};
use crate::template::{Names, Template};
use crate::texts::{Rows, Slot, call_sql, insert_step_sql};

/// Contents of the table: rows, and the sum of [`key_check`] over their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Content {
    rows: i64,
    key_sum: i64,
}

impl Content {
    /// The seeded rows.
    fn seeded(seed: u64, rows: u64) -> Self {
        let keys = RandomKeys::new(seed, 0).take(usize::try_from(rows).unwrap_or(usize::MAX));
        Self { rows: rows as i64, key_sum: keys.map(key_check).sum() }
    }

    /// What the table holds now.
    fn held<D: Driver>(
        driver: &D,
        control: &mut D::Connection,
        rows: &Rows<'_>,
    ) -> Result<Self, EngineError> {
        let sql = Template::default()
            .with("table", rows.table())
            .with("modulus", CHECK_MODULUS)
            .fill(driver.dialect().rows_held);
        match numbers(control, "check the table", &sql)? {
            [Some(rows), Some(key_sum)] => Ok(Self { rows, key_sum }),
            _ => Err(driver.failed("check the table", "the answer is empty")),
        }
    }

    /// Adds what a session reported.
    pub(crate) fn plus(self, tally: &Tally) -> Self {
        Self {
            rows: self.rows + tally.inserted.load(Ordering::Relaxed),
            key_sum: self.key_sum + tally.key_sum.load(Ordering::Relaxed),
        }
    }

    /// Refuses a table with other contents.
    fn expect(self, when: &str, held: Self) -> Result<(), EngineError> {
        if self == held {
            return Ok(());
        }
        Err(EngineError::WrongAnswer(format!(
            "{when} the table holds {} rows with key sum {} instead of {} rows with key sum {}",
            held.rows, held.key_sum, self.rows, self.key_sum
        )))
    }
}

/// Makes the table, its seed and the loop.
pub(crate) fn load<D: Driver>(
    driver: &D,
    control: &mut D::Connection,
    rows: &Rows<'_>,
    request: &LoadRequest,
) -> Result<Loaded, EngineError> {
    let spec = rows.spec;
    let count = usize::try_from(spec.seed_rows).unwrap_or(usize::MAX);
    driver.make_rows(control, rows, &mut RandomKeys::new(request.seed, 0).take(count))?;
    let held = Content::held(driver, control, rows)?;
    Content::seeded(request.seed, spec.seed_rows).expect("after loading", held)?;
    for sql in driver.insert_procedures(rows) {
        control.run("create a procedure", &sql)?;
    }
    Ok(Loaded {
        bytes_per_session: spec.seed_rows * driver.dialect().row_bytes,
        rows_per_session: spec.seed_rows,
        notes: driver.insert_note(spec).into_iter().collect(),
    })
}

/// Called before the sessions are opened: removes what an interrupted run left; data of this run alone (`is_fresh`) must
/// be as loaded.
///
/// # Errors
/// The table is not as loaded, and cannot be made so.
pub(crate) fn make_ready<D: Driver>(
    driver: &D,
    control: &mut D::Connection,
    rows: &Rows<'_>,
    (seed, is_fresh): (u64, bool),
) -> Result<(), EngineError> {
    if driver.is_volatile(rows.spec) {
        return driver.put_back(control, rows);
    }
    let (expected, held) =
        (Content::seeded(seed, rows.spec.seed_rows), Content::held(driver, control, rows)?);
    match is_fresh || expected == held {
        true => expected.expect("as loaded", held),
        false => reset(driver, control, rows, expected),
    }
}

/// Called after the sessions are closed: the table must hold the seeded rows and those that sessions reported; it is reset
/// unless it is discarded (`is_fresh`).
///
/// # Errors
/// Rows are missing or there are too many; or they could not be removed.
pub(crate) fn finish<'a, D: Driver>(
    driver: &D,
    control: &mut D::Connection,
    rows: &Rows<'_>,
    (seed, is_fresh): (u64, bool),
    tallies: impl Iterator<Item = &'a Tally>,
) -> Result<(), EngineError> {
    let seeded = Content::seeded(seed, rows.spec.seed_rows);
    let expected = tallies.fold(seeded, Content::plus);
    let checked = expected.expect("after the run", Content::held(driver, control, rows)?);
    if !is_fresh {
        reset(driver, control, rows, seeded)?;
    }
    checked
}

/// Removes the inserted rows, and checks that the seeded ones are complete.
fn reset<D: Driver>(
    driver: &D,
    control: &mut D::Connection,
    rows: &Rows<'_>,
    seeded: Content,
) -> Result<(), EngineError> {
    driver.put_back(control, rows)?;
    seeded.expect("after the reset", Content::held(driver, control, rows)?)
}

/// An open session.
pub(crate) struct RowsSession<D: Driver> {
    common: Common<D>,
    driver: Arc<D>,
    spec: Insert,
    suffix: String,
    statement: Statement<<D::Connection as Connection>::Statement>,
    /// Number of the next row that this session inserts.
    next_row: u64,
    /// Random keys of the client's loop.
    keys: RandomKeys,
    /// State of the generators of random keys of the server's loop, never 0.
    random: [i64; 2],
}

/// What the loop executes.
enum Statement<S> {
    Call(S),
    Step(S, Vec<Slot>),
}

impl<D: Driver> RowsSession<D> {
    /// Prepares the loop.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn new(
        mut common: Common<D>,
        driver: Arc<D>,
        (spec, place): (Insert, Loop),
        suffix: &str,
        request: &SessionRequest,
    ) -> Result<Self, EngineError> {
        let dialect = common.dialect;
        let names = Names { schema: driver.schema(), suffix, quotes: dialect.quotes };
        let connection = &mut common.connection;
        let statement = match place {
            Loop::Server => {
                let answers = 6 + dialect.rows_counted.len();
                Statement::Call(connection.prepare(&call_sql(dialect, &names.insert_rows(), 7, answers))?)
            }
            Loop::Client => {
                let (sql, slots) = insert_step_sql(dialect, &Rows { names, spec: &spec });
                Statement::Step(connection.prepare(&sql)?, slots)
            }
        };
        let stream = u64::from(request.session) + 1;
        let (keys, random) = (RandomKeys::new(request.seed, stream), generators(request.seed, stream));
        let suffix = suffix.to_owned();
        Ok(Self { common, driver, spec, suffix, statement, next_row: 0, keys, random })
    }

    fn owner(&self) -> Parameter<'static> {
        Parameter::Int(i32::try_from(self.common.number + 1).unwrap_or(i32::MAX))
    }

    fn in_server(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let owner = self.owner();
        let Statement::Call(statement) = &self.statement else {
            return Err(not_prepared(self.common.dialect));
        };
        let (spec, dialect) = (self.spec, self.common.dialect);
        let [start_us, end_us] = self.common.server_window(window)?;
        let wanted = spec.rows_per_session.unwrap_or(0);
        if wanted > 0 {
            sleep_until_ns(window.start_ns);
        }
        let next = match spec.key {
            Key::Sequential => first_key(self.common.number) + self.next_row as i64,
            Key::Random => self.next_row as i64,
        };
        let [x, y] = self.random.map(Parameter::Big);
        let [next, start, end, rows] = [next, start_us, end_us, wanted as i64].map(Parameter::Big);
        let mut answer = [None; 8];
        let parameters = [owner, next, x, y, start, end, rows];
        let call = self.common.call(statement, &parameters, spec.rows_per_tx.max(1), &mut answer)?;
        let [_, _, Some(key_sum), Some(x), Some(y), ended_us, ..] = answer else {
            return Err(failed(dialect, "run its loop", "it returned no numbers"));
        };
        self.random = [x, y];
        self.next_row += call.all_rows();
        self.report(call.all_rows(), key_sum);
        self.common.tally.call_rows.store(call.all_rows(), Ordering::Relaxed);
        let mut slice = call.slice();
        counted(&mut slice, &call, dialect.rows_counted, &answer[6..]);
        if wanted > 0 {
            let ended_ns = ended_us.map_or(call.answered_ns, |us| self.common.monotonic_ns(us));
            if call.all_rows() < wanted || ended_ns > window.end_ns {
                let why = format!("{} of {wanted} rows were inserted when the time was up", call.all_rows());
                return Err(failed(dialect, "insert its rows", why));
            }
            slice.finished_ns = Some(ended_ns.saturating_sub(window.start_ns).max(1));
        }
        Ok(slice)
    }

    fn in_client(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let owner = self.owner();
        let Self { common, spec, statement, next_row, keys, .. } = self;
        let Statement::Step(statement, slots) = statement else { return Err(not_prepared(common.dialect)) };
        let (rows, first, table) = (spec.rows_per_tx, first_key(common.number), "insert rows");
        let mut key_sum = 0;
        let (mut drawn, mut parameters) = (Vec::new(), Vec::new());
        let (slice, call) = common.client_loop(rows, |metered| {
            let mut calls = 0;
            let step = || {
                drawn.clear();
                drawn.extend((0..rows).map(|row| match spec.key {
                    Key::Sequential => first + (*next_row + row) as i64,
                    Key::Random => keys.next().unwrap_or_default(),
                }));
                *next_row += rows;
                parameters.clear();
                parameters.extend(slots.iter().map(|slot| match slot {
                    Slot::Owner => owner,
                    Slot::Key(row) => Parameter::Big(drawn[*row]),
                }));
                let inserted =
                    metered.connection().change(format_args!("{table}"), statement, &parameters)?;
                if let Some(inserted) = inserted.filter(|inserted| *inserted != rows) {
                    let why = format!("an INSERT of {rows} rows inserted {inserted}");
                    return Err(EngineError::WrongAnswer(why));
                }
                key_sum += drawn.iter().copied().map(key_check).sum::<i64>();
                calls += 1;
                Ok(StepResult { rows, checked: u64::from(inserted.is_some()), wrong: 0, think_ns: 0 })
            };
            let slice = match spec.rows_per_session {
                Some(wanted) => fixed_work(window, wanted, step, || metered.read())?,
                None => step_loop(window, step, || metered.read())?,
            };
            Ok(ClientLoop { slice, calls, round_trips: calls })
        })?;
        self.report(call.all_rows(), key_sum);
        Ok(slice)
    }

    fn report(&self, rows: u64, key_sum: i64) {
        self.common.tally.inserted.fetch_add(rows as i64, Ordering::Relaxed);
        self.common.tally.key_sum.fetch_add(key_sum, Ordering::Relaxed);
    }

    fn warm_up(&mut self) -> Result<(), EngineError> {
        let Self { common, driver, suffix, spec, .. } = self;
        let dialect = common.dialect;
        let names = Names { schema: driver.schema(), suffix, quotes: dialect.quotes };
        Content::held(driver.as_ref(), &mut common.connection, &Rows { names, spec })?;
        match compile(dialect).filter(|_| self.spec.rows_per_session.is_none()) {
            Some(window) => self.slice(&window).map(drop),
            None => self.common.connection.rest(),
        }
    }
}

/// States of the two generators of 31 bits of a session's random keys (L'Ecuyer, CACM 31, 1988), for servers without a
/// generator of 64 bits.
fn generators(seed: u64, stream: u64) -> [i64; 2] {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    [2_147_483_647, 2_147_483_399].map(|modulus| (random.next_u64() % (modulus - 1) + 1) as i64)
}

impl<D: Driver> Session for RowsSession<D> {
    fn warm(&mut self) -> Result<(), EngineError> {
        let warm = self.warm_up();
        self.common.noted(warm)
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let slice = match self.statement {
            Statement::Call(_) => self.in_server(window),
            Statement::Step(..) => self.in_client(window),
        };
        self.common.is_done_with(window, slice)
    }
}
