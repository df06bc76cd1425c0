//! Study definitions: reading, checking, and resolving one for a machine; and the text form of a resolved study.
//!
//! [`StudyFile::resolve`] expands a study definition (docs/STUDY.md) for a topology: one treatment per placement and
//! combination of factor levels, the data sized to the machine's caches, and what the machine cannot do listed in
//! [`Study::left_out`]. In the order in which they act:
//!
//! | file | what it does |
//! |---|---|
//! | `definition` | the keys as types; serde reads them, their schema has their limits |
//! | `source` | the text, and errors with their position in it |
//! | `check` | what needs no machine: limits, words, keys that depend on each other |
//! | `candidate` | treatments before their levels are known, and what the machine lacks for them |
//! | `axis`, `factors`, `versions`, `external` | where several treatments come from |
//! | `expand` | puts candidates, levels and names together |
//! | `quota`, `sizes`, `timing` | what depends on all treatments: CPU quota, data, rounds and the budget |
//! | `comparisons` | which ratios are estimated |
//! | `text` | the resolved study as the store keeps it |

mod axis;
mod candidate;
mod check;
mod comparisons;
mod definition;
mod expand;
mod external;
mod factors;
mod overrides;
mod quota;
mod sizes;
mod source;
pub(crate) mod text;
mod timing;
mod versions;

use threadwise_machine::Topology;

use crate::{OptionValue, Study};

pub use candidate::default_sessions;
pub(crate) use candidate::occupied;
pub use definition::{FILE_VERSION, MAX_SESSIONS, schema};
pub use expand::MAX_TREATMENTS;
pub use overrides::Overrides;
pub use source::{LoadError, StudyFile};
pub use text::{from_toml, to_toml};

impl StudyFile {
    /// Resolves the study for a machine.
    ///
    /// # Errors
    /// An invalid override, a placement or memory policy that the machine lacks and that is not optional, a budget too
    /// small for 8 blocks, data over the memory limit.
    pub fn resolve(&self, topology: &Topology, overrides: &Overrides) -> Result<Study, LoadError> {
        let mut study = expand::expand(self, topology, overrides)?;
        sizes::fit_rows(&mut study, overrides, self.is_preset);
        sizes::size_index(&mut study, topology, overrides);
        Ok(study)
    }
}

/// The value of `--set KEY=VALUE`: `true`, `false`, a whole number, a number, or else text.
pub fn option_value(text: &str) -> OptionValue {
    match (text, text.parse::<i64>(), text.parse::<f64>()) {
        ("true", ..) => OptionValue::Flag(true),
        ("false", ..) => OptionValue::Flag(false),
        (_, Ok(whole), _) => OptionValue::Integer(whole),
        (_, _, Ok(number)) if number.is_finite() => OptionValue::Number(number),
        _ => OptionValue::Text(text.to_owned()),
    }
}
