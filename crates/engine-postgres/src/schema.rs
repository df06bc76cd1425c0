//! Threadwise's schema in a server that all treatments share. It has a marker, so that objects of others are never
//! used or dropped: a comment and a table with the same random id, and a list of every object that threadwise
//! made.
//!
//! An advisory lock of the keeper's connection tells that a study is using the schema; the server releases it when that
//! connection ends in any way (PostgreSQL documentation, "Advisory Locks").

use postgres::{Client, Transaction};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::hash::{BuildHasher, Hasher, RandomState};
use threadwise_engine::EngineError;

use crate::error::{failed, query};
use crate::workload::Objects;

/// Table with the marker's id and the names of the objects made.
const MARKER: &str = "threadwise_marker";

/// Beginning of the schema's comment.
const COMMENT: &str = "made by threadwise, dropped by it at the end of a study; id ";

/// Further attempts at the lock, a tenth of a second apart.
const LOCK_TRIES: u32 = 20;

/// First half of the advisory lock's key: "thrw".
const LOCK_CLASS: i32 = 0x7468_7277;

/// How long a drop waits for a table that another session uses, seconds.
const DROP_LIMIT_S: u32 = 60;

/// What exists under the schema's name.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    Ours,
    Theirs,
}

/// Makes the schema, empty, for this connection's study. What an earlier study left is dropped.
///
/// # Errors
/// A schema of this name that threadwise did not make, another study that is using it, or an error of the server.
pub fn claim(client: &mut Client, schema: &str, place: &str) -> Result<(), EngineError> {
    lock(client, schema, place)?;
    match look(client, schema)? {
        Found::Theirs => {
            let why = format!(
                "schema '{schema}' exists and threadwise did not make it: give another name with \
                 --engine-option schema=NAME"
            );
            return Err(failed("create its schema", why));
        }
        Found::Ours => drop_ours(client, schema)?,
        Found::Nothing => {}
    }
    make(client, schema)
}

/// Lets only one study at a time use the schema.
fn lock(client: &mut Client, schema: &str, place: &str) -> Result<(), EngineError> {
    let sql = "SELECT pg_try_advisory_lock($1, hashtext($2))";
    let mut try_once = || -> Result<bool, EngineError> {
        let row = client.query_one(sql, &[&LOCK_CLASS, &schema]);
        Ok(row.map_err(|cause| query("lock its schema", &cause))?.get(0))
    };
    // A connection that was closed a moment ago may still hold it.
    let mut got = try_once()?;
    for _ in 0..LOCK_TRIES {
        if got {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
        got = try_once()?;
    }
    match got {
        true => Ok(()),
        false => Err(failed(
            "lock its schema",
            format!(
                "another study of threadwise is using schema '{schema}' of {place}: wait until it ends, or give \
                 another name with --engine-option schema=NAME"
            ),
        )),
    }
}

fn look(client: &mut Client, schema: &str) -> Result<Found, EngineError> {
    let action = format!("look for schema '{schema}'");
    let fail = |cause: postgres::Error| query(action.as_str(), &cause);
    let sql = "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = $1";
    let Some(row) = client.query_opt(sql, &[&schema]).map_err(fail)? else { return Ok(Found::Nothing) };
    let comment: Option<String> = row.get(0);
    let Some(id) = comment.as_deref().and_then(|text| text.strip_prefix(COMMENT)) else {
        return Ok(Found::Theirs);
    };
    let table = "SELECT count(*) FROM information_schema.columns WHERE table_schema = $1 AND table_name = $2 \
                 AND column_name IN ('kind', 'name')";
    let columns: i64 = client.query_one(table, &[&schema, &MARKER]).map_err(fail)?.get(0);
    if columns != 2 {
        return Ok(Found::Theirs);
    }
    let sql = format!("SELECT count(*) FROM {schema}.{MARKER} WHERE kind = 'id' AND name = $1");
    let same: i64 = client.query_one(&sql, &[&id]).map_err(fail)?.get(0);
    Ok(if same == 1 { Found::Ours } else { Found::Theirs })
}

fn make(client: &mut Client, schema: &str) -> Result<(), EngineError> {
    // Seeded by the standard library's per-process randomness, so that the id is unique.
    let mut random = ChaCha8Rng::seed_from_u64(RandomState::new().build_hasher().finish());
    let id = format!("{:016x}{:016x}", random.next_u64(), random.next_u64());
    let sql = format!(
        "BEGIN; CREATE SCHEMA {schema}; COMMENT ON SCHEMA {schema} IS '{COMMENT}{id}'; \
         CREATE TABLE {schema}.{MARKER} (kind text NOT NULL, name text NOT NULL, PRIMARY KEY (kind, name)); \
         INSERT INTO {schema}.{MARKER} VALUES ('id', '{id}'); COMMIT"
    );
    client.batch_execute(&sql).map_err(|cause| query(format!("create schema '{schema}'"), &cause))
}

/// Lists objects before they are made.
///
/// # Errors
/// An error of the server.
pub fn record(client: &mut Client, schema: &str, objects: &Objects) -> Result<(), EngineError> {
    let tables = objects.tables.iter().map(|name| ("table", name));
    let procedures = objects.procedures.iter().map(|name| ("procedure", name));
    let sql = format!("INSERT INTO {schema}.{MARKER} VALUES ($1, $2) ON CONFLICT DO NOTHING");
    for (kind, name) in tables.chain(procedures) {
        client
            .execute(&sql, &[&kind, &name])
            .map_err(|cause| query(format!("list the {kind} {name}"), &cause))?;
    }
    Ok(())
}

/// Drops the schema with the listed objects, all or nothing.
///
/// # Errors
/// An object that threadwise did not make is in it or depends on it; or an error of the server.
pub fn drop_ours(client: &mut Client, schema: &str) -> Result<(), EngineError> {
    let action = format!("drop schema '{schema}'");
    let fail = |cause: postgres::Error| query(action.as_str(), &cause);
    let mut transaction = client.transaction().map_err(fail)?;
    // A session of a killed worker may hold a table until its call ends, another session for ever.
    transaction.batch_execute(&format!("SET LOCAL lock_timeout = '{DROP_LIMIT_S}s'")).map_err(fail)?;
    if let Some(foreign) = foreign(&mut transaction, schema).map_err(fail)? {
        let why = format!(
            "it contains {foreign}, which threadwise did not make, so nothing was dropped: move that \
             elsewhere, then DROP SCHEMA {schema} CASCADE"
        );
        return Err(failed(action, why));
    }
    let sql = format!("SELECT kind, name FROM {schema}.{MARKER} WHERE kind <> 'id'");
    for row in transaction.query(&sql, &[]).map_err(fail)? {
        let (kind, name): (String, String) = (row.get(0), row.get(1));
        let statement = match kind.as_str() {
            "table" => format!("DROP TABLE IF EXISTS {schema}.{name}"),
            _ => format!("DROP PROCEDURE IF EXISTS {schema}.{name}"),
        };
        // Others may write to the table with the list: only plain names are taken from it.
        if name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_') {
            transaction.batch_execute(&statement).map_err(fail)?;
        }
    }
    transaction
        .batch_execute(&format!("DROP TABLE {schema}.{MARKER}; DROP SCHEMA {schema}"))
        .map_err(fail)?;
    transaction.commit().map_err(fail)
}

/// An object in the schema that is not listed. Everything in a schema depends on it in `pg_depend`; what belongs to a
/// table (indexes, row types) depends on the table instead.
fn foreign(transaction: &mut Transaction<'_>, schema: &str) -> Result<Option<String>, postgres::Error> {
    let sql = format!(
        "SELECT o.type || ' ' || o.identity
         FROM pg_depend d, LATERAL pg_identify_object(d.classid, d.objid, d.objsubid) o,
              LATERAL (SELECT CASE d.classid WHEN 'pg_proc'::regclass
                       THEN (SELECT proname FROM pg_proc WHERE oid = d.objid)
                       ELSE (SELECT relname FROM pg_class WHERE oid = d.objid AND relkind = 'r') END AS name) n
         WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = $1::text::regnamespace
           AND d.deptype = 'n'
           AND n.name IS DISTINCT FROM '{MARKER}'
           AND NOT (d.classid IN ('pg_proc'::regclass, 'pg_class'::regclass) AND EXISTS
             (SELECT FROM {schema}.{MARKER} m WHERE m.name = n.name
              AND m.kind = CASE d.classid WHEN 'pg_proc'::regclass THEN 'procedure' ELSE 'table' END))
         ORDER BY 1 LIMIT 1"
    );
    Ok(transaction.query_opt(&sql, &[&schema])?.map(|row| row.get(0)))
}
