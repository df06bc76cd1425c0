//! The engine's options: `url` for the user's server, the others for a private cluster.

use std::collections::BTreeMap;
use std::path::PathBuf;
use threadwise_engine::EngineError;
use threadwise_engine::workloads::options::{path, text};
use threadwise_study::{OptionValue, Options};

use crate::error::refuse;

/// Threadwise's schema if no other is named, and always in private clusters.
pub const SCHEMA: &str = "threadwise";

/// Longest name that PostgreSQL keeps (`NAMEDATALEN` − 1).
const NAME_BYTES: usize = 63;

/// The server to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// A private one.
    Managed(Managed),
    /// The user's.
    External(External),
}

/// A private cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Managed {
    /// Folder with the programs; `None` to search for the newest.
    pub bin: Option<PathBuf>,
    /// One server for the whole study, instead of one for every run.
    pub study: bool,
    /// Server settings that override threadwise's.
    pub settings: BTreeMap<String, String>,
}

/// The user's server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct External {
    /// Where it is.
    pub url: String,
    /// Threadwise's schema.
    pub schema: String,
}

impl Choice {
    /// Reads and checks the engine options. The URL itself is checked when it is used.
    ///
    /// # Errors
    /// The first option that is unknown, of the wrong type, impossible, or of the other kind of server.
    pub fn parse(options: &Options) -> Result<Self, EngineError> {
        match text(options, "url")? {
            Some(url) => external(options, url).map(Self::External),
            None => managed(options).map(Self::Managed),
        }
    }

    /// Whether all treatments use one server, in which each has its own objects.
    pub fn is_shared(&self) -> bool {
        match self {
            Self::Managed(managed) => managed.study,
            Self::External(_) => true,
        }
    }
}

fn external(options: &Options, url: String) -> Result<External, EngineError> {
    if let Some(name) = options.keys().find(|name| !["url", "schema"].contains(&name.as_str())) {
        let why = "it is not for your own server, whose setup is not changed; allowed with url: schema";
        return Err(refuse(name, why));
    }
    // Refuses a password before anything else.
    crate::connect::check_url(&url)?;
    let schema = text(options, "schema")?.unwrap_or_else(|| SCHEMA.to_owned());
    let plain = schema.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let begins = schema.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    if !plain || !begins || schema.len() > NAME_BYTES || schema.starts_with("pg_") || schema == "public" {
        let why = format!(
            "'{schema}' is not allowed as a schema: small letters, digits and _ (at most {NAME_BYTES}), a letter \
             first, neither public nor pg_…"
        );
        return Err(refuse("schema", why));
    }
    Ok(External { url, schema })
}

fn managed(options: &Options) -> Result<Managed, EngineError> {
    let mut found = Managed::default();
    for (name, value) in options {
        if let Some(setting) = name.strip_prefix("settings.") {
            found.settings.insert(setting.to_owned(), checked(name, setting, value)?);
        } else if !["bin", "restart"].contains(&name.as_str()) {
            let why = match name.as_str() {
                "schema" => "it is for your own server: give url as well",
                _ => "unknown to postgres; it has: bin, restart, settings.NAME, or url, schema",
            };
            return Err(refuse(name, why));
        }
    }
    found.study = match text(options, "restart")?.as_deref() {
        None | Some("run") => false,
        Some("study") => true,
        Some(other) => return Err(refuse("restart", format!("'{other}' is not one of: run, study"))),
    };
    found.bin = path(options, "bin")?;
    Ok(found)
}

/// Settings that determine where the server is and who may reach it, which threadwise sets.
const OURS: [&str; 12] = [
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "listen_addresses",
    "log_destination",
    "logging_collector",
    "port",
    "unix_socket_directories",
    "unix_socket_group",
    "unix_socket_permissions",
];

/// Ends and beginnings of settings by which a server runs a program or loads code: a study definition must not set
/// them.
const RUNS_CODE: [&str; 4] = ["_command", "_libraries", "_library", "_provider"];

pub(crate) fn checked(option: &str, setting: &str, value: &OptionValue) -> Result<String, EngineError> {
    let name = setting.to_ascii_lowercase();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    if name.is_empty() || !name.bytes().all(plain) || name.starts_with("include") {
        return Err(refuse(option, "it is not the name of a PostgreSQL setting"));
    }
    if OURS.contains(&name.as_str()) || name.starts_with("ssl") {
        return Err(refuse(option, "threadwise sets it: the cluster is private and has its own socket"));
    }
    if RUNS_CODE.iter().any(|end| name.ends_with(end)) || name == "dynamic_library_path" {
        return Err(refuse(option, "a study may not set what makes the server run other code"));
    }
    let value = value.to_string();
    if value.chars().any(char::is_control) {
        return Err(refuse(option, "its value contains a line break or another control character"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<Choice, EngineError> {
        let options = pairs.iter().map(|(name, value)| ((*name).into(), OptionValue::Text((*value).into())));
        Choice::parse(&options.collect())
    }

    #[test]
    fn no_option_means_a_cluster_of_ours_for_every_run() {
        assert_eq!(parse(&[]).unwrap(), Choice::Managed(Managed::default()));
        assert!(!parse(&[("restart", "run")]).unwrap().is_shared());
        assert!(parse(&[("restart", "study")]).unwrap().is_shared());
    }

    #[test]
    fn settings_are_taken_but_for_those_that_would_break_us_or_run_code() {
        let Ok(Choice::Managed(found)) = parse(&[("settings.wal_buffers", "64MB"), ("bin", "/opt/pg/bin")])
        else {
            panic!("refused")
        };
        assert_eq!(found.settings["wal_buffers"], "64MB");
        for (name, part) in [
            ("settings.data_directory", "threadwise sets"),
            ("settings.Listen_Addresses", "threadwise sets"),
            ("settings.port", "threadwise sets"),
            ("settings.unix_socket_directories", "threadwise sets"),
            ("settings.ssl_key_file", "threadwise sets"),
            ("settings.archive_command", "other code"),
            ("settings.shared_preload_libraries", "other code"),
            ("settings.archive_library", "other code"),
            ("settings.jit_provider", "other code"),
            ("settings.include_dir", "name of a PostgreSQL setting"),
            ("settings.a'b", "name of a PostgreSQL setting"),
            ("settings.", "name of a PostgreSQL setting"),
        ] {
            let message = parse(&[(name, "x")]).unwrap_err().to_string();
            assert!(message.contains(part), "{name}: {message}");
        }
        let message = parse(&[("settings.work_mem", "1MB\nport=1")]).unwrap_err().to_string();
        assert!(message.contains("line break"), "{message}");
    }

    #[test]
    fn the_two_kinds_of_server_do_not_mix() {
        let found = parse(&[("url", "postgres://h/db"), ("schema", "tw_2")]).unwrap();
        assert_eq!(
            found,
            Choice::External(External { url: "postgres://h/db".into(), schema: "tw_2".into() })
        );
        for (pairs, part) in [
            (vec![("url", "postgres://h"), ("bin", "/x")], "whose setup is not changed"),
            (vec![("url", "postgres://h"), ("settings.x", "1")], "whose setup is not changed"),
            (vec![("schema", "a")], "give url"),
            (vec![("shema", "a")], "unknown"),
            (vec![("restart", "never")], "run, study"),
            (vec![("bin", "pg/bin")], "absolute"),
            (vec![("url", "postgres://h"), ("schema", "public")], "not allowed as a schema"),
            (vec![("url", "postgres://h"), ("schema", "pg_x")], "not allowed as a schema"),
            (vec![("url", "postgres://h"), ("schema", "a\"b")], "not allowed as a schema"),
            (vec![("url", "postgres://h"), ("schema", "1a")], "not allowed as a schema"),
            (vec![("url", "postgres://u:pw@h")], "PGPASSWORD"),
        ] {
            let message = parse(&pairs).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
