//! The list of all engines of this program: light ones, clients of servers, Python packages. Engines answer everything
//! else themselves.

mod program;

use crate::error::AppError;
pub use program::InProgram;
use std::sync::LazyLock;
use threadwise_engine::{Address, Engine, engines};
use threadwise_engine_firebird::Firebird;
use threadwise_engine_mariadb::{Mariadb, Mysql};
use threadwise_engine_oracle::Oracle;
use threadwise_engine_postgres::Postgres;
use threadwise_engine_sqlserver::Sqlserver;
use threadwise_python::{AnalyticsEngine, known};
use threadwise_study::engine::{Properties, URL};
use threadwise_study::{OptionValue, Options, Study};
use threadwise_worklist::Worklist;

/// Engines with a worker program.
static IN_PROGRAMS: [InProgram; 1] = [InProgram::beside(&Sqlserver)];

static ALL: LazyLock<Vec<&'static dyn Engine>> = LazyLock::new(|| {
    // Those without requirements first; the model last, since it measures nothing.
    let (models, light): (Vec<_>, Vec<_>) =
        engines::all().iter().copied().partition(|engine| engine.properties().simulated);
    let servers: [&'static dyn Engine; 5] = [&Postgres, &Mariadb, &Mysql, &Firebird, &Oracle];
    let apart = IN_PROGRAMS.iter().map(|engine| engine as &'static dyn Engine);
    light
        .into_iter()
        .chain(servers)
        .chain(apart)
        .chain([&Worklist as &'static dyn Engine])
        .chain(models)
        .collect()
});

/// Every engine, in the order in which `threadwise list` shows them.
pub fn all() -> &'static [&'static dyn Engine] {
    &ALL
}

/// The built-in engine of this name.
pub fn find(name: &str) -> Option<&'static dyn Engine> {
    all().iter().copied().find(|engine| engine.name() == name)
}

/// The engine of this name, if its client is a worker program.
pub fn in_program(name: &str) -> Option<&'static InProgram> {
    IN_PROGRAMS.iter().find(|engine| engine.name() == name)
}

/// Names of all engines, those on Python packages last.
pub fn names() -> Vec<&'static str> {
    all().iter().map(|engine| engine.name()).chain(embedded().map(|engine| engine.name)).collect()
}

/// Engines inside a Python package, which are not in [`all`].
pub fn embedded() -> impl Iterator<Item = &'static AnalyticsEngine> {
    known().iter().filter(|engine| !engine.is_client)
}

/// Properties of the engine of this name; `None` for an external program, which must be asked.
pub fn properties(name: &str) -> Option<Properties> {
    let analytics = || embedded().find(|engine| engine.name == name).map(AnalyticsEngine::properties);
    find(name).map(|engine| engine.properties()).or_else(analytics)
}

/// Adds engine properties to a study that was stored before engines reported them.
pub fn complete(study: &mut Study) {
    if study.engine_properties.is_none() {
        study.engine_properties = properties(&study.engine);
    }
}

/// The engine for an alias, in lower case.
pub fn by_other_name(name: &str) -> Option<&'static str> {
    let has = |names: &[&str]| names.contains(&name);
    let built_in = all().iter().find(|engine| has(engine.known_by().other_names)).map(|engine| engine.name());
    built_in.or_else(|| embedded().find(|engine| has(engine.other_names)).map(|engine| engine.name))
}

/// Process names of all engines' servers.
pub fn servers() -> Vec<&'static str> {
    all().iter().flat_map(|engine| engine.known_by().servers).copied().collect()
}

/// Programs that engines start in a study's data folder and that may outlive their workers.
pub fn started_programs() -> Vec<String> {
    let names = all().iter().flat_map(|engine| engine.known_by().started);
    names.map(|&name| name.to_owned()).collect()
}

/// Prefixes of the environment variables that engines read.
pub fn variables() -> Vec<String> {
    threadwise_runner::variables(all())
}

/// Parses `--engine`: a name, or the address of a server, which is an engine and its option `url`.
///
/// # Errors
/// An address that contains a password, or a kind of server without an engine.
pub fn named(text: &str) -> Result<(String, Options), AppError> {
    let Some((scheme, rest)) = text.split_once("://") else { return Ok((text.to_owned(), Options::new())) };
    let refused = |why: String| Err(AppError::Input(format!("--engine {scheme}://…: {why}")));
    let Some((engine, address)) = addresses().find(|(_, address)| address.schemes.contains(&scheme)) else {
        let schemes = addresses().filter(|(_, address)| address.password.is_ok());
        let first = schemes.filter_map(|(_, address)| address.schemes.first());
        let begin: Vec<String> = first.map(|scheme| format!("{scheme}://")).collect();
        return refused(format!("addresses of servers begin with {}", begin.join(" or ")));
    };
    let elsewhere = match address.password {
        Ok(elsewhere) => elsewhere,
        Err(why) => return refused(why.to_owned()),
    };
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    if user.is_some_and(|user| user.contains(':')) || rest.contains("password=") {
        return refused(format!(
            "an address must not contain a password, since others can read it: remove it, and use {elsewhere}"
        ));
    }
    Ok((engine.name().to_owned(), Options::from([(URL.to_owned(), OptionValue::Text(text.to_owned()))])))
}

/// The address schemes of engines.
fn addresses() -> impl Iterator<Item = (&'static dyn Engine, Address)> {
    all().iter().filter_map(|engine| Some((*engine, engine.known_by().address?)))
}

/// Whether an engine is a server with clients: an address, or an engine that starts one.
pub fn is_server(engine: &str) -> bool {
    let address = || find(engine)?.known_by().address;
    engine.contains("://") || address().is_some_and(|address| address.password.is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_asked_as_clients_ask() {
        assert!(is_server("postgres://app@db/shop") && is_server("mariadb"));
        assert!(!is_server("sqlite") && !is_server("firebird"));
    }

    #[test]
    fn names_are_names_and_addresses_are_options() {
        assert_eq!(named("sqlite").unwrap(), ("sqlite".to_owned(), Options::new()));
        let (engine, options) = named("postgresql://me@db:5433/x").unwrap();
        assert_eq!(
            (engine.as_str(), options["url"].to_string().as_str()),
            ("postgres", "postgresql://me@db:5433/x")
        );
        assert_eq!(named("mysql:///x").unwrap().0, "mysql");
    }

    #[test]
    fn passwords_are_refused_and_not_repeated() {
        for bad in ["postgres://me:secret@db/x", "mariadb://me:secret@db", "postgres://db/x?password=secret"]
        {
            let message = named(bad).unwrap_err().to_string();
            assert!(message.contains("password") && !message.contains("secret"), "{message}");
        }
        assert!(named("firebird://db/x").unwrap_err().to_string().contains("--engine firebird runs"));
        assert!(named("vertica://db").unwrap_err().to_string().contains("postgres://"));
    }

    #[test]
    fn every_engine_has_its_own_name_and_one_line() {
        let mut names: Vec<&str> = all().iter().map(|engine| engine.name()).collect();
        assert!(all().iter().all(|engine| !engine.about().contains('\n') && !engine.workloads().is_empty()));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().len());
        assert!(find("postgres").is_some() && find("vertica").is_none());
    }
}
