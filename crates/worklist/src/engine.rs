//! The engine `worklist`: a treatment's run is one process that does the whole list, `threadwise
//! worklist-run`, under the treatment's placement, as the engine `command` runs any command.
//!
//! The items are in a folder of the study that all treatments with the same list share; treatments take turns, so
//! that one private server at a time runs on a shared data directory.

mod asked;
mod run;
mod running;
#[cfg(test)]
mod tests;

use threadwise_engine::{Engine, EngineError, LoadRequest, Loaded, Running, StartRequest};
use threadwise_study::engine::Properties;
use threadwise_study::{Options, Workload};

use crate::error::{ENGINE, failed, refuse};
use crate::recipe::Kind;
use crate::{list, versions};
use asked::Asked;
use running::RunningWorklist;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Worklist;

impl Engine for Worklist {
    fn name(&self) -> &'static str {
        ENGINE
    }

    fn version(&self, _: &Options) -> Result<String, EngineError> {
        Ok(env!("CARGO_PKG_VERSION").to_owned())
    }

    fn about(&self) -> &'static str {
        "a list of files or databases, N jobs, a recipe of commands for each item"
    }

    fn workloads(&self) -> &'static [Workload] {
        &[Workload::WorkList]
    }

    fn properties(&self) -> Properties {
        Properties { service_threads: false, ..Properties::default() }
    }

    /// Every variable: a command may be the user's own, and gets passwords this way.
    fn environment(&self) -> &'static [&'static str] {
        &[""]
    }

    fn check(&self, request: &LoadRequest) -> Result<(), EngineError> {
        let asked = Asked::read(request)?;
        let Some(list) = &asked.options.list else { return Ok(()) };
        match asked.recipe.items {
            Kind::Text => list::lines(list).map(drop),
            Kind::Sqlite | Kind::Firebird => {
                let files = list::files(list)?;
                files.iter().try_for_each(|path| list::expect_kind(path, asked.recipe.items))
            }
            Kind::Postgres | Kind::Mariadb => Err(refuse(
                "list",
                format!(
                    "the recipe '{}' makes its own databases in a private server; for your databases give your own \
                     command for each, after --",
                    asked.recipe.name
                ),
            )),
        }
    }

    fn load(&self, request: &LoadRequest) -> Result<Loaded, EngineError> {
        let asked = Asked::read(request)?;
        let home = list::home(request, &asked.options, asked.recipe.items);
        let listed = match list::found(&home) {
            Some(listed) => listed,
            None => {
                let listed = list::make(&home, request, &asked.options, asked.recipe.items)?;
                list::finish(&home, &listed)?;
                listed
            }
        };
        let mut notes = listed.notes;
        notes.extend(versions::note(asked.recipe.items, &asked.programs));
        Ok(Loaded { notes, ..Loaded::default() })
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Running>, EngineError> {
        let load = &request.load;
        let asked = Asked::read(load)?;
        let home = list::home(load, &asked.options, asked.recipe.items);
        let listed = list::found(&home).ok_or_else(|| {
            failed("find its items", "there are none for these options; load them before start")
        })?;
        Ok(Box::new(RunningWorklist::start(asked, home, listed, request)?))
    }
}
