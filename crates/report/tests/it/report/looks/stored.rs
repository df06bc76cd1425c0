//! Result files of studies that come from a model.

use crate::support::Fixture;
use std::path::Path;
use threadwise_store::{EndState, Store, Versions};

/// Writes a study that is complete.
pub fn store(fixture: &Fixture, path: &Path) {
    let facts = fixture.facts();
    let versions = Versions {
        program: facts.program_version.to_owned(),
        engine: fixture.study.engine.clone(),
        engine_version: facts.engine_version.to_owned(),
        created_utc: facts.created_utc.to_owned(),
    };
    let mut store = Store::create(path, &fixture.study, &fixture.topology, &versions).unwrap();
    let blocks = fixture.runs.iter().map(|run| run.block + 1).max().unwrap_or(0);
    store.set_planned_blocks(blocks).unwrap();
    for block in 0..blocks {
        store.block_started(block, 0, f64::from(block)).unwrap();
        for run in fixture.runs.iter().filter(|run| run.block == block) {
            store.append_run(run).unwrap();
        }
        store.block_complete(block, 0, f64::from(block) + 0.9).unwrap();
    }
    store.finish(EndState::Complete).unwrap();
}
