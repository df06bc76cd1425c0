//! Statistics of statements in a worker: one connection, kept until the worker ends.

use crate::protocol::WireStatements;
use crate::{Engine, EngineError, StatementSource};
use threadwise_study::Options;

/// The connection, once it was asked for.
#[derive(Default)]
pub(super) struct Statistics {
    source: Option<Box<dyn StatementSource>>,
}

impl Statistics {
    /// Counters now; or what these statements are.
    pub(super) fn read(
        &mut self,
        engine: &dyn Engine,
        options: &Options,
        keys: &[String],
        wants_text: bool,
    ) -> Result<WireStatements, EngineError> {
        if self.source.is_none() {
            self.source = engine.statements(options)?;
        }
        let Some(source) = &mut self.source else {
            return Err(EngineError::Missing(format!(
                "engine {} has no statistics of statements",
                engine.name()
            )));
        };
        let facts = WireStatements::of(source.facts());
        Ok(match keys.is_empty() {
            true => facts.with_counts(source.snapshot()?),
            false => facts.with_texts(source.texts(keys, wants_text)?),
        })
    }
}
