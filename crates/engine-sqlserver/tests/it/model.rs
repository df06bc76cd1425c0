//! A small model of the server: tables, procedures, sessions and counters, which change as the statements of the
//! engine say. What it does not know is an error for the client, and fails the test.

mod affinity;
pub mod catalog;
mod loops;
mod queries;
pub mod table;
mod template;
mod transactions;
mod views;

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};
use table::Table;
use template::{Places, bare, places};
use threadwise_tds::{Column, Connected, Length, Message, Reply, Request, Session, Type, Value};

pub use loops::Procedure;
pub use queries::{COMPILE_MS, CPU_MS};

/// The only login and its password.
pub const USER: &str = "measurer";
pub const PASSWORD: &str = "Hush-4711-kept";

/// How long a test waits for something that has to come.
pub const LIMIT: Duration = Duration::from_secs(120);

/// What the server is like.
#[derive(Clone)]
pub struct Settings {
    pub version: &'static str,
    pub product: &'static str,
    /// Setting of delayed durability.
    pub delayed: &'static str,
    /// Whether tables in memory have a filegroup.
    pub filegroup: bool,
    /// What HAS_PERMS_BY_NAME says of ALTER SETTINGS.
    pub may_bind: bool,
    /// Logical CPUs and their memory nodes.
    pub cpus: Vec<(u32, u32)>,
    /// What HAS_PERMS_BY_NAME says of VIEW SERVER STATE.
    pub may_look: bool,
    /// Whether SET STATISTICS TIME has an effect.
    pub times: bool,
    /// Whose plans are shown.
    pub plans: Plans,
    /// What sp_getapplock says.
    pub lock: i64,
    /// With what logins are refused.
    pub refused: Option<Message>,
    /// Statements that begin so fail.
    pub fails: Vec<(&'static str, Message)>,
    /// Looks at what sessions wait for that a loop lasts at least.
    pub looks: usize,
    /// Steps of a loop, and those of them that ended inside the window.
    pub calls: i64,
    pub steps: i64,
    /// What comes before the answer of a loop.
    pub before_loop: Vec<Reply>,
    /// What comes before the answer of a query.
    pub before_query: Vec<Reply>,
    /// Rows that are lost after each loop that inserts.
    pub lost: usize,
    /// The answer of a unit of `burn`.
    pub unit: i64,
    /// How long a change of the affinity takes.
    pub change: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            version: "16.0.4135.4",
            product: "Microsoft SQL Server 2022 (RTM-CU14) - 16.0.4135.4 (X64)\n\tDeveloper Edition",
            delayed: "ALLOWED",
            filegroup: true,
            may_bind: true,
            cpus: (0..8).map(|cpu| (cpu, cpu / 4)).collect(),
            may_look: true,
            times: true,
            plans: Plans::All,
            lock: 0,
            refused: None,
            fails: Vec::new(),
            looks: 0,
            calls: 40,
            steps: 30,
            before_loop: Vec::new(),
            before_query: Vec::new(),
            lost: 0,
            unit: threadwise_engine::workloads::burn::ANSWER,
            change: Duration::ZERO,
        }
    }
}

/// Which plans SET SHOWPLAN_XML shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Plans {
    /// Those of all texts.
    All,
    /// Those of texts without tables.
    WithoutTables,
    /// None.
    None,
}

/// What a session has used and set.
#[derive(Default)]
pub struct SessionState {
    pub cpu_ms: i64,
    pub logical_reads: i64,
    pub bulk: String,
    pub shows_plans: bool,
    pub is_timed: bool,
    pub set: Vec<String>,
}

/// What changes.
#[derive(Default)]
pub struct State {
    pub schemas: Vec<String>,
    pub tables: BTreeMap<String, Table>,
    pub procedures: BTreeMap<String, Procedure>,
    /// Objects of other kinds, by their full names.
    pub others: Vec<String>,
    pub sessions: BTreeMap<u64, SessionState>,
    /// What was created and dropped, in order.
    pub log: Vec<String>,
    /// Statements that are not known.
    pub unknown: Vec<String>,
    pub looks_at_statements: i64,
    pub looks: usize,
    /// Whether sessions are warm: what settings say of loops is not of those by which they become so.
    pub is_warm: bool,
    /// Loops that were called.
    pub loops: Vec<loops::Called>,
    /// Loops that were called once sessions were warm.
    pub slices: usize,
    /// The server's affinity: what was set, if it is not left to it, and all that was set in order.
    pub affinity: Option<Vec<u32>>,
    pub affinities: Vec<String>,
    /// So many changes of it fail.
    pub affinity_fails: usize,
    /// So many changes of it were begun.
    pub changes: usize,
    /// The connection whose turn it is to change it.
    pub turn: Option<u64>,
    /// Sessions of others: login and program.
    pub connected: Vec<(&'static str, &'static str)>,
    /// Texts of queries that were executed, with their degree of parallelism.
    pub executed: Vec<(String, i64)>,
    /// Open transactions of the user's statements, by connection, and those that ended: what was done in each.
    pub transactions: BTreeMap<u64, Vec<String>>,
    pub ended: Vec<String>,
}

/// The server.
pub struct Model {
    pub settings: Settings,
    /// Which sessions are open.
    pub connected: OnceLock<Connected>,
    state: Mutex<State>,
    changed: Condvar,
}

/// A statement, and what it works on.
pub struct Call<'a> {
    pub settings: &'a Settings,
    pub state: &'a mut State,
    pub connection: u64,
    pub places: Places,
    /// The values of its parameters.
    pub values: Vec<Value>,
}

/// What answers a statement.
type Handler = fn(&mut Call<'_>) -> Vec<Reply>;

impl Model {
    /// A server with a database in which others have a table.
    pub fn new(settings: Settings) -> Self {
        let mut state = State { schemas: vec!["dbo".into()], ..State::default() };
        state.tables.insert("[dbo].[customers]".into(), Table::new("(id int NOT NULL)"));
        Self { settings, connected: OnceLock::new(), state: Mutex::new(state), changed: Condvar::new() }
    }

    /// What there is now.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something is so.
    pub fn wait_until(&self, mut is_so: impl FnMut(&State) -> bool) {
        let (_state, waited) =
            self.changed.wait_timeout_while(self.state(), LIMIT, |state| !is_so(state)).unwrap();
        assert!(!waited.timed_out(), "it did not come");
    }

    /// The script.
    pub fn answer(&self, session: &Session, request: &Request) -> Vec<Reply> {
        let (sql, values) = match request {
            Request::Login(login) => return self.log_in(&login.user, &login.password),
            Request::Bulk(bulk) => {
                let mut state = self.state();
                let table = state.sessions.entry(session.connection).or_default().bulk.clone();
                if let Some(message) = self.failure(&format!("rows of {table}")) {
                    return vec![Reply::Error(message)];
                }
                state.tables.get_mut(&table).unwrap().add(bulk);
                return Vec::new();
            }
            Request::Attention | Request::Transaction(_) => return Vec::new(),
            Request::Batch { sql } => (bare(sql), Vec::new()),
            Request::Rpc(rpc) => (bare(rpc.statement().unwrap_or(&rpc.procedure)), rpc.values(2)),
        };
        let replies = self.statement(session.connection, &sql, values);
        self.changed.notify_all();
        replies
    }

    fn log_in(&self, user: &str, password: &str) -> Vec<Reply> {
        let wrong = || Message::new(18456, &format!("Login failed for user '{user}'.")).class(14);
        let refused = match user == USER && password == PASSWORD {
            true => self.settings.refused.clone(),
            false => Some(wrong()),
        };
        refused.into_iter().map(Reply::Error).collect()
    }

    fn failure(&self, sql: &str) -> Option<Message> {
        let fails = self.settings.fails.iter();
        fails.into_iter().find(|(begins, _)| sql.starts_with(begins)).map(|(_, message)| message.clone())
    }

    fn statement(&self, connection: u64, sql: &str, values: Vec<Value>) -> Vec<Reply> {
        let mut state = self.state();
        let is_loop = sql.starts_with("EXEC ");
        let is_step = is_loop || sql.contains("@P2");
        let message = if is_step && !state.is_warm { None } else { self.failure(sql) };
        if let Some(message) = message {
            loops::begun(&self.settings, &mut state, sql, &values);
            return vec![Reply::Error(message)];
        }
        let session = state.sessions.entry(connection).or_default();
        if session.shows_plans && sql != "SET SHOWPLAN_XML OFF" {
            return queries::plan(self.settings.plans, sql);
        }
        let is_timed = session.is_timed;
        if is_loop {
            loops::note(&mut state, connection, sql, &values);
            self.changed.notify_all();
            state = self.until_looked_at(state);
        }
        if places(affinity::TURN, sql).is_some() {
            state = self.until_turn(state);
        } else if places(affinity::SET, sql).is_some() {
            state.changes += 1;
            drop(state);
            self.changed.notify_all();
            std::thread::sleep(self.settings.change);
            state = self.state();
        }
        let found = lists().find_map(|(template, handler)| Some((places(template, sql)?, *handler)));
        let Some((places, handler)) = found else {
            state.unknown.push(sql.to_owned());
            let text = format!("Incorrect syntax near '{}'.", &sql[..sql.len().min(40)]);
            return vec![Reply::Error(Message::new(102, &text))];
        };
        let replies =
            handler(&mut Call { settings: &self.settings, state: &mut state, connection, places, values });
        if is_timed && self.settings.times { queries::timed(sql, replies) } else { replies }
    }

    /// A session has its turn until it gives it up, or has ended: what it sent before is done first.
    fn until_turn<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let is_open = |connection| self.connected.get().is_some_and(|all| all.is_open(connection));
        while state.turn.is_some_and(is_open) {
            state = self.changed.wait_timeout(state, Duration::from_millis(1)).unwrap().0;
        }
        state
    }

    /// A loop lasts until one more look has begun than is wanted: those before it were taken into account.
    fn until_looked_at<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let wanted = match self.settings.looks {
            _ if !state.is_warm => return state,
            0 => return state,
            looks => state.looks + looks + 1,
        };
        while state.looks < wanted {
            let (guard, waited) = self.changed.wait_timeout(state, LIMIT).unwrap();
            state = guard;
            if waited.timed_out() {
                state.unknown.push("no look at what sessions wait for".into());
                break;
            }
        }
        state
    }
}

fn lists() -> impl Iterator<Item = &'static (&'static str, Handler)> {
    [
        affinity::STATEMENTS,
        views::STATEMENTS,
        catalog::STATEMENTS,
        loops::STATEMENTS,
        queries::STATEMENTS,
        transactions::STATEMENTS,
    ]
    .into_iter()
    .flatten()
}

/// Microseconds since 2020 in UTC.
pub fn now_us() -> i64 {
    const FROM_1970: Duration = Duration::from_secs(1_577_836_800);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + FROM_1970).unwrap();
    i64::try_from(since.as_micros()).unwrap()
}

/// The type of short texts.
pub const NAME: Type = Type::NVarChar(Length::Limit(300));

/// A result without names of columns.
pub fn rows<const N: usize>(kinds: [Type; N], rows: Vec<[Value; N]>) -> Vec<Reply> {
    let columns = kinds.into_iter().map(|kind| Column::new("", kind)).collect();
    vec![Reply::Rows { columns, rows: rows.into_iter().map(|row| row.to_vec()).collect() }]
}

/// A result of whole numbers.
pub fn numbers<const N: usize>(values: [i64; N]) -> Vec<Reply> {
    rows([Type::BigInt; N], vec![values.map(Value::Int)])
}

/// A result of one text.
pub fn word(text: &str) -> Vec<Reply> {
    rows([NAME], vec![[Value::text(text)]])
}
