//! The engine's options: the server, and how it is set up.

use std::path::PathBuf;
use threadwise_engine::workloads::options::{only, path, refuse, text, word};
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_engine_sql::{Spec, SqlWorkload};
use threadwise_study::{OptionValue, Options, Workload};

use crate::product::Product;

/// Workloads of both engines.
pub(crate) const WORKLOADS: &[Workload] =
    &[Workload::LogicalIo, Workload::Insert, Workload::Transaction, Workload::Burn];

/// Beginnings of the names of variables that clients read.
pub(crate) const ENVIRONMENT: &[&str] = &["MYSQL", "MARIADB"];

/// Threadwise's database, unless the user gives another name.
pub(crate) const SCHEMA: &str = "threadwise";

/// Settings that threadwise must control itself.
const OURS: [&str; 19] = [
    "datadir",
    "socket",
    "pid_file",
    "port",
    "bind_address",
    "skip_networking",
    "user",
    "tmpdir",
    "log_error",
    "basedir",
    "defaults_file",
    "defaults_extra_file",
    "no_defaults",
    "innodb_page_size",
    "innodb_flush_log_at_trx_commit",
    "skip_grant_tables",
    "bootstrap",
    "thread_handling",
    "chroot",
];

/// How long a managed server lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Restart {
    /// One for each run.
    Run,
    /// One for the study.
    Study,
}

/// How waits of sessions are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// By the states of the process list, which the server keeps anyway.
    States,
    /// By the wait instruments of the performance schema, which cost CPU time in every statement.
    Instruments,
    /// Not at all.
    None,
}

/// Options of a private server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Managed {
    /// Folder of the server's programs; `None` to search for them.
    pub bin: Option<PathBuf>,
    /// How long it lives.
    pub restart: Restart,
    /// The user's settings by name, words joined by `_`.
    pub settings: Vec<(String, String)>,
    /// How waits are sampled.
    pub waits: Waits,
}

/// A server of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct External {
    /// Its URL, without a password.
    pub url: String,
    /// Threadwise's database.
    pub schema: String,
    /// How waits are sampled.
    pub waits: Waits,
}

/// The server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Which {
    /// A private server.
    Managed(Managed),
    /// The user's server.
    External(External),
}

/// Reads and checks the engine's options.
///
/// # Errors
/// The first unknown or impossible option.
pub(crate) fn parse(options: &Options) -> Result<Which, EngineError> {
    let (settings, rest): (Options, Options) =
        options.clone().into_iter().partition(|(name, _)| name.starts_with("settings."));
    let words = ["states", "instruments", "none"];
    let waits = [Waits::States, Waits::Instruments, Waits::None][word(&rest, "waits", &words)?];
    if let Some(url) = text(&rest, "url")? {
        return external(&rest, &settings, url, waits);
    }
    only(&rest, "the engine mariadb without url", &["bin", "restart", "waits"])?;
    let bin = path(&rest, "bin")?;
    let restart = [Restart::Run, Restart::Study][word(&rest, "restart", &["run", "study"])?];
    let settings = settings.iter().map(setting).collect::<Result<_, _>>()?;
    Ok(Which::Managed(Managed { bin, restart, settings, waits }))
}

fn external(rest: &Options, settings: &Options, url: String, waits: Waits) -> Result<Which, EngineError> {
    only(rest, "the engine mariadb with url", &["url", "schema", "waits"])?;
    if let Some(name) = settings.keys().next() {
        return Err(refuse(
            name,
            "threadwise does not change the settings of your own server: leave it out".into(),
        ));
    }
    let schema = text(rest, "schema")?.unwrap_or_else(|| SCHEMA.to_owned());
    let plain = schema.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !plain || schema.is_empty() || schema.len() > 64 {
        let why = format!("'{schema}' is not 1 to 64 of the characters a-z, A-Z, 0-9 and _");
        return Err(refuse("schema", why));
    }
    if ["mysql", "sys", "information_schema", "performance_schema"]
        .contains(&schema.to_ascii_lowercase().as_str())
    {
        return Err(refuse("schema", format!("'{schema}' belongs to the server")));
    }
    Ok(Which::External(External { url, schema, waits }))
}

/// `settings.NAME=VALUE` as an argument of the server.
fn setting((name, value): (&String, &OptionValue)) -> Result<(String, String), EngineError> {
    let bare = name.trim_start_matches("settings.").replace('-', "_").to_ascii_lowercase();
    if bare.is_empty() || !bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return Err(refuse(name, "this is not the name of a setting".into()));
    }
    let stripped = bare.strip_prefix("loose_").unwrap_or(&bare);
    if OURS.contains(&stripped) {
        return Err(refuse(name, format!("threadwise sets {stripped} itself")));
    }
    let value = match value {
        OptionValue::Flag(true) => "ON".to_owned(),
        OptionValue::Flag(false) => "OFF".to_owned(),
        other => other.to_string(),
    };
    if value.contains(['\0', '\n']) {
        return Err(refuse(name, "its value has a line break: remove it".into()));
    }
    Ok((bare, value))
}

/// Reads and checks a request's options of the workload, but for `transaction`.
///
/// # Errors
/// The first option that is impossible.
pub(crate) fn workload(product: &Product, request: &LoadRequest) -> Result<SqlWorkload, EngineError> {
    let workload = SqlWorkload::parse(product.engine(), request, WORKLOADS, &[])?;
    if let Spec::Insert(spec) = &workload.spec {
        spec.no_single_batch(product.engine())?;
    }
    Ok(workload)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Options {
        pairs.iter().map(|(name, value)| ((*name).into(), OptionValue::Text((*value).into()))).collect()
    }

    #[test]
    fn a_server_of_ours_is_the_default() {
        let Which::Managed(managed) = parse(&Options::new()).unwrap() else { panic!("external") };
        assert_eq!((managed.restart, managed.waits, managed.bin), (Restart::Run, Waits::States, None));
        let with = options(&[("restart", "study"), ("settings.Innodb-Io-Capacity", "2000")]);
        let Which::Managed(managed) = parse(&with).unwrap() else { panic!("external") };
        assert_eq!(managed.settings, [("innodb_io_capacity".to_owned(), "2000".to_owned())]);
        assert_eq!(managed.restart, Restart::Study);
    }

    #[test]
    fn what_would_break_us_is_refused_by_name() {
        for (name, value, part) in [
            ("settings.datadir", "/x", "itself"),
            ("settings.loose-socket", "/x", "itself"),
            ("settings.", "1", "name of a setting"),
            ("settings.a b", "1", "name of a setting"),
            ("settings.x", "1\n2", "line break"),
            ("bin", "bin", "absolute"),
            ("restart", "never", "run, study"),
            ("schema", "x", "allowed: bin"),
            ("waits", "yes", "states, instruments, none"),
        ] {
            let message = parse(&options(&[(name, value)])).unwrap_err().to_string();
            assert!(message.contains(name) && message.contains(part), "{message}");
        }
        for flag in [true, false] {
            let given = [("waits".to_owned(), OptionValue::Flag(flag))].into();
            let message = parse(&given).unwrap_err().to_string();
            assert!(message.contains("states, instruments, none"), "{message}");
        }
        for (name, value) in [("schema", "a`b"), ("schema", "MySQL"), ("settings.x", "1"), ("bin", "/x")] {
            let given = options(&[("url", "mariadb://host"), (name, value)]);
            assert!(parse(&given).unwrap_err().to_string().contains(name));
        }
    }
}
