//! A private PostgreSQL for lists of databases, by `threadwise_engine_postgres::cluster`.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;
use threadwise_engine::EngineError;
use threadwise_engine::servers::{Ending, Home};
use threadwise_engine_postgres::cluster::{self, Cluster};
use threadwise_engine_postgres::options::Managed;

use super::databases::{RESTORED, database, items};
use super::parameters::{CONNECTIONS, ServerParameters, program, socket_folder};
use crate::error::failed;
use crate::plan::Item;
use crate::programs::{Programs, Way, ask};

/// Superuser of the cluster, named when it is made.
const USER: &str = "threadwise";
/// Bytes of a row with its places in two indices, about.
const ROW_BYTES: u64 = 190;
/// Turns off syncs while databases are dropped, each with a checkpoint that would write data of the others
/// (PostgreSQL documentation, "DROP DATABASE" and "fsync").
const UNSYNCED: &str = "ALTER SYSTEM SET fsync = off;\nSELECT pg_reload_conf();\n";
/// Turns them on again for the runs.
const SYNCED: &str = "ALTER SYSTEM RESET fsync;\nSELECT pg_reload_conf();\n";

/// See the module.
#[derive(Debug)]
pub(crate) struct Postgres {
    cluster: Cluster,
    major: u32,
    programs: Programs,
    /// Kept open if programs reach the socket through it.
    _folder: Option<File>,
    /// How its programs reach it.
    pub way: Way,
}

fn home(parameters: &ServerParameters<'_>) -> Home {
    cluster::home(parameters.home, "list", "")
}

/// Makes an empty cluster.
pub(super) fn make(parameters: &ServerParameters<'_>) -> Result<(), EngineError> {
    let programs = cluster::Programs::find(parameters.bin.as_deref())?;
    let home = home(parameters);
    cluster::prepare(&home, &programs, &Managed::default(), parameters.total_bytes, CONNECTIONS)
}

impl Postgres {
    /// Starts the server, which replays its log if the last one was killed.
    pub(super) fn start(parameters: &ServerParameters<'_>) -> Result<Self, EngineError> {
        let programs = cluster::Programs::find(parameters.bin.as_deref())?;
        let home = home(parameters);
        home.clear()?;
        let cluster = Cluster::start(&programs, &home)?;
        let (host, folder) = socket_folder(&home.data(), ".s.PGSQL.5432")?;
        let set =
            [("PGHOST", host.display().to_string()), ("PGPORT", "5432".into()), ("PGUSER", USER.into())];
        let environment: BTreeMap<String, String> =
            set.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let way = Way { environment, without: &["PG"] };
        let major = programs.major;
        let server = Self { cluster, major, programs: parameters.programs.clone(), _folder: folder, way };
        // In case the last one was killed while it dropped databases.
        server.sql("postgres", SYNCED).map_err(|why| failed("set it up", why))?;
        Ok(server)
    }

    pub(super) fn data(&self) -> PathBuf {
        self.cluster.home().data()
    }

    pub(super) fn process(&self) -> u32 {
        self.cluster.pid()
    }

    /// Runs SQL in a database: rows as lines, columns separated by `|`.
    fn sql(&self, database: &str, sql: &str) -> Result<String, String> {
        let database = format!("--dbname={database}");
        let args =
            ["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", &database];
        ask(program(&self.programs, "psql")?, &args, &self.way, sql).map(|said| said.trim().to_owned())
    }

    /// Makes databases with a table and two indices of about these sizes, and gives their real ones.
    pub(super) fn fill(&self, sizes: &[u64], seed: u64) -> Result<Vec<Item>, String> {
        let one = |(index, &size): (usize, &u64)| {
            let name = database(index, sizes.len());
            self.sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"))?;
            let said = self.sql(&name, &filled(size / ROW_BYTES + 1, index, seed))?;
            said.lines()
                .last()
                .and_then(|line| line.parse::<u64>().ok())
                .ok_or_else(|| format!("no size in: {said}"))
        };
        let made: Result<Vec<u64>, String> = sizes.iter().enumerate().map(one).collect();
        made.map(items)
    }

    pub(super) fn drop_restored(&self) -> Result<(), String> {
        let named = format!("SELECT datname FROM pg_database WHERE starts_with(datname, '{RESTORED}')");
        let names = self.sql("postgres", &named)?;
        // FORCE came with release 13; an ended client of a recipe disconnects by itself.
        let force = if self.major < 13 { "" } else { " WITH (FORCE)" };
        let drops: String = names.lines().map(|name| format!("DROP DATABASE \"{name}\"{force};\n")).collect();
        if drops.is_empty() {
            return Ok(());
        }
        let dropped = self.sql("postgres", &format!("{UNSYNCED}{drops}"));
        // Also after an error, which is the one to report.
        let synced = self.sql("postgres", SYNCED);
        dropped.and(synced).map(drop)
    }

    pub(super) fn digest(&self, database: &str) -> Result<String, String> {
        self.sql(
            database,
            "SELECT count(*), sum(hashtextextended(items::text, 0)), \
             (SELECT count(*) FROM pg_indexes WHERE schemaname = 'public') FROM items",
        )
    }

    pub(super) fn stop(self) -> Result<(), EngineError> {
        self.cluster.stop(Ending::Keep)
    }
}

/// SQL for the table of one item, the same for the same seed; returns its size.
fn filled(rows: u64, index: usize, seed: u64) -> String {
    format!(
        "CREATE TABLE items (id bigint PRIMARY KEY, day integer NOT NULL, amount numeric(12, 2) NOT NULL, note text);\n\
         INSERT INTO items SELECT i, abs(hashtext('{seed} {index} ' || i)) % 10000, \
         (abs(hashtext(i || ' {seed}')) % 1000000) / 100.0, repeat(md5('{seed} {index} ' || i), 1 + (i % 4)::integer) \
         FROM generate_series(1::bigint, {rows}) AS all_of(i);\n\
         CREATE INDEX items_day ON items (day);\n\
         ANALYZE items;\n\
         SELECT pg_total_relation_size('items');\n"
    )
}
