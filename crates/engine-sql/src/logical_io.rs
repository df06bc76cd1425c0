//! `logical-io`: tables with one visited row a page, and the loops that read and update them.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use threadwise_engine::worker::{StepResult, step_loop};
use threadwise_engine::workloads::logical_io::{LogicalIo, Step, Steps, range_sum};
use threadwise_engine::workloads::options::Loop;
use threadwise_engine::{EngineError, LoadRequest, Loaded, Session, SessionRequest, Window};
use threadwise_study::SessionSlice;

use crate::driver::{Connection, Driver, Parameter};
use crate::session::{ClientLoop, Common, compile, counted, not_prepared};
use crate::template::{Names, Template};
use crate::texts::{Blocks, call_sql, logical_io_loop_sql, logical_io_step_sql};

/// Seeds of loops are below this, the modulus of the generator x := 48271 x (Park, Miller and Stockmeyer, CACM 36, 1993).
const SEEDS: u64 = 2_147_483_647;

/// Makes the tables of all sessions.
pub(crate) fn load<D: Driver>(
    driver: &D,
    control: &mut D::Connection,
    names: &Names<'_>,
    spec: &LogicalIo,
    request: &LoadRequest,
) -> Result<Loaded, EngineError> {
    let dialect = driver.dialect();
    let mut note = String::new();
    for table in 0..if spec.shared { 1 } else { request.sessions } {
        let blocks = Blocks { names: *names, number: table, spec };
        let places = Template::default()
            .with("table", blocks.table())
            .with("name", blocks.bare())
            .with("schema", names.schema)
            .with("from", names.blocks(0));
        control.run("create a table", &places.fill(dialect.blocks))?;
        match table {
            0 => driver.fill_blocks(control, &blocks, request.seed)?,
            _ => control.run("copy a table", &places.fill(dialect.blocks_copy))?,
        }
        control.run("create an index", &places.fill(dialect.blocks_index))?;
        if !dialect.blocks_settle.is_empty() {
            control.run("analyze a table", &places.fill(dialect.blocks_settle))?;
        }
        note = driver.prove_blocks(control, &blocks)?;
        control.run("create a procedure", &logical_io_loop_sql(dialect, &blocks))?;
    }
    let bytes_per_session = spec.blocks * dialect.block_bytes;
    Ok(Loaded { bytes_per_session, rows_per_session: spec.blocks, notes: vec![note] })
}

/// An open session.
pub(crate) struct BlocksSession<D: Driver> {
    common: Common<D>,
    driver: Arc<D>,
    spec: LogicalIo,
    place: Loop,
    suffix: String,
    /// Number of the table, and its full name.
    number: u32,
    table: String,
    statements: Statements<<D::Connection as Connection>::Statement>,
    steps: Steps,
    /// Seeds of the server's generator, one a slice.
    seeds: ChaCha8Rng,
}

/// What the loop executes.
enum Statements<S> {
    Call(S),
    Steps { read: S, update: Option<S> },
}

impl<D: Driver> BlocksSession<D> {
    /// Prepares the loop.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn new(
        mut common: Common<D>,
        driver: Arc<D>,
        (spec, place): (LogicalIo, Loop),
        suffix: &str,
        request: &SessionRequest,
    ) -> Result<Self, EngineError> {
        let dialect = common.dialect;
        let names = Names { schema: driver.schema(), suffix, quotes: dialect.quotes };
        let number = if spec.shared { 0 } else { request.session };
        let table = names.blocks(number);
        let connection = &mut common.connection;
        let mut prepare = |sql: &str| connection.prepare(&logical_io_step_sql(dialect, sql, &table));
        let statements = match place {
            Loop::Server => {
                let answers = 3 + dialect.blocks_counted.len();
                let call = call_sql(dialect, &names.read_blocks(number), 3, answers);
                Statements::Call(connection.prepare(&call)?)
            }
            Loop::Client => Statements::Steps {
                read: prepare(dialect.blocks_read)?,
                update: if spec.updates() { Some(prepare(dialect.blocks_update)?) } else { None },
            },
        };
        let mut seeds = ChaCha8Rng::seed_from_u64(request.seed);
        seeds.set_stream(u64::from(request.session));
        let steps = Steps::new(spec, request.seed, request.session);
        let suffix = suffix.to_owned();
        Ok(Self { common, driver, spec, place, suffix, number, table, statements, steps, seeds })
    }

    fn in_server(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let Statements::Call(statement) = &self.statements else {
            return Err(not_prepared(self.common.dialect));
        };
        let [start_us, end_us] = self.common.server_window(window)?;
        let seed = (self.seeds.next_u64() % (SEEDS - 1) + 1) as i64;
        let parameters = [start_us, end_us, seed].map(Parameter::Big);
        let mut answer = [None; 5];
        let call = self.common.call(statement, &parameters, self.spec.work_unit, &mut answer)?;
        if answer[2] != Some(0) {
            let wrong = answer[2].unwrap_or_default();
            return Err(EngineError::WrongAnswer(format!(
                "{wrong} of {} steps on {} gave another number of rows or another sum",
                call.calls, self.table
            )));
        }
        self.common.tally.call_rows.store(call.all_rows(), Ordering::Relaxed);
        let mut slice = call.slice();
        counted(&mut slice, &call, self.common.dialect.blocks_counted, &answer[3..]);
        Ok(slice)
    }

    fn in_client(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let Self { common, spec, statements, steps, .. } = self;
        let Statements::Steps { read, update } = statements else { return Err(not_prepared(common.dialect)) };
        let (count, think_ns) = (spec.work_unit, spec.think_time_ns());
        let [before, after_update, after] = common.dialect.blocks_around;
        around(&mut common.connection, before)?;
        let (slice, _) = common.client_loop(count, |metered| {
            let (mut calls, mut round_trips) = (0, 0);
            let step = || {
                calls += 1;
                round_trips += 1;
                let (step, mut connection) = (steps.draw(), metered.connection());
                match update {
                    Some(update) if step.update => {
                        change(*connection, update, step, count)?;
                        around(*connection, after_update)?;
                        round_trips += u64::from(!after_update.is_empty());
                    }
                    _ => visit(*connection, read, step, count)?,
                }
                Ok(StepResult { rows: count, checked: 1, wrong: 0, think_ns })
            };
            let slice = step_loop(window, step, || metered.read())?;
            Ok(ClientLoop { slice, calls, round_trips })
        })?;
        around(&mut common.connection, after)?;
        Ok(slice)
    }

    fn warm_up(&mut self) -> Result<(), EngineError> {
        let Self { common, driver, suffix, number, spec, .. } = self;
        let dialect = common.dialect;
        let names = Names { schema: driver.schema(), suffix, quotes: dialect.quotes };
        driver.warm_blocks(&mut common.connection, &Blocks { names, number: *number, spec })?;
        match compile(dialect) {
            Some(window) => self.slice(&window).map(drop),
            None => self.common.connection.rest(),
        }
    }
}

impl<D: Driver> Session for BlocksSession<D> {
    fn warm(&mut self) -> Result<(), EngineError> {
        let warm = self.warm_up();
        self.common.noted(warm)
    }

    fn slice(&mut self, window: &Window) -> Result<SessionSlice, EngineError> {
        let slice = match self.place {
            Loop::Server => self.in_server(window),
            Loop::Client => self.in_client(window),
        };
        self.common.is_done_with(window, slice)
    }
}

/// Statements around the client's steps, if the dialect has some.
fn around(connection: &mut impl Connection, sql: &str) -> Result<(), EngineError> {
    if sql.is_empty() {
        return Ok(());
    }
    connection.run("begin or end a transaction", sql)
}

/// First and last key; tables have at most 2^28 rows.
fn ends(step: Step, count: u64) -> [i32; 2] {
    [step.first as i32, (step.first + count - 1) as i32]
}

fn visit<C: Connection>(
    connection: &mut C,
    read: &C::Statement,
    step: Step,
    count: u64,
) -> Result<(), EngineError> {
    let [first, last] = ends(step, count);
    let mut answer = [None; 2];
    let action = format_args!("read keys {first} to {last}");
    connection.first(action, read, &[Parameter::Int(first), Parameter::Int(last)], &mut answer)?;
    let expected = [Some(count as i64), Some(range_sum(step.first, count))];
    if answer == expected {
        return Ok(());
    }
    let why = format!("keys {first} to {last} gave {} instead of {}", shown(answer), shown(expected));
    Err(EngineError::WrongAnswer(why))
}

/// Rows and sum, as text.
fn shown([rows, sum]: [Option<i64>; 2]) -> String {
    let sum = sum.map_or("no sum".to_owned(), |sum| format!("sum {sum}"));
    format!("{} rows and {sum}", rows.unwrap_or_default())
}

fn change<C: Connection>(
    connection: &mut C,
    update: &C::Statement,
    step: Step,
    count: u64,
) -> Result<(), EngineError> {
    let [first, last] = ends(step, count);
    let action = format_args!("update keys {first} to {last}");
    let changed = connection.change(action, update, &[Parameter::Int(first), Parameter::Int(last)])?;
    if changed == Some(count) {
        return Ok(());
    }
    let changed = changed.unwrap_or_default();
    let why = format!("the update of keys {first} to {last} changed {changed} rows instead of {count}");
    Err(EngineError::WrongAnswer(why))
}
