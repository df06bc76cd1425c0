//! Instances of an engine in one study: other programs, settings or data devices, as levels of factors. Each has its
//! own data, and all are in every block, so that they are compared within blocks.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

use crate::engine::URL;
use crate::{OptionValue, Options};

/// Prefix of factors that are engine options: `engine.bin`.
pub const ENGINE_FACTOR: &str = "engine.";

/// Factor whose levels are data folders of the engine, each on a device of its own.
pub const DEVICE_FACTOR: &str = "device";

/// Query option whose levels need separate instances, since a server is either restarted between queries or not.
pub const CACHE: &str = "cache";

/// Maximum length of a level's label made of all differing path components, bytes.
const MOST_LABEL_BYTES: usize = 24;

/// How a treatment's engine instance differs from the study's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// Options of the engine, above the study's.
    pub options: Options,
    /// Parent folder of its data; `None` for the study's own.
    pub device: Option<String>,
}

impl Instance {
    /// Whether it is the study's own.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// This instance with another's options and device on top.
    pub(crate) fn with(mut self, other: &Self) -> Self {
        self.options.extend(other.options.clone());
        self.device = other.device.clone().or(self.device);
        self
    }

    /// The instance of checked factor levels.
    pub(crate) fn of(levels: &Options) -> Self {
        let option = |(factor, level): (&String, &OptionValue)| {
            Some((factor.strip_prefix(ENGINE_FACTOR)?.to_owned(), level.clone()))
        };
        Self {
            options: levels.iter().filter_map(option).collect(),
            device: levels.get(DEVICE_FACTOR).map(ToString::to_string),
        }
    }
}

/// Whether a factor selects instances, not options of the workload.
pub fn is_factor(factor: &str) -> bool {
    factor == DEVICE_FACTOR || factor.starts_with(ENGINE_FACTOR)
}

/// Checks a level of such a factor.
///
/// # Errors
/// One line: what is wrong.
pub(crate) fn check(factor: &str, level: &OptionValue) -> Result<(), String> {
    if let Some(option) = factor.strip_prefix(ENGINE_FACTOR) {
        return match option {
            "" => Err(format!("'{factor}' does not name an engine option, such as engine.bin")),
            URL => {
                Err("a study measures one server; for two, run one study each, then: threadwise compare A B"
                    .to_owned())
            }
            _ => Ok(()),
        };
    }
    match level {
        OptionValue::Text(folder) if Path::new(folder).is_absolute() => Ok(()),
        _ => Err(format!("device '{level}' is not the absolute path of a folder, such as /mnt/nvme")),
    }
}

/// Labels that distinguish levels: the differing components of paths, the whole text of anything else.
pub(crate) fn short_labels(levels: &[&str]) -> Vec<String> {
    let whole = || -> Vec<String> { levels.iter().map(|level| (*level).to_owned()).collect() };
    if levels.len() < 2 || !levels.iter().all(|level| level.starts_with('/')) {
        return whole();
    }
    let mut parts: Vec<Vec<&str>> =
        levels.iter().map(|level| level.trim_end_matches('/').split('/').collect()).collect();
    let is_common = |parts: &[Vec<&str>], part: for<'a> fn(&'a [&'a str]) -> Option<&'a &'a str>| {
        let first = parts.first().and_then(|one| part(one));
        parts.iter().all(|one| one.len() > 1 && part(one) == first)
    };
    while is_common(&parts, |one| one.first()) {
        for one in &mut parts {
            one.remove(0);
        }
    }
    while is_common(&parts, |one| one.last()) {
        for one in &mut parts {
            one.pop();
        }
    }
    let labels: Vec<String> = parts.iter().map(|one| one.join("/")).collect();
    if labels.contains(&String::new()) {
        return whole();
    }
    // Labels become treatment names and column titles.
    let is_short = |labels: &[String]| labels.iter().all(|label| label.len() <= MOST_LABEL_BYTES);
    let ends = [<[&str]>::last, <[&str]>::first].map(|end| {
        parts.iter().filter_map(|one| end(one)).map(|part| (*part).to_owned()).collect::<Vec<String>>()
    });
    let is_clear = |labels: &&Vec<String>| labels.iter().collect::<BTreeSet<_>>().len() == levels.len();
    let shorter = ends.iter().find(is_clear).filter(|_| !is_short(&labels));
    shorter.cloned().unwrap_or(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_become_options_of_the_engine_and_a_folder() {
        let text = |text: &str| OptionValue::Text(text.to_owned());
        let levels = [("engine.bin", text("/a/bin")), ("device", text("/mnt/a")), ("cache", text("cold"))];
        let levels: Options = levels.into_iter().map(|(name, level)| (name.to_owned(), level)).collect();
        let instance = Instance::of(&levels);
        assert_eq!(instance.options, Options::from([("bin".to_owned(), text("/a/bin"))]));
        assert_eq!(instance.device.as_deref(), Some("/mnt/a"));
        assert!(!instance.is_default() && Instance::of(&Options::new()).is_default());
        assert!(
            is_factor("engine.bin") && is_factor("device") && !is_factor("engine") && !is_factor("cache")
        );
    }

    #[test]
    fn a_second_server_and_a_folder_that_is_none_are_refused() {
        let text = |text: &str| OptionValue::Text(text.to_owned());
        assert!(check("engine.url", &text("postgres://x")).unwrap_err().contains("threadwise compare"));
        assert!(check("engine.", &text("x")).unwrap_err().contains("does not name an engine option"));
        assert!(check("device", &text("mnt")).unwrap_err().contains("absolute path"));
        assert!(check("device", &OptionValue::Integer(1)).unwrap_err().contains("absolute path"));
        assert!(check("engine.bin", &text("/x")).is_ok() && check("device", &text("/mnt")).is_ok());
    }

    #[test]
    fn paths_are_told_apart_by_what_differs() {
        assert_eq!(short_labels(&["/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/17/bin"]), ["16", "17"]);
        assert_eq!(short_labels(&["/mnt/a", "/mnt/b/c/"]), ["a", "b/c"]);
        assert_eq!(short_labels(&["/a", "/a/b"]), ["a", "a/b"]);
        assert_eq!(
            short_labels(&["/tmp/old/bin/python", "/opt/engines/analytics/newest/bin/python"]),
            ["old", "newest"]
        );
        let deep = ["/a/some-long-folder-name/venv/bin", "/b/some-long-folder-name/venv/bin"];
        assert_eq!(short_labels(&deep), ["a", "b"]);
        assert_eq!(short_labels(&["warm", "cold"]), ["warm", "cold"]);
        assert_eq!(short_labels(&["/one"]), ["/one"]);
        assert_eq!(short_labels(&["/", "/mnt"]), ["/", "/mnt"]);
    }
}
