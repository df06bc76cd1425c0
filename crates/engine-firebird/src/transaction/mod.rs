//! `transaction` on Firebird: the user's statements on a copy of the user's database file, by sessions of `isql`.
//!
//! A process with another lock table than the user's server would destroy a file that both have open, so the file is
//! copied while no process has it open, and each treatment has a copy of that copy. Nothing is written to the file
//! itself.
//!
//! Tests showed what a read-only transaction of Firebird 3.0 refuses: writing to tables, also by functions, by EXECUTE
//! STATEMENT and in autonomous transactions, and WITH LOCK. It does not refuse GEN_ID and NEXT VALUE FOR, which change
//! the copy. The engine in the sessions may open no database but the copy, here or elsewhere ([`Home::make`]), so that
//! a user's procedure cannot reach other data.

mod copy;
mod script;
mod session;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use threadwise_engine::servers;
use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::transaction::{
    ANSWERS, Draws, Quoting, SharedLists, Transaction, needs_users_data,
};
use threadwise_engine::{EngineError, LoadRequest, Loaded, Running, Session, SessionRequest, StartRequest};
use threadwise_engine_sql::{Sessions, Started, Threads, some_sessions};
use threadwise_process::space::server_memory_bytes;
use threadwise_reload::firebird::header::Header;
use threadwise_study::Workload;

use crate::driver::EACH_A_PROGRAM;
use crate::error::ENGINE;
use crate::home::{self, DATABASE, Home};
use crate::isql::Isql;
use crate::options::{self, CACHE_PAGES, DATABASE_OPTION, Own};
use crate::place::PlacedHome;
use crate::programs::Programs;
use script::Texts;
use session::TransactionSession;

/// Functions whose effect outlives a ROLLBACK.
const OUTLIVE_ROLLBACK: &str = include_str!("../outlive_rollback.txt");

/// How to name the database.
const HOW: &str = "name your database file with --engine-option database=/path/to/file.fdb; it is copied, and the copy \
                   is measured";

/// Cache pages for trying statements, the default of Firebird 3.0 and later.
const TRIAL_CACHE_PAGES: u64 = 2048;

/// The workload with its options, checked.
struct Spec {
    transaction: Transaction,
    texts: Texts,
    engine_options: Own,
    /// The user's file.
    database: PathBuf,
}

impl Spec {
    fn of(load: &LoadRequest) -> Result<Self, EngineError> {
        some_sessions(load)?;
        let transaction = Transaction::parse(&load.options, Quoting::default(), OUTLIVE_ROLLBACK)?;
        let engine_options = options::parse(&load.engine_options)?;
        let Some(database) = engine_options.database.clone() else { return needs_users_data(HOW) };
        transaction.expect_database(&database.to_string_lossy())?;
        Ok(Self { texts: Texts::new(&transaction)?, transaction, engine_options, database })
    }

    /// The first copy of the file, which all treatments share.
    fn template(&self, data_dir: &Path) -> servers::Home {
        servers::Home::new(
            ENGINE,
            data_dir,
            "template",
            &format!("{} {}", Workload::Transaction, self.database.display()),
        )
    }

    /// Pages of each session's cache: the requested number, or those of the file and some for writes, up to a
    /// quarter of the memory.
    fn cache_pages(&self, header: Header, file_bytes: u64, sessions: u32) -> u64 {
        let page_bytes = u64::from(header.page_size_bytes);
        let wanted = file_bytes.div_ceil(page_bytes) * 21 / 20 + 1024;
        let affordable = server_memory_bytes(Path::new("/")) / 4 / u64::from(sessions.max(1)) / page_bytes;
        self.engine_options
            .cache_pages
            .unwrap_or_else(|| wanted.min(affordable).clamp(CACHE_PAGES.0, CACHE_PAGES.1))
    }
}

/// Checks options without touching anything.
///
/// # Errors
/// The first option that is impossible.
pub(crate) fn check(load: &LoadRequest) -> Result<(), EngineError> {
    Spec::of(load).map(drop)
}

/// Copies the file, and executes each statement once and rolls it back, so that a faulty one is reported before
/// anything is measured.
///
/// # Errors
/// The file is in use, or cannot be measured; an error of Firebird, with the line of the statement.
pub(crate) fn load(load: &LoadRequest) -> Result<Loaded, EngineError> {
    let spec = Spec::of(load)?;
    let template = spec.template(&load.data_dir);
    home::check_path(template.folder())?;
    let programs = Programs::find(spec.engine_options.bin.as_deref())?;
    if template.loaded().is_none() {
        template.make_template(|part| {
            // The template is opened by its own path.
            Home(part.clone()).make(&programs, TRIAL_CACHE_PAGES, Some(&template.data()))?;
            part.make_private(&part.data(), None)?;
            copy::copy(&spec.database, &part.data().join(DATABASE))?;
            Ok(Loaded::default())
        })?;
    }
    let home = Home(template);
    if copy::header(&home)?.cache_pages > 0 {
        home.forget_cache_pages(&programs)?;
    }
    let lists = spec.texts.read_lists(&mut spec.texts.start(&home, &programs)?)?;
    let mut draws = Draws::new(&spec.transaction, &lists, load.seed, 0);
    for script in 0..spec.transaction.scripts.len() {
        let drawn = draws.draw_script(script)?;
        spec.texts.try_out(spec.texts.start(&home, &programs)?, &drawn)?;
    }
    // Each treatment reports which file was written to.
    Ok(Loaded { notes: vec![ANSWERS.to_owned()], ..Loaded::default() })
}

/// Starts the workload for one treatment.
///
/// # Errors
/// Nothing was loaded; or an error of the file system.
pub(crate) fn start(request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
    let spec = Spec::of(&request.load)?;
    let template = spec.template(&request.load.data_dir);
    template.expect_loaded()?;
    let programs = Programs::find(spec.engine_options.bin.as_deref())?;
    let template_home = Home(template.clone());
    let (header, file_bytes) = (copy::header(&template_home)?, copy::bytes(&template_home)?);
    let cache_pages = spec.cache_pages(header, file_bytes, request.load.sessions);
    let home = home::copy_of(&request.load);
    let make = |_: &_| home.make(&programs, cache_pages, Some(&home.0.data()));
    home.0.copy_of(&template, !spec.transaction.is_read_only(), None, make)?;
    let pages = file_bytes.div_ceil(u64::from(header.page_size_bytes));
    let notes = notes(spec.transaction.is_read_only(), (cache_pages, pages));
    let Spec { transaction, texts, .. } = spec;
    let host = PlacedHome {
        home: home.clone(),
        sessions: request.sessions.clone(),
        service: request.service.clone(),
        discard: !transaction.is_read_only(),
    };
    let open = Mutex::default();
    let sessions = Transactions {
        home,
        programs,
        transaction,
        texts,
        lists: SharedLists::default(),
        notes,
        open,
        failed: Arc::default(),
    };
    Ok(Box::new(Started { sessions, host }))
}

/// Notes for the report.
fn notes(is_read_only: bool, (cache_pages, pages): (u64, u64)) -> Vec<String> {
    let copied = match is_read_only {
        true => "a copy of the database file was measured, not the file itself",
        false => "a copy of the database file was measured and written to, not the file itself",
    };
    let mut notes = vec![
        copied.to_owned(),
        EACH_A_PROGRAM.to_owned(),
        "latencies include isql and its pipes, and isql prepares each statement again: a client of your own server \
         takes other times"
            .to_owned(),
        "logical_reads are page fetches of the statements and of the commit, as MON$IO_STATS has them".to_owned(),
    ];
    if cache_pages < pages {
        notes.push(format!(
            "each session's cache has {cache_pages} pages and the file {pages}: others are read from the file"
        ));
    }
    notes
}

/// A treatment of transactions.
#[derive(Debug)]
struct Transactions {
    home: Home,
    programs: Programs,
    transaction: Transaction,
    texts: Texts,
    /// Values that parameters are drawn from, once a session has read them.
    lists: SharedLists,
    notes: Vec<String>,
    /// Number and program of each open session, in the order of their numbers.
    open: Mutex<Vec<(u32, u32)>>,
    failed: Arc<AtomicBool>,
}

impl Transactions {
    fn opened(&self) -> MutexGuard<'_, Vec<(u32, u32)>> {
        // A panic elsewhere has failed the run already.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sessions for Transactions {
    type Control = ();

    fn with_control<T>(&self, ask: impl FnOnce(&mut ()) -> T) -> T {
        ask(&mut ())
    }

    fn threads(&self) -> Result<Threads, String> {
        let sessions = self.opened().iter().map(|(number, pid)| (*number, (*pid, *pid))).collect();
        Ok(Threads { sessions, control: None })
    }

    fn open(&self, request: &SessionRequest) -> Result<Box<dyn Session>, EngineError> {
        let mut isql: Isql = self.texts.start(&self.home, &self.programs)?;
        let lists = self.lists.get_or_read(|| self.texts.read_lists(&mut isql))?;
        {
            let mut open = self.opened();
            open.push((request.session, isql.pid()));
            open.sort_unstable();
        }
        let draws = Draws::new(&self.transaction, &lists, request.seed, request.session);
        Ok(Box::new(TransactionSession::new(isql, self.texts.clone(), draws, Arc::clone(&self.failed))))
    }

    fn notes(&self) -> Result<Vec<String>, EngineError> {
        Ok(self.notes.clone())
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}

/// Refuses the option that only this workload has.
///
/// # Errors
/// The option is given.
pub(crate) fn no_database(engine_options: &Own) -> Result<(), EngineError> {
    match &engine_options.database {
        Some(_) => Err(refuse(
            DATABASE_OPTION,
            format!("only the workload {} has it: leave it out", Workload::Transaction),
        )),
        None => Ok(()),
    }
}
