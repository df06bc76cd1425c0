//! Substitution parameters of the 22 queries: those of the validation, and random ones.
//!
//! Source: TPC-H specification, clauses 2.4.1.3 to 2.4.22.3 (domains) and 2.4.1.4 to 2.4.22.4
//! (validation). End dates are computed here, so that no query needs interval arithmetic.

mod date;
mod domains;
mod draw;
mod validation;
mod value;

use crate::query::{QueryError, check_query};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

pub use date::Date;
pub use value::Value;

/// The parameters of one execution of one query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    query: u8,
    values: BTreeMap<&'static str, Value>,
}

/// ChaCha stream numbers of the drawn parameters begin here ("TPCH" in the upper half), apart from those
/// for placements, keys and orders from the same seed.
const FIRST_STREAM: u64 = 0x5450_4348 << 32;

impl Parameters {
    /// The parameters for which the specification has answers. Only query 11's depend on the
    /// scale factor.
    ///
    /// # Errors
    /// [`QueryError::Unknown`].
    pub fn validation(query: u8, scale: f64) -> Result<Self, QueryError> {
        check_query(query)?;
        Ok(Self { query, values: validation::values(query, scale) })
    }

    /// Parameters drawn from the specification's domains: the same for the same seed, stream and query.
    ///
    /// # Errors
    /// [`QueryError::Unknown`].
    pub fn seeded(query: u8, scale: f64, seed: u64, stream: u32) -> Result<Self, QueryError> {
        check_query(query)?;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        // 256 numbers for the queries of each of 2^24 streams.
        random.set_stream(FIRST_STREAM + (u64::from(stream & 0x00ff_ffff) << 8) + u64::from(query));
        Ok(Self { query, values: draw::values(query, scale, &mut random) })
    }

    /// The query that they are for.
    pub fn query(&self) -> u8 {
        self.query
    }

    /// Names and values, by name.
    pub fn values(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// Short text that is the same only for equal parameters of the same query, such as
    /// `q06-0c9bdb0d0e5d7d3a`: a name for a kept answer.
    pub fn key(&self) -> String {
        let digest = Sha256::digest(self.to_string());
        let mut key = format!("q{:02}-", self.query);
        for byte in &digest[..8] {
            // Writing to a String cannot fail.
            let _ = write!(key, "{byte:02x}");
        }
        key
    }
}

impl fmt::Display for Parameters {
    /// `q06 date=1994-01-01 date_end=1995-01-01 …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "q{:02}", self.query)?;
        self.values.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

#[cfg(test)]
mod tests;
