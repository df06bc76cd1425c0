//! Looks: a snapshot of the server's counters with the moment and the states, by a connection that is opened again when
//! it is lost.

use super::args::ObserveArgs;
use super::host::LocalHost;
use crate::engines;
use crate::error::AppError;
use rustix::time::{ClockId, clock_gettime};
use std::path::{Path, PathBuf};
use threadwise_engine::statements::SourceFacts;
use threadwise_engine::{Engine, EngineError, StatementSource};
use threadwise_machine::given;
use threadwise_observed::{Look, StatementText, States};
use threadwise_study::engine::URL;
use threadwise_study::{OptionValue, Options};

/// Longest file of a state.
const MOST_STATE_BYTES: u64 = 4096;

/// Where the user's word for the state comes from.
pub enum StateWord {
    /// The same for all looks.
    Given(Option<String>),
    /// A file that is read at every look.
    File(PathBuf),
}

impl StateWord {
    /// The word now.
    ///
    /// # Errors
    /// The file cannot be read, or its first line is no word for a state.
    pub fn now(&self) -> Result<Option<String>, String> {
        match self {
            Self::Given(word) => Ok(word.clone()),
            Self::File(path) => read(path).map(Some),
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    let wrong = |why: &dyn std::fmt::Display| format!("--state-file {}: {why}", path.display());
    let bytes = given::bytes(path, MOST_STATE_BYTES).map_err(|error| wrong(&error))?;
    let text = String::from_utf8_lossy(&bytes);
    let first = text.lines().next().unwrap_or_default();
    crate::input::state(first).map_err(|error| wrong(&error))
}

/// The connection and what opens it again.
pub struct Looker {
    engine: &'static dyn Engine,
    options: Options,
    source: Option<Box<dyn StatementSource>>,
    facts: SourceFacts,
    state: StateWord,
    unanswered: u32,
}

impl Looker {
    /// Connects.
    ///
    /// # Errors
    /// The arguments name no server whose engine has such statistics, it does not answer, or has none for this login.
    pub fn open(args: &ObserveArgs) -> Result<Self, AppError> {
        let (engine, options) = chosen(args)?;
        let state = match &args.state_file {
            Some(file) => StateWord::File(file.clone()),
            None => StateWord::Given(args.state.clone()),
        };
        state.now().map_err(AppError::Input)?;
        let opened = engine.statements(&options).map_err(|error| AppError::engine(&error))?;
        let source = opened.ok_or_else(|| no_statistics(engine.name()))?;
        let facts = source.facts().clone();
        Ok(Self { engine, options, source: Some(source), facts, state, unanswered: 0 })
    }

    /// Name of the engine.
    pub fn engine(&self) -> &'static str {
        self.engine.name()
    }

    /// What is known of the server.
    pub fn facts(&self) -> &SourceFacts {
        &self.facts
    }

    /// A look now, and why the state is not known, if so.
    ///
    /// # Errors
    /// The server does not answer: the next look tries again.
    pub fn look(&mut self, host: Option<&LocalHost>) -> Result<(Look, Option<String>), EngineError> {
        let snapshot = self.source().and_then(|source| source.snapshot());
        let snapshot = match snapshot {
            Ok(snapshot) => snapshot,
            Err(error) => {
                self.lose();
                return Err(error);
            }
        };
        let (state, unknown) = match self.state.now() {
            Ok(state) => (state, None),
            Err(why) => (None, Some(why)),
        };
        let states = States {
            state,
            version: Some(self.facts.version.clone()),
            ..host.map(LocalHost::states).unwrap_or_default()
        };
        let [unix_ns, monotonic_ns, boottime_ns] = moment();
        let look = Look {
            unix_ms: i64::try_from(unix_ns / 1_000_000).unwrap_or(i64::MAX),
            monotonic_ns,
            boottime_ns,
            unanswered: std::mem::take(&mut self.unanswered),
            states,
            snapshot,
        };
        Ok((look, unknown))
    }

    /// What statements are.
    ///
    /// # Errors
    /// As [`Looker::look`].
    pub fn texts(&mut self, keys: &[String], wants_text: bool) -> Result<Vec<StatementText>, EngineError> {
        let found = self.source().and_then(|source| source.texts(keys, wants_text));
        if found.is_err() {
            self.source = None;
        }
        found
    }

    fn lose(&mut self) {
        self.source = None;
        self.unanswered = self.unanswered.saturating_add(1);
    }

    fn source(&mut self) -> Result<&mut Box<dyn StatementSource>, EngineError> {
        if self.source.is_none() {
            let opened = self.engine.statements(&self.options)?;
            self.facts = opened.as_ref().map_or_else(|| self.facts.clone(), |source| source.facts().clone());
            self.source = opened;
        }
        self.source.as_mut().ok_or_else(|| {
            EngineError::Missing(format!("engine {} no longer has statistics", self.engine.name()))
        })
    }
}

fn chosen(args: &ObserveArgs) -> Result<(&'static dyn Engine, Options), AppError> {
    let (name, mut options) = engines::named(&args.engine)?;
    let value = |text: &str| OptionValue::Text(text.to_owned());
    options.extend(args.engine_option.iter().map(|(name, text)| (name.clone(), value(text))));
    let engine = engines::find(&name).filter(|_| options.contains_key(URL));
    let engine = engine.ok_or_else(|| {
        AppError::Input(format!(
            "observe needs the address of your server, and '{name}' is not one: --engine postgres://USER@HOST/DATABASE"
        ))
    })?;
    Ok((engine, options))
}

fn no_statistics(engine: &str) -> AppError {
    AppError::Refused(format!(
        "engine {engine} has no statistics of statements that observe reads: it reads those of PostgreSQL \
         (pg_stat_statements), MariaDB and MySQL (performance_schema) and SQL Server (sys.dm_exec_query_stats)"
    ))
}

/// Nanoseconds of the clocks REALTIME, MONOTONIC and BOOTTIME at one moment. They are read again if another process had
/// the CPU in between: that would look as if a clock had been set.
fn moment() -> [u64; 3] {
    const CLOSE_NS: u64 = 10_000_000;
    const MOST_READS: u32 = 100;
    let mut reads = 0;
    loop {
        let before_ns = nanoseconds(ClockId::Boottime);
        let [unix_ns, monotonic_ns] = [ClockId::Realtime, ClockId::Monotonic].map(nanoseconds);
        let boottime_ns = nanoseconds(ClockId::Boottime);
        reads += 1;
        if boottime_ns.saturating_sub(before_ns) < CLOSE_NS || reads == MOST_READS {
            return [unix_ns, monotonic_ns, boottime_ns];
        }
    }
}

fn nanoseconds(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}
