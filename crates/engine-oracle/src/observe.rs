//! What the server counts, and what its sessions wait for.
//!
//! Sources: Oracle Database Reference 19c, "V$SESSION" (EVENT, STATE, WAIT_CLASS; no part of the Diagnostics
//! Pack), "V$SYSTEM_EVENT". Views of the Diagnostics Pack and the Tuning Pack are never read.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use threadwise_engine::EngineError;
use threadwise_engine_sql::{Observer, Template, Value, increments};
use threadwise_study::Counters;

use crate::connection::OracleConnection;
use crate::error::query;
use crate::meter::{Meter, SESSION_TIME, text, whole};

const NO_STATISTICS: &str = "logical_reads and physical_reads are left out: the account lacks SELECT on V_$MYSTAT and \
                             V_$STATNAME (GRANT SELECT ON SYS.V_$… TO the account)";
const NO_TIME: &str = "the server's CPU time is unknown and shown as 0: the account lacks SELECT on V_$SESS_TIME_MODEL \
                       (GRANT SELECT ON SYS.V_$SESS_TIME_MODEL TO the account)";
const NO_WAITS: &str = "what sessions wait for is not sampled: the account lacks SELECT on V_$SESSION (GRANT SELECT ON \
                        SYS.V_$SESSION TO the account)";
const NO_EVENTS: &str = "the server's waits are not counted: the account lacks SELECT on V_$SYSTEM_EVENT (GRANT SELECT ON \
                         SYS.V_$SYSTEM_EVENT TO the account)";

/// How a connection reads its own usage; with notes for what its account may not read.
///
/// # Errors
/// An error of the server.
pub(crate) fn find_meter(
    connection: &mut OracleConnection,
) -> Result<(Meter, Vec<&'static str>), EngineError> {
    let action = "read what its session used";
    let found = connection.maybe(action, include_str!("sql/statistic_numbers.sql"), &[])?;
    let mut meter = Meter::of(&found.unwrap_or_default());
    if meter.counts() && connection.maybe(action, &meter.sql(), &[])?.is_none() {
        meter = Meter::default();
    }
    meter.has_time = connection.maybe(action, SESSION_TIME, &[])?.is_some();
    let lacks = [(!meter.counts(), NO_STATISTICS), (!meter.has_time, NO_TIME)];
    Ok((meter, lacks.into_iter().filter_map(|(lacks, note)| lacks.then_some(note)).collect()))
}

/// Instances of a cluster that a treatment's connections are on: a session's number belongs to one of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Instances(Arc<Mutex<BTreeSet<String>>>);

impl Instances {
    /// Adds one.
    pub(crate) fn add(&self, instance: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(instance.to_owned());
    }

    /// Whether there are several.
    pub(crate) fn are_several(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len() > 1
    }
}

/// What reads counters and waits of a treatment.
#[derive(Debug)]
pub(crate) struct OracleObserver {
    /// Whether a session without a statement waits for its client; with loops inside the server it is not at work.
    client: bool,
    sees_waits: bool,
    sees_events: bool,
    instances: Instances,
    before: Counters,
}

impl OracleObserver {
    /// Finds out what the account may read; with notes for what it may not.
    ///
    /// # Errors
    /// An error of the server.
    pub(crate) fn start(
        control: &mut OracleConnection,
        client: bool,
        instances: Instances,
    ) -> Result<(Self, Vec<String>), EngineError> {
        let mut notes: Vec<String> = find_meter(control)?.1.into_iter().map(str::to_owned).collect();
        if let Err(cause) = control.attempt(include_str!("sql/no_result_cache.sql"), &[]) {
            notes.push(format!("RESULT_CACHE_MODE could not be set: {}", cause.advice()));
        }
        let wanted = control.server.target.waits;
        let sees_waits =
            wanted && control.maybe("sample the waits of sessions", &waits_sql(&[0]), &[])?.is_some();
        let sees_events = events(control)?.is_some();
        notes.extend((wanted && !sees_waits).then(|| NO_WAITS.to_owned()));
        notes.extend((!sees_events).then(|| NO_EVENTS.to_owned()));
        Ok((Self { client, sees_waits, sees_events, instances, before: Counters::new() }, notes))
    }

    fn events(&self, control: &mut OracleConnection) -> Result<Counters, EngineError> {
        if self.sees_events { Ok(events(control)?.unwrap_or_default()) } else { Ok(Counters::new()) }
    }
}

impl Observer<OracleConnection> for OracleObserver {
    fn begin(&mut self, control: &mut OracleConnection) -> Result<(), EngineError> {
        self.before = self.events(control)?;
        Ok(())
    }

    fn end(&mut self, control: &mut OracleConnection) -> Result<Counters, EngineError> {
        Ok(increments(&self.before, &self.events(control)?))
    }

    fn waits(
        &mut self,
        control: &mut OracleConnection,
        sessions: &[i64],
    ) -> Result<Option<Vec<String>>, EngineError> {
        if !self.sees_waits || self.instances.are_several() {
            return Ok(None);
        }
        let rows = control.attempt(&waits_sql(sessions), &[]);
        let rows = rows.map_err(|cause| query("sample the waits of sessions", &cause))?;
        let name = |row: &Vec<Value>| match (text(row, 1)?, text(row, 3)) {
            ("WAITING", Some("Idle")) => self.client.then(|| "client".to_owned()),
            ("WAITING", _) => text(row, 2).map(str::to_owned),
            _ => Some("running".to_owned()),
        };
        Ok(Some(rows.iter().filter_map(name).collect()))
    }
}

fn waits_sql(sessions: &[i64]) -> String {
    let sids = sessions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    Template::default().with("sids", sids).fill(include_str!("sql/waits.sql"))
}

/// Waits of the whole server and their time, by event; `None` if they may not be read.
fn events(control: &mut OracleConnection) -> Result<Option<Counters>, EngineError> {
    let Some(rows) = control.maybe("read the server's waits", include_str!("sql/events.sql"), &[])? else {
        return Ok(None);
    };
    let named = |row: &Vec<Value>| {
        let event = text(row, 0)?.replace(" - ", " ").replace(": ", " ").replace(' ', "_").to_lowercase();
        let counter =
            |at: usize, unit: &str| Some((format!("{event}_{unit}"), u64::try_from(whole(row, at)?).ok()?));
        Some([counter(1, "waits")?, counter(2, "wait_us")?])
    };
    Ok(Some(rows.iter().filter_map(named).flatten().collect()))
}
