//! Engines with a Python worker program and a user's server: facts that need no connection.

use crate::engine::{AnalyticsEngine, SCHEMES, known};
use threadwise_engine::{Address, Engine, EngineError, KnownBy, LoadRequest, Loaded, Running, StartRequest};
use threadwise_study::engine::Properties;
use threadwise_study::{Options, Workload};

/// Oracle Database.
#[derive(Debug, Clone, Copy)]
pub struct Oracle;

impl Oracle {
    fn entry() -> &'static AnalyticsEngine {
        // The list of engines is a constant with this one in it.
        known().iter().find(|engine| engine.is_client).unwrap_or(&known()[0])
    }

    fn elsewhere(&self, action: &str) -> EngineError {
        EngineError::Failed {
            engine: self.name().to_owned(),
            action: action.to_owned(),
            why: "its worker program does that".to_owned(),
        }
    }
}

impl Engine for Oracle {
    fn name(&self) -> &'static str {
        Self::entry().name
    }

    fn version(&self, _: &Options) -> Result<String, EngineError> {
        Err(self.elsewhere("ask for the version"))
    }

    fn about(&self) -> &'static str {
        Self::entry().about
    }

    fn workloads(&self) -> &'static [Workload] {
        Self::entry().workloads
    }

    /// A block is the usual one of 8 KiB. Bytes of a row and of a data set are estimates.
    fn properties(&self) -> Properties {
        Properties {
            block_bytes: 8192,
            row_bytes: 210,
            dialect: Some(Self::entry().dialect.to_owned()),
            tpch_bytes: 1_750_000_000,
            ..Properties::default()
        }
    }

    fn known_by(&self) -> KnownBy {
        KnownBy {
            other_names: Self::entry().other_names,
            address: Some(Address {
                schemes: &SCHEMES,
                password: Ok("ORACLE_PASSWORD or --engine-option password_file=/path"),
            }),
            // Processes are named after their instance (ora_pmon_NAME), which is unknown here.
            servers: &[],
            started: &[],
        }
    }

    fn environment(&self) -> &'static [&'static str] {
        &["ORACLE"]
    }

    /// Its worker checks options.
    fn check(&self, _: &LoadRequest) -> Result<(), EngineError> {
        Ok(())
    }

    fn load(&self, _: &LoadRequest) -> Result<Loaded, EngineError> {
        Err(self.elsewhere("load"))
    }

    fn start(&self, _: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        Err(self.elsewhere("start"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_that_of_its_entry() {
        assert_eq!((Oracle.name(), Oracle.workloads().len()), ("oracle", 3));
        assert_eq!(Oracle.properties().fault(), None);
        assert!(Oracle.version(&Options::new()).is_err());
    }
}
