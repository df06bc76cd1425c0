//! The engine `firebird`: Firebird from 3.0 on, embedded: the installed engine inside a program of its own
//! for each session.
//!
//! For each set of options a database is made once. Each treatment gets a copy of it, on which its sessions
//! work: each is the program `isql` with the engine library inside, started by the session's own thread, so
//! that it inherits the session's logical CPUs and memory policy. They share the database as those of a
//! Classic server do, through its file and a lock table, each with a page cache of its own. There is no
//! server, no port and no password. A running server of the user's is not measured.
//!
//! Engine options: `bin` (folder of the programs), `cache_pages` (each session's page cache). Workloads:
//! `logical-io`, `insert`.

mod error;
mod home;
mod isql;
mod options;
mod programs;
mod workload;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use threadwise_engine::{Address, Engine, EngineError, KnownBy, LoadRequest, Loaded, Running, StartRequest};
use threadwise_study::Options;
use threadwise_study::engine::Properties;

use error::failed;
use home::Home;
use options::Own;
use programs::Programs;
use workload::{Treatment, Work};

/// Goes up whenever the same request makes other data.
const FORMAT: u32 = 1;

/// What a template says of itself, beside its database.
const FACTS: &str = "facts";

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Firebird;

impl Engine for Firebird {
    fn name(&self) -> &'static str {
        error::ENGINE
    }

    fn version(&self, engine_options: &Options) -> Result<String, EngineError> {
        let own = options::parse(engine_options)?;
        Programs::find(own.bin.as_deref())?.version()
    }

    fn about(&self) -> &'static str {
        "Firebird from 3.0 on, embedded: the installed engine inside a program for each session"
    }

    fn workloads(&self) -> &'static [&'static str] {
        workload::NAMES
    }

    /// Its block is a page of our databases.
    fn properties(&self) -> Properties {
        Properties { block_bytes: workload::PAGE_BYTES, ..Properties::default() }
    }

    /// Its own sessions end with their pipes.
    fn known_by(&self) -> KnownBy {
        KnownBy {
            other_names: &["interbase", "fb", "isql"],
            address: Some(Address {
                schemes: &["firebird"],
                password: Err(
                    "a running Firebird server is not measured; --engine firebird has the engine in its sessions",
                ),
            }),
            servers: &["firebird", "fbserver", "fb_inet_server"],
            started: &[],
        }
    }

    fn check(&self, request: &LoadRequest) -> Result<(), EngineError> {
        Work::parse(request)?;
        options::parse(&request.engine_options).map(drop)
    }

    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError> {
        let work = Work::parse(request)?;
        let own = options::parse(&request.engine_options)?;
        let to = request.data_dir.join(template_name(request));
        if let Some(loaded) = read_facts(&to) {
            return Ok(loaded);
        }
        home::check_path(&to)?;
        let programs = Programs::find(own.bin.as_deref())?;
        home::make_template(&to, |home| {
            home.make(&programs, cache_pages(&own, work, request.sessions))?;
            home.make_data()?;
            let loaded = workload::load(home, &programs, &work, request)?;
            write_facts(&home.0, &loaded)?;
            Ok(loaded)
        })
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        let load = &request.load;
        let work = Work::parse(load)?;
        let own = options::parse(&load.engine_options)?;
        let name = template_name(load);
        let template = Home(load.data_dir.join(&name));
        if read_facts(&template.0).is_none() {
            return Err(failed(
                "find its data",
                format!("{} is missing; load it first", template.0.display()),
            ));
        }
        let programs = Programs::find(own.bin.as_deref())?;
        let copy = format!("firebird-run_{:016x}", fnv(&format!("{name}|{}", load.treatment)));
        let home = Home(load.data_dir.join(copy));
        let pages = cache_pages(&own, work, load.sessions);
        match work.changes_data() {
            true => home.copy_from(&template, &programs, pages)?,
            false => home.keep_or_copy_from(&template, &programs, pages)?,
        }
        Ok(Box::new(Treatment::start(home, programs, work, request)?))
    }
}

fn cache_pages(own: &Own, work: Work, sessions: u32) -> u64 {
    own.cache_pages.unwrap_or_else(|| work.cache_pages(sessions))
}

/// A template is shared by treatments that ask for the same data, since each works on a copy.
fn template_name(load: &LoadRequest) -> String {
    let mut text = format!("{FORMAT}|{}|{}|{}", load.workload, load.sessions, load.seed);
    for (name, value) in &load.options {
        // Writing to a String cannot fail.
        let _ = write!(text, "|{name}={value}");
    }
    format!("firebird-template_{:016x}", fnv(&text))
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv): names, not secrets.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn write_facts(folder: &Path, loaded: &Loaded) -> Result<(), EngineError> {
    let Loaded { bytes_per_session, rows_per_session, notes } = loaded;
    let text = format!("{bytes_per_session}\n{rows_per_session}\n{}\n", notes.join("\n"));
    fs::write(folder.join(FACTS), text).map_err(|cause| failed("write down what was loaded", cause))
}

fn read_facts(folder: &Path) -> Option<Loaded> {
    let text = fs::read_to_string(folder.join(FACTS)).ok()?;
    let mut lines = text.lines();
    Some(Loaded {
        bytes_per_session: lines.next()?.parse().ok()?,
        rows_per_session: lines.next()?.parse().ok()?,
        notes: lines.map(str::to_owned).collect(),
    })
}
