//! Reading of workload options: each function gives the value, its default, or an error with what is allowed.

use std::fmt::Display;
use std::path::PathBuf;
use threadwise_study::arrivals::RATE;
use threadwise_study::vcpus::{MOST_VCPUS, VCPUS, vcpus};
use threadwise_study::{OptionValue, Options, Workload};

use crate::EngineError;

/// The error for an option.
pub fn refuse(option: &str, why: String) -> EngineError {
    EngineError::Option { option: option.to_owned(), why }
}

/// Refuses a number of vCPUs that no server has, which would be left out of the answer.
///
/// # Errors
/// It is no whole number, or out of range.
pub fn check_vcpus(options: &Options) -> Result<(), EngineError> {
    match options.get(VCPUS) {
        Some(value) if vcpus(options).is_none() => {
            Err(refuse(VCPUS, format!("'{value}' is not a number of vCPUs from 1 to {MOST_VCPUS}")))
        }
        _ => Ok(()),
    }
}

/// The error for a workload that an engine does not have.
pub fn no_workload(engine: &str, workload: &Workload, has: &[Workload]) -> EngineError {
    refuse("workload", format!("{engine} has no '{workload}'; it has: {}", Workload::list(has)))
}

/// Refuses the first option that is not a known one.
///
/// # Errors
/// Its name, and the known ones.
pub fn only(options: &Options, workload: impl Display, known: &[&str]) -> Result<(), EngineError> {
    match options.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(refuse(name, format!("unknown to {workload}; allowed: {}", known.join(", ")))),
        None => Ok(()),
    }
}

/// A whole number between `low` and `high`; `None` if the option is absent. `8192.0` counts as whole: in some
/// languages' JSON numbers have no integer type.
///
/// # Errors
/// Another type, or a number outside.
pub fn whole(options: &Options, name: &str, low: u64, high: u64) -> Result<Option<u64>, EngineError> {
    let Some(given) = options.get(name) else { return Ok(None) };
    let value = given.rounded().filter(|value| (low..=high).contains(value));
    value
        .map(Some)
        .ok_or_else(|| refuse(name, format!("'{given}' is not a whole number from {low} to {high}")))
}

/// The index of the given word in `words`; 0 if the option is absent.
///
/// # Errors
/// Another type or word.
pub fn word(options: &Options, name: &str, words: &[&str]) -> Result<usize, EngineError> {
    let Some(value) = options.get(name) else { return Ok(0) };
    let place = match value {
        OptionValue::Text(text) => words.iter().position(|word| word == text),
        _ => None,
    };
    place.ok_or_else(|| refuse(name, format!("'{value}' is not one of: {}", words.join(", "))))
}

/// A text; `None` if the option is absent.
///
/// # Errors
/// Another type.
pub fn text(options: &Options, name: &str) -> Result<Option<String>, EngineError> {
    match options.get(name) {
        None => Ok(None),
        Some(OptionValue::Text(text)) => Ok(Some(text.clone())),
        Some(other) => Err(refuse(name, format!("'{other}' is not text"))),
    }
}

/// The absolute path of a file or folder; `None` if the option is absent.
///
/// # Errors
/// Another type, or a relative path.
pub fn path(options: &Options, name: &str) -> Result<Option<PathBuf>, EngineError> {
    match text(options, name)?.map(PathBuf::from) {
        Some(path) if !path.is_absolute() => {
            Err(refuse(name, format!("'{}' is not an absolute path", path.display())))
        }
        path => Ok(path),
    }
}

/// Yes or no, `false` if the option is absent.
///
/// # Errors
/// Another type.
pub fn flag(options: &Options, name: &str) -> Result<bool, EngineError> {
    match options.get(name) {
        None => Ok(false),
        Some(OptionValue::Flag(value)) => Ok(*value),
        Some(other) => Err(refuse(name, format!("'{other}' is neither true nor false"))),
    }
}

/// A number as it is; NaN for text and flags.
pub fn number(options: &Options, name: &str) -> Option<f64> {
    Some(options.get(name)?.number().unwrap_or(f64::NAN))
}

/// Where the loop of a session runs, for engines that are servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loop {
    /// In a procedure of the server, while the client waits.
    Server,
    /// In the client, one call a step: gives step latencies.
    Client,
}

/// The option `loop`: `server` or `client`. At a rate it is the client that waits for requests.
///
/// # Errors
/// Another value; or a loop inside the server at a rate.
pub fn place_of_loop(options: &Options) -> Result<Loop, EngineError> {
    let is_server = word(options, "loop", &["server", "client"])? == 0;
    match (is_server, options.contains_key(RATE), options.contains_key("loop")) {
        (true, true, true) => {
            Err(refuse("loop", "at a rate the client sends each request: use loop=client".into()))
        }
        (true, false, _) => Ok(Loop::Server),
        _ => Ok(Loop::Client),
    }
}

/// Refuses the option `loop` for an engine without a server.
///
/// # Errors
/// The option is there.
pub fn no_loop(options: &Options, engine: &str) -> Result<(), EngineError> {
    match options.contains_key("loop") {
        true => Err(refuse(
            "loop",
            format!("{engine} runs inside the worker, where loops have no other place; leave it out"),
        )),
        false => Ok(()),
    }
}
