//! Every engine of this program: the light ones and the clients of servers.

use crate::error::AppError;
use std::sync::LazyLock;
use threadwise_engine::{Engine, engines};
use threadwise_engine_firebird::Firebird;
use threadwise_engine_mariadb::Mariadb;
use threadwise_engine_postgres::Postgres;
use threadwise_study::{OptionValue, Options};
use threadwise_worklist::Worklist;

static ALL: LazyLock<Vec<&'static dyn Engine>> = LazyLock::new(|| {
    let mut all: Vec<&'static dyn Engine> = vec![&Postgres, &Mariadb, &Firebird];
    // Those that need nothing come first; the model last, since it measures nothing.
    let light = engines::all();
    all.splice(0..0, light.iter().copied().filter(|engine| engine.name() != "simulated"));
    all.push(&Worklist);
    all.extend(light.iter().copied().filter(|engine| engine.name() == "simulated"));
    all
});

/// Every engine, in the order in which `threadwise list` shows them.
pub fn all() -> &'static [&'static dyn Engine] {
    &ALL
}

/// The built-in engine of this name.
pub fn find(name: &str) -> Option<&'static dyn Engine> {
    all().iter().copied().find(|engine| engine.name() == name)
}

/// What `--engine` means: a name, or the address of a server, which is an engine and its option
/// `url`.
///
/// # Errors
/// An address with a password in it, or of a kind of server that no engine knows.
pub fn named(text: &str) -> Result<(String, Options), AppError> {
    let Some((scheme, rest)) = text.split_once("://") else { return Ok((text.to_owned(), Options::new())) };
    let engine = match scheme {
        "postgres" | "postgresql" => "postgres",
        "mariadb" | "mysql" => "mariadb",
        "firebird" => {
            let why =
                "a running Firebird server is not measured; --engine firebird has the engine in its sessions";
            return Err(AppError::Input(format!("--engine {scheme}://…: {why}")));
        }
        _ => {
            let why = "addresses of servers begin with postgres:// or mariadb://";
            return Err(AppError::Input(format!("--engine {scheme}://…: {why}")));
        }
    };
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    if user.is_some_and(|user| user.contains(':')) || rest.contains("password=") {
        let elsewhere = match engine {
            "postgres" => "PGPASSWORD or ~/.pgpass",
            _ => "MYSQL_PWD or ~/.my.cnf",
        };
        let why = format!(
            "a password does not belong into an address, where others can read it: take it out, and use {elsewhere}"
        );
        return Err(AppError::Input(format!("--engine {scheme}://…: {why}")));
    }
    Ok((engine.to_owned(), Options::from([("url".to_owned(), OptionValue::Text(text.to_owned()))])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names_and_addresses_are_options() {
        assert_eq!(named("sqlite").unwrap(), ("sqlite".to_owned(), Options::new()));
        let (engine, options) = named("postgresql://me@db:5433/x").unwrap();
        assert_eq!(
            (engine.as_str(), options["url"].to_string().as_str()),
            ("postgres", "postgresql://me@db:5433/x")
        );
        assert_eq!(named("mysql:///x").unwrap().0, "mariadb");
    }

    #[test]
    fn passwords_are_refused_and_not_repeated() {
        for bad in ["postgres://me:secret@db/x", "mariadb://me:secret@db", "postgres://db/x?password=secret"]
        {
            let message = named(bad).unwrap_err().to_string();
            assert!(message.contains("password") && !message.contains("secret"), "{message}");
        }
        assert!(named("firebird://db/x").unwrap_err().to_string().contains("--engine firebird has"));
        assert!(named("oracle://db").unwrap_err().to_string().contains("postgres://"));
    }

    #[test]
    fn every_engine_has_its_own_name_and_one_line() {
        let mut names: Vec<&str> = all().iter().map(|engine| engine.name()).collect();
        assert!(all().iter().all(|engine| !engine.about().contains('\n') && !engine.workloads().is_empty()));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().len());
        assert!(find("postgres").is_some() && find("oracle").is_none());
    }
}
