//! Options of engines and workloads: names and values.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Options of an engine or a workload by name, ordered so that two equal studies print alike.
pub type Options = BTreeMap<String, OptionValue>;

/// One option's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a text, a number, true or false is needed")]
pub enum OptionValue {
    /// Text, such as `l2`.
    Text(String),
    /// Whole number.
    Integer(i64),
    /// Any number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Flag(value) => write!(f, "{value}"),
        }
    }
}
