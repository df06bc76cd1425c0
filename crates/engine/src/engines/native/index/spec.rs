//! Options of the workload `index`.

use threadwise_study::Workload;
use threadwise_study::index;

use super::super::locks::LockKind;
use super::super::options::common;
use super::keys::MAX_ROWS;
use crate::workloads::insert::Key;
use crate::workloads::options::{number, only, refuse, whole, word};
use crate::{EngineError, LoadRequest};

const OPTIONS: [&str; 7] =
    [index::OPERATION, "structure", "lock", "key", index::ROWS, "rows_per_step", "absent_pct"];

/// What sessions do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// They look keys up.
    Search,
    /// They insert keys.
    Insert,
}

/// The index structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A tree in the order of the keys.
    BTree,
    /// Chains by a hash of the key.
    Hash,
}

/// The options, checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IndexSpec {
    /// What sessions do.
    pub operation: Operation,
    /// The index structure.
    pub form: Form,
    /// The lock around each operation.
    pub lock: LockKind,
    /// Order of the keys looked up or inserted.
    pub key: Key,
    /// Rows at the start.
    pub rows: u64,
    /// Operations of one step.
    pub rows_per_step: u64,
    /// Share of lookups of keys that are not stored, percent.
    pub absent_pct: f64,
}

impl IndexSpec {
    /// Checks a whole request.
    ///
    /// # Errors
    /// The first option that is unknown or impossible.
    pub fn parse(request: &LoadRequest) -> Result<Self, EngineError> {
        common(request)?;
        let options = &request.options;
        only(options, Workload::Index, &OPTIONS)?;
        let spec = Self {
            operation: [Operation::Search, Operation::Insert]
                [word(options, index::OPERATION, &[index::SEARCH, index::INSERT])?],
            form: [Form::BTree, Form::Hash][word(options, "structure", &["b-tree", "hash"])?],
            lock: LockKind::ALL[word(options, "lock", &LockKind::WORDS)?],
            key: [Key::Random, Key::Sequential][word(options, "key", &["random", "sequential"])?],
            rows: whole(options, index::ROWS, 1, MAX_ROWS)?.unwrap_or(index::USUAL_ROWS),
            rows_per_step: whole(options, "rows_per_step", 1, 100_000)?.unwrap_or(16),
            absent_pct: number(options, "absent_pct").unwrap_or(0.0),
        };
        spec.check(u64::from(request.sessions))?;
        Ok(spec)
    }

    fn check(&self, sessions: u64) -> Result<(), EngineError> {
        if self.rows < sessions {
            let why = format!("{} rows are fewer than the {sessions} sessions", self.rows);
            return Err(refuse(index::ROWS, why));
        }
        if !(0.0..=100.0).contains(&self.absent_pct) {
            return Err(refuse("absent_pct", "not a number from 0 to 100".into()));
        }
        if self.operation == Operation::Insert && self.absent_pct > 0.0 {
            return Err(refuse("absent_pct", "it needs operation=lookup: it is a share of lookups".into()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use threadwise_study::{OptionValue, Options};

    fn parsed(sessions: u32, options: &[(&str, OptionValue)]) -> Result<IndexSpec, EngineError> {
        IndexSpec::parse(&LoadRequest {
            workload: Workload::Index,
            options: options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            engine_options: Options::new(),
            data_dir: PathBuf::new(),
            treatment: "x".into(),
            sessions,
            seed: 1,
        })
    }

    fn text(value: &str) -> OptionValue {
        OptionValue::Text(value.to_owned())
    }

    #[test]
    fn absent_and_given_options() {
        let spec = parsed(2, &[]).unwrap();
        assert_eq!((spec.operation, spec.form, spec.lock), (Operation::Search, Form::BTree, LockKind::Spin));
        assert_eq!((spec.key, spec.rows, spec.rows_per_step), (Key::Random, index::USUAL_ROWS, 16));
        let options =
            [("operation", "insert"), ("structure", "hash"), ("lock", "lock-free"), ("key", "sequential")];
        let spec = parsed(2, &options.map(|(name, word)| (name, text(word)))).unwrap();
        assert_eq!(
            (spec.operation, spec.form, spec.lock),
            (Operation::Insert, Form::Hash, LockKind::LockFree)
        );
        assert_eq!(spec.key, Key::Sequential);
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let whole = OptionValue::Integer;
        let cases: [(&str, OptionValue, &str); 8] = [
            ("operation", text("scan"), "search, insert"),
            ("structure", text("skip-list"), "b-tree, hash"),
            ("lock", text("mutex"), "spin, mcs, lock-free"),
            ("key", text("uuid"), "random, sequential"),
            ("rows", whole(3), "fewer than the 4 sessions"),
            ("rows", whole(0), "from 1 to"),
            ("absent_pct", whole(101), "0 to 100"),
            ("buckets", whole(8), "allowed: operation"),
        ];
        for (name, value, part) in cases {
            let message = parsed(4, &[(name, value)]).unwrap_err().to_string();
            assert!(message.contains(name) && message.contains(part), "{message}");
        }
        let both = [("operation", text("insert")), ("absent_pct", whole(5))];
        assert!(parsed(4, &both).unwrap_err().to_string().contains("it needs operation=lookup"));
        assert!(parsed(0, &[]).unwrap_err().to_string().contains("1 to 65535"));
    }
}
