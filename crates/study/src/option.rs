//! Options of engines and workloads: names and values.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Options of an engine or a workload by name, ordered so that two equal studies print alike.
pub type Options = BTreeMap<String, OptionValue>;

/// One option's value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
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

impl OptionValue {
    /// A whole number of at least 0; `None` for anything else.
    pub fn whole(&self) -> Option<u64> {
        if let Self::Integer(value) = self { u64::try_from(*value).ok() } else { None }
    }

    /// The same of a number without a fraction too: JSON of some languages has floats alone.
    pub fn rounded(&self) -> Option<u64> {
        match self {
            Self::Number(number) if number.fract() == 0.0 && *number >= 0.0 => Some(*number as u64),
            other => other.whole(),
        }
    }

    /// Its number; `None` for text and flags.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::Number(value) => Some(*value),
            Self::Text(_) | Self::Flag(_) => None,
        }
    }

    /// Its text; `None` for numbers and flags.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
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

/// By hand, since errors of serde's untagged enums have no position in a list.
impl<'de> Deserialize<'de> for OptionValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl Visitor<'_> for Scalar {
            type Value = OptionValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true or false")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<OptionValue, E> {
                Ok(OptionValue::Text(text.to_owned()))
            }

            fn visit_i64<E: Error>(self, whole: i64) -> Result<OptionValue, E> {
                Ok(OptionValue::Integer(whole))
            }

            fn visit_u64<E: Error>(self, whole: u64) -> Result<OptionValue, E> {
                Ok(i64::try_from(whole).map_or(OptionValue::Number(whole as f64), OptionValue::Integer))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<OptionValue, E> {
                Ok(OptionValue::Number(number))
            }

            fn visit_bool<E: Error>(self, flag: bool) -> Result<OptionValue, E> {
                Ok(OptionValue::Flag(flag))
            }
        }
        deserializer.deserialize_any(Scalar)
    }
}
