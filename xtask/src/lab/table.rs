//! The tables of the laboratory: parts, what is fetched, Debian packages (`parts.toml`).

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// All tables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tables {
    /// The parts, the fastest first.
    #[serde(rename = "part")]
    pub parts: Vec<LabPart>,
    /// What is fetched for them.
    pub fetched: Vec<Fetched>,
    /// Names of Debian packages, each with programs of which any one shows that it is installed.
    pub packages: BTreeMap<String, Vec<String>>,
}

/// A part of the laboratory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabPart {
    /// Its name.
    pub name: String,
    /// What it tries.
    pub about: String,
    /// Names of Debian packages.
    #[serde(default)]
    pub packages: Vec<String>,
    /// What the smoke omits.
    #[serde(default)]
    pub fetched: Vec<String>,
    /// Engines to add with `threadwise engine add`: for the smoke, and for all of it; empty for none.
    #[serde(default)]
    pub engines: [String; 2],
    /// Whether there are modules `lab_NAME` of tests; those of the smoke are called `smoke…`.
    #[serde(default)]
    pub tests: bool,
}

/// Something to fetch.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fetched {
    /// Its name and its folder.
    pub name: String,
    /// Tests read the folder [`Fetched::inside`] from it.
    pub variable: String,
    /// What fetches it.
    pub by: By,
    /// Its name there; for pip the requirements are a text.
    #[serde(default)]
    pub package: String,
    /// The pinned version.
    pub version: String,
    /// The checksum, in the form of its tool; for pip, the text that has them; none for cargo, whose index has it.
    #[serde(default)]
    pub checksum: String,
    /// The part that tests use, in its folder.
    pub inside: String,
    /// Further options of its tool.
    #[serde(default)]
    pub options: Vec<String>,
    /// A command in the folder of its package, when it has been fetched.
    #[serde(default)]
    pub then: String,
}

/// What fetches something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// A package of npm.
    Npm,
    /// A file of Maven's, unpacked.
    Maven,
    /// A Python environment with requirements.
    Pip,
    /// One Python package in a folder.
    PipTarget,
    /// A program that is compiled.
    Cargo,
}

impl By {
    /// Names of the Debian packages that it needs.
    pub fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Npm => &["npm"],
            Self::Maven => &["maven", "python3"],
            Self::Pip | Self::PipTarget => &["python3", "python3-venv"],
            Self::Cargo => &[],
        }
    }
}

/// The tables as they are in the file.
pub static TABLES: LazyLock<Result<Tables, String>> = LazyLock::new(|| {
    toml::from_str(include_str!("parts.toml")).map_err(|error| format!("parts.toml: {error}"))
});

/// The tables.
///
/// # Errors
/// The file is wrong.
pub fn tables() -> Result<&'static Tables, String> {
    TABLES.as_ref().map_err(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_in_its_table_and_parts_have_names_of_their_own() {
        let tables = tables().unwrap();
        let names: std::collections::BTreeSet<&String> = tables.parts.iter().map(|part| &part.name).collect();
        assert_eq!(names.len(), tables.parts.len());
        for part in &tables.parts {
            assert!(part.packages.iter().all(|name| tables.packages.contains_key(name)), "{part:?}");
            let is_fetched = |name: &String| tables.fetched.iter().any(|fetched| fetched.name == *name);
            assert!(part.fetched.iter().all(is_fetched), "{part:?}");
        }
        for fetched in &tables.fetched {
            assert!(
                fetched.by.packages().iter().all(|name| tables.packages.contains_key(*name)),
                "{fetched:?}"
            );
        }
    }
}
