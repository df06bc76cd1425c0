//! The queries of all streams, and their texts in the workers' folders.

use crate::RunnerError;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::Path;
use threadwise_study::Study;
use threadwise_tpch::options::{Source, TpchOptions};
use threadwise_tpch::{Dialect, Parameters, sql};

/// The queries of all streams, with their parameters.
pub(super) struct Questions {
    pub queries: Vec<u8>,
    pub streams: u32,
    pub parameters: BTreeMap<(u32, u8), Parameters>,
}

impl Questions {
    pub fn of(study: &Study, options: &TpchOptions) -> Result<Self, RunnerError> {
        let streams = study.treatments.iter().map(|treatment| treatment.sessions).max().unwrap_or(1);
        let mut parameters = BTreeMap::new();
        for stream in 0..streams {
            for &query in &options.queries {
                let drawn = match options.parameters {
                    Source::Validation => Parameters::validation(query, options.scale),
                    Source::Seeded => Parameters::seeded(query, options.scale, study.seed, stream),
                };
                parameters.insert((stream, query), drawn.map_err(failed)?);
            }
        }
        Ok(Self { queries: options.queries.clone(), streams, parameters })
    }

    /// Writes a stream's texts into a new folder.
    pub fn write(&self, dialect: Dialect, stream: u32, folder: &Path) -> Result<(), RunnerError> {
        DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(|error| at(folder, &error))?;
        for (&(_, query), parameters) in
            self.parameters.iter().filter(|((of_stream, _), _)| *of_stream == stream)
        {
            let file = folder.join(format!("q{query:02}.sql"));
            let text = sql(dialect, query, parameters).map_err(failed)?;
            fs::write(&file, text).map_err(|error| at(&file, &error))?;
        }
        Ok(())
    }
}

pub(super) fn link(target: &Path, name: &Path) -> Result<(), RunnerError> {
    symlink(target, name).map_err(|error| at(name, &error))
}

fn at(path: &Path, error: &std::io::Error) -> RunnerError {
    failed(format!("{}: {error}", path.display()))
}

pub(super) fn failed(why: impl ToString) -> RunnerError {
    RunnerError::Queries { why: why.to_string() }
}
