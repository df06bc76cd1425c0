//! A private MariaDB for lists of databases, by `threadwise_engine_mariadb::PrivateServer`.

use std::fs::File;
use std::path::PathBuf;
use threadwise_engine::EngineError;
use threadwise_engine_mariadb::{PrivateOptions, PrivateServer};

use super::databases::{RESTORED, database, items};
use super::parameters::{CONNECTIONS, ServerParameters, program, socket_folder};
use crate::error::failed;
use crate::plan::Item;
use crate::programs::{Programs, Way, ask};

/// Bytes of a row with its place in an index, about.
const ROW_BYTES: u64 = 160;

/// See the module.
#[derive(Debug)]
pub(crate) struct Mariadb {
    server: PrivateServer,
    programs: Programs,
    /// Kept open if programs reach the socket through it.
    _folder: Option<File>,
    /// The file with the connection options: no other option file is read, so that programs cannot reach a server of
    /// the user. It contains no password.
    pub defaults: PathBuf,
    /// How its programs reach it.
    pub way: Way,
}

fn options(parameters: &ServerParameters<'_>) -> PrivateOptions {
    PrivateOptions {
        folder: parameters.home.to_owned(),
        bin: parameters.bin.clone(),
        data_bytes: parameters.total_bytes,
        sessions: CONNECTIONS,
    }
}

/// Makes an empty data directory.
pub(super) fn make(parameters: &ServerParameters<'_>) -> Result<(), EngineError> {
    PrivateServer::make(&options(parameters))
}

impl Mariadb {
    /// Starts the server, which recovers if the last one was killed.
    pub(super) fn start(parameters: &ServerParameters<'_>) -> Result<Self, EngineError> {
        let server = PrivateServer::start(&options(parameters))?;
        let socket = server.socket();
        let name = socket.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (short, folder) = socket_folder(&server.data(), &name)?;
        let defaults = parameters.home.join("client.cnf");
        let text = format!("[client]\nsocket=\"{}\"\nuser=root\n", short.join(name).display());
        std::fs::write(&defaults, text)
            .map_err(|error| failed(format!("write {}", defaults.display()), error))?;
        let way = Way { without: &["MYSQL", "MARIADB"], ..Way::default() };
        Ok(Self { server, programs: parameters.programs.clone(), _folder: folder, defaults, way })
    }

    pub(super) fn data(&self) -> PathBuf {
        self.server.data()
    }

    pub(super) fn process(&self) -> u32 {
        self.server.process()
    }

    /// Runs SQL in a database: rows as lines, columns separated by tabs.
    fn sql(&self, database: &str, sql: &str) -> Result<String, String> {
        let defaults = format!("--defaults-file={}", self.defaults.display());
        let args = [&defaults, "--batch", "--skip-column-names", database];
        ask(program(&self.programs, "mariadb")?, &args, &self.way, sql).map(|said| said.trim().to_owned())
    }

    /// Makes databases with a table and an index of about these sizes, and gives their real ones.
    pub(super) fn fill(&self, sizes: &[u64], seed: u64) -> Result<Vec<Item>, String> {
        let one = |(index, &size): (usize, &u64)| {
            let name = database(index, sizes.len());
            let said = self.sql("mysql", &filled(&name, size / ROW_BYTES + 1, index, seed))?;
            said.lines()
                .last()
                .and_then(|line| line.parse::<u64>().ok())
                .ok_or_else(|| format!("no size in: {said}"))
        };
        let made: Result<Vec<u64>, String> = sizes.iter().enumerate().map(one).collect();
        made.map(items)
    }

    pub(super) fn drop_restored(&self) -> Result<(), String> {
        let names = self.sql("mysql", "SHOW DATABASES")?;
        let restored = names.lines().filter(|name| name.starts_with(RESTORED));
        let drops: String = restored.map(|name| format!("DROP DATABASE `{name}`;\n")).collect();
        if drops.is_empty() { Ok(()) } else { self.sql("mysql", &drops).map(drop) }
    }

    pub(super) fn digest(&self, database: &str) -> Result<String, String> {
        let said = self.sql(
            database,
            "SELECT COUNT(*) FROM items; SELECT COUNT(*) FROM information_schema.statistics \
             WHERE table_schema = DATABASE(); CHECKSUM TABLE items EXTENDED",
        )?;
        // The checksum's line names the database, which differs.
        let figures = said.lines().filter_map(|line| line.rsplit('\t').next());
        Ok(figures.collect::<Vec<_>>().join("|"))
    }

    pub(super) fn stop(self) -> Result<(), EngineError> {
        self.server.stop()
    }
}

/// SQL for the database of one item, the same for the same seed; returns its size.
fn filled(name: &str, rows: u64, index: usize, seed: u64) -> String {
    format!(
        "CREATE DATABASE {name}; USE {name};\n\
         CREATE TABLE items (id BIGINT PRIMARY KEY, day INT NOT NULL, amount DECIMAL(12, 2) NOT NULL, note TEXT, \
         KEY items_day (day)) ENGINE=InnoDB;\n\
         INSERT INTO items SELECT seq, CRC32(CONCAT('{seed} {index} ', seq)) % 10000, \
         (CRC32(CONCAT(seq, ' {seed}')) % 1000000) / 100.0, \
         REPEAT(MD5(CONCAT('{seed} {index} ', seq)), 1 + seq % 4) FROM seq_1_to_{rows};\n\
         ANALYZE TABLE items;\n\
         SELECT data_length + index_length FROM information_schema.tables \
         WHERE table_schema = '{name}' AND table_name = 'items';\n"
    )
}
