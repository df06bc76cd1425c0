//! The driver: what Oracle does in its own way.
//!
//! A row of `logical-io` takes more than 1% of a block and PCTFREE 99 keeps it the only one (SQL Language Reference 19c,
//! "physical_attributes_clause"; the method of K. Closson's SLOB). That is proved after loading by counting blocks (PL/SQL
//! Packages and Types Reference 19c, "DBMS_ROWID").

use threadwise_engine::EngineError;
use threadwise_engine::servers::Thread;
use threadwise_engine::workloads::logical_io::{range_sum, row_sum, shuffled_keys};
use threadwise_engine::workloads::options::{Loop, refuse};
use threadwise_engine::workloads::transaction::STATEMENT_LIMIT_SECONDS;
use threadwise_engine_sql::{
    Blocks, Connection, Dialect, Driver, Keys, Names, Opened, Parameter, Rows, Spec, SqlWorkload, Template,
    fill, insert_template, numbers,
};

use crate::connection::{OracleConnection, Purpose, Server};
use crate::dialect::DIALECT;
use crate::error::failed;
use crate::meter::text;
use crate::observe::{Instances, OracleObserver, find_meter};
use crate::place::{Identity, locate};
use crate::proxy::Sent;

/// Far from 0, so that the numbers keep their length after any number of updates.
const VALUE_BASE: i64 = 1 << 40;

/// Rows of one call of the load, and of one transaction.
const BATCH: usize = 1000;

/// Most blocks that the second reading of all data may fetch from files, per 1000.
const UNCACHED_PER_MILLE: u64 = 1;

/// A server, and what its connections have in common.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    server: Server,
    instances: Instances,
}

impl Database {
    /// For one treatment, or for the study.
    pub(crate) fn new(server: Server) -> Self {
        Self { server, instances: Instances::default() }
    }

    /// A session with threadwise's settings.
    ///
    /// # Errors
    /// The server is gone or refuses the login.
    pub(crate) fn open_session(&self, session: u32) -> Result<Opened<OracleConnection>, EngineError> {
        let mut connection = self.server.connect(Purpose::own(&format!("session-{session}")))?;
        connection.run("set up a connection", include_str!("sql/session_settings.sql"))?;
        // Where it is refused, the control connection has the note.
        let _ = connection.attempt(include_str!("sql/no_result_cache.sql"), &[]);
        self.opened(connection)
    }

    fn opened(&self, mut connection: OracleConnection) -> Result<Opened<OracleConnection>, EngineError> {
        let identity = self.identity(&mut connection)?;
        let backend = locate(&mut connection, &identity)?;
        connection.meter = find_meter(&mut connection)?.0;
        // The proxy cancels its statement itself when this process ends.
        Ok(Opened { connection, id: identity.sid, is_near: backend.is_ok(), backend, at_end: None })
    }

    /// What reads counters and waits; `client` for sessions that wait for their client.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn observer(
        &self,
        control: &mut OracleConnection,
        client: bool,
    ) -> Result<(OracleObserver, Vec<String>), EngineError> {
        OracleObserver::start(control, client, self.instances.clone())
    }

    fn identity(&self, connection: &mut OracleConnection) -> Result<Identity, EngineError> {
        let identity = Identity::ask(connection)?;
        self.instances.add(&identity.instance);
        Ok(identity)
    }
}

/// A statement of a table of `logical-io`.
fn blocks_sql(sql: &str, blocks: &Blocks<'_>) -> String {
    Template::default().with("table", blocks.table()).with("last", blocks.spec.work_unit - 1).fill(sql)
}

/// Reads every row by the index, and checks the content.
fn read_all(connection: &mut OracleConnection, blocks: &Blocks<'_>) -> Result<(), EngineError> {
    let (table, rows) = (blocks.table(), blocks.spec.blocks);
    let sql = blocks_sql(include_str!("sql/blocks_warm.sql"), blocks);
    let found = numbers(connection, &format!("read the whole table {table}"), &sql)?;
    let expected = [i64::try_from(rows).ok(), Some(range_sum(0, rows))];
    match found == expected {
        true => Ok(()),
        false => {
            let [shown, wanted] = [found, expected].map(|pair| {
                let [rows, sum] = pair.map(|number| number.map_or("none".to_owned(), |one| one.to_string()));
                format!("{rows} rows with sum {sum}")
            });
            Err(EngineError::WrongAnswer(format!("{table} holds {shown} instead of {wanted}")))
        }
    }
}

impl Driver for Database {
    type Connection = OracleConnection;
    type Observer = OracleObserver;

    fn dialect(&self) -> &'static Dialect {
        &DIALECT
    }

    fn schema(&self) -> &str {
        &self.server.target.prefix
    }

    fn user(&self) -> &str {
        &self.server.target.user
    }

    fn place(&self) -> String {
        format!(" in the schema of '{}'", self.server.target.user)
    }

    fn connect(&self, purpose: &str) -> Result<OracleConnection, EngineError> {
        let mut connection = self.server.connect(Purpose::own(purpose))?;
        for sql in [include_str!("sql/session_settings.sql"), include_str!("sql/ddl_wait.sql")] {
            connection.run("set up a connection", sql)?;
        }
        Ok(connection)
    }

    fn open(&self, workload: &SqlWorkload, session: u32) -> Result<Opened<OracleConnection>, EngineError> {
        let name = format!("session-{session}");
        match &workload.spec {
            // As the user's own clients have it.
            Spec::Transaction(_) => {
                let limit_s = STATEMENT_LIMIT_SECONDS;
                self.opened(self.server.connect(Purpose { name: &name, autocommit: false, limit_s })?)
            }
            Spec::LogicalIo(_) | Spec::Insert(_) => self.open_session(session),
        }
    }

    fn observe(
        &self,
        control: &mut OracleConnection,
        workload: &SqlWorkload,
    ) -> Result<(OracleObserver, Vec<String>), EngineError> {
        self.observer(control, workload.place == Loop::Client)
    }

    fn control_thread(&self, control: &mut OracleConnection) -> Result<Result<Thread, String>, EngineError> {
        let identity = self.identity(control)?;
        locate(control, &identity)
    }

    fn fill_blocks(
        &self,
        control: &mut OracleConnection,
        blocks: &Blocks<'_>,
        seed: u64,
    ) -> Result<(), EngineError> {
        let (sql, action) = (
            blocks_sql(include_str!("sql/blocks_insert.sql"), blocks),
            format!("fill table {}", blocks.table()),
        );
        let row = |key: &u32| {
            let twin = row_sum(u64::from(*key)) - VALUE_BASE;
            [i64::from(*key), VALUE_BASE, twin].map(Sent::Whole).into()
        };
        for keys in shuffled_keys(seed, blocks.spec.blocks).chunks(BATCH) {
            control.insert(&action, &sql, keys.iter().map(row).collect())?;
        }
        Ok(())
    }

    fn prove_blocks(
        &self,
        control: &mut OracleConnection,
        blocks: &Blocks<'_>,
    ) -> Result<String, EngineError> {
        let (table, wanted) = (blocks.table(), blocks.spec.blocks);
        let proof = blocks_sql(include_str!("sql/blocks_proof.sql"), blocks);
        let [rows, used] =
            numbers(control, "count the blocks of a table", &proof)?.map(Option::unwrap_or_default);
        if [rows, used].map(|count| u64::try_from(count).ok()) != [Some(wanted); 2] {
            let why = format!("{rows} rows of {wanted} are on {used} blocks of {table}");
            return Err(failed("put one row on each block", why));
        }
        let size = blocks_sql(include_str!("sql/blocks_size.sql"), blocks);
        let bytes = match numbers(control, "ask for the size of a block", &size)? {
            [Some(bytes)] => format!(" of {bytes} bytes"),
            [None] => String::new(),
        };
        Ok(format!("{wanted} rows, each alone on a block{bytes} (as many distinct blocks by DBMS_ROWID)"))
    }

    /// The last two operations have to be visits to rows by the index; for steps of one key, they are look-ups.
    fn plan(
        &self,
        connection: &mut OracleConnection,
        blocks: &Blocks<'_>,
    ) -> Result<Option<String>, EngineError> {
        connection.run("plan a step", &blocks_sql(include_str!("sql/blocks_explain.sql"), blocks))?;
        let rows = connection.rows("read the plan of a step", include_str!("sql/blocks_plan.sql"), &[])?;
        let part = |at: usize, column: usize| text(&rows[at], column).unwrap_or_default();
        let lines: Vec<String> =
            (0..rows.len()).map(|at| format!("{} {}", part(at, 0), part(at, 1)).trim().to_owned()).collect();
        let index = format!("{}_K", blocks.table().to_uppercase());
        let visits = match rows.len().checked_sub(2) {
            Some(at) => {
                [part(at, 0), part(at + 1, 0)] == ["TABLE ACCESS", "INDEX"]
                    && part(at + 1, 2) == index
                    && !lines[at..].iter().any(|line| line.contains("FULL"))
            }
            None => false,
        };
        let plan = lines.join(", ");
        match visits && !lines.iter().any(|line| line.starts_with("PX")) {
            true => Ok(Some(plan)),
            false => Err(failed(
                "plan a step",
                format!("the plan is '{plan}' instead of visits to rows by {index}"),
            )),
        }
    }

    /// Reading everything again shows whether it stays in memory.
    fn warm_blocks(&self, connection: &mut OracleConnection, blocks: &Blocks<'_>) -> Result<(), EngineError> {
        read_all(connection, blocks)?;
        let most = (blocks.spec.blocks * UNCACHED_PER_MILLE / 1000).max(1);
        let mut read = 0;
        for _ in 0..2 {
            let before = connection.usage(None)?.reads;
            read_all(connection, blocks)?;
            let Some(([_, before], [_, after])) = before.zip(connection.usage(None)?.reads) else {
                return Ok(());
            };
            read = after.saturating_sub(before);
            if read <= most {
                return Ok(());
            }
        }
        let why = format!(
            "not cached: reading it again read {read} blocks from files; make the instance's buffer cache larger \
             (db_cache_size), or the data smaller (--set data_mib=N)"
        );
        Err(failed("keep the data in memory", why))
    }

    fn make_rows(
        &self,
        control: &mut OracleConnection,
        rows: &Rows<'_>,
        keys: &mut Keys<'_>,
    ) -> Result<(), EngineError> {
        let table = rows.table();
        control.run("create a table", &insert_template(rows).fill(DIALECT.rows))?;
        let (sql, action) = (insert_template(rows).fill(include_str!("sql/rows_seed.sql")), "seed rows");
        loop {
            let batch: Vec<_> = keys.take(BATCH).map(|key| vec![Sent::Whole(key)]).collect();
            if batch.is_empty() {
                break;
            }
            control.insert(action, &sql, batch)?;
        }
        control.run("analyze a table", &fill(DIALECT.blocks_settle, &[("table", &table)]))
    }

    fn standing(
        &self,
        _: &mut OracleConnection,
        workload: &SqlWorkload,
        _: &Names<'_>,
        _: u32,
    ) -> Result<Vec<String>, EngineError> {
        let several = "sessions are on several instances of a cluster: give the service of one";
        let mut notes: Vec<String> =
            self.instances.are_several().then(|| several.to_owned()).into_iter().collect();
        if matches!(workload.spec, Spec::Transaction(_)) {
            notes.push(
                "counters of waits are the whole server's, with what its other clients did meanwhile".into(),
            );
        }
        Ok(notes)
    }

    /// Pauses of a loop inside the server: DBMS_SESSION.SLEEP, which every account has from 18c on, otherwise
    /// DBMS_LOCK.SLEEP, which needs a GRANT to the account itself.
    fn check(&self, control: &mut OracleConnection, workload: &SqlWorkload) -> Result<(), EngineError> {
        let pauses = matches!(&workload.spec, Spec::LogicalIo(spec) if spec.think_time_us > 0);
        if !pauses || workload.place == Loop::Client || may_sleep(control)? {
            return Ok(());
        }
        let why =
            "before 18c a pause needs GRANT EXECUTE ON SYS.DBMS_LOCK TO the account; or use loop=client";
        Err(refuse("think_time_us", why.into()))
    }
}

/// Whether a procedure can pause.
pub(crate) fn may_sleep(connection: &mut OracleConnection) -> Result<bool, EngineError> {
    if has_own_sleep(&connection.version) {
        return Ok(true);
    }
    let name = [Parameter::Text("DBMS_LOCK")];
    let rows = connection.rows("look for DBMS_LOCK", include_str!("sql/point_package.sql"), &name)?;
    Ok(rows.first().and_then(|row| row.first()?.whole()).is_some_and(|count| count > 0))
}

/// Whether every account can pause in this version.
pub(crate) fn has_own_sleep(version: &str) -> bool {
    version.split('.').next().and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major >= 18)
}
