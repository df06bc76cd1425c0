//! The engine's options.

use std::path::PathBuf;
use threadwise_engine::EngineError;
use threadwise_engine::workloads::options::{only, refuse, whole};
use threadwise_study::{OptionValue, Options};

/// Fewest and most accepted pages of a cache; Firebird itself uses at least 50.
pub(crate) const CACHE_PAGES: (u64, u64) = (50, 1 << 27);

/// Option: the user's database file, of which a copy is measured.
pub(crate) const DATABASE_OPTION: &str = "database";

/// The engine's options, checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Own {
    /// Folder of the programs.
    pub bin: Option<PathBuf>,
    /// Pages of each session's cache; if absent, as many as the data needs.
    pub cache_pages: Option<u64>,
    /// The user's database file, for the workload that uses one.
    pub database: Option<PathBuf>,
}

/// Reads and checks them.
///
/// # Errors
/// The first option that is unknown or impossible.
pub(crate) fn parse(options: &Options) -> Result<Own, EngineError> {
    if options.contains_key("url") {
        let why = "a running Firebird server is not measured; leave it out: sessions contain the engine";
        return Err(refuse("url", why.into()));
    }
    only(options, "firebird", &["bin", "cache_pages", DATABASE_OPTION])?;
    let path = |name: &str, what: &str| match options.get(name) {
        None => Ok(None),
        Some(OptionValue::Text(text)) if text.starts_with('/') => Ok(Some(PathBuf::from(text))),
        Some(other) => Err(refuse(name, format!("'{other}' is not the absolute path of a {what}"))),
    };
    let (bin, database) = (path("bin", "folder")?, path(DATABASE_OPTION, "file")?);
    let cache_pages = whole(options, "cache_pages", CACHE_PAGES.0, CACHE_PAGES.1)?;
    Ok(Own { bin, cache_pages, database })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let options = |name: &str, value: OptionValue| Options::from([(name.to_owned(), value)]);
        let text = |text: &str| OptionValue::Text(text.into());
        for (name, value, part) in [
            ("url", text("firebird://db/x"), "not measured"),
            ("bin", text("bin"), "absolute path of a folder"),
            ("database", text("shop.fdb"), "absolute path of a file"),
            ("cache_pages", OptionValue::Integer(49), "from 50"),
            ("restart", text("study"), "allowed: bin, cache_pages"),
        ] {
            let message = parse(&options(name, value)).unwrap_err().to_string();
            assert!(message.contains(name) && message.contains(part), "{message}");
        }
        assert_eq!(parse(&Options::new()).unwrap(), Own::default());
        let parsed = parse(&options("bin", text("/opt/firebird/bin"))).unwrap();
        assert_eq!(parsed.bin, Some(PathBuf::from("/opt/firebird/bin")));
    }
}
