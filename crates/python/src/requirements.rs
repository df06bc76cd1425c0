//! The pinned packages of each environment, from its requirements file.
//!
//! Source of the form: pip's documentation, "Requirements File Format" and "Secure installs".

use sha2::{Digest, Sha256};

/// The packages of one environment.
#[derive(Debug, PartialEq, Eq)]
pub struct Requirements {
    /// Name of the environment and its folder.
    pub environment: &'static str,
    /// The file for pip, with how it was made and how it is used offline.
    pub text: &'static str,
    /// Modules that its workers import.
    pub modules: &'static [&'static str],
    /// Whether it has the generator of the data.
    pub has_generator: bool,
    /// Free disk space for an installation, in bytes.
    pub needed_bytes: u64,
}

/// First and last minor version of CPython 3 for which all the pinned files exist.
pub const PYTHON_MINOR: (u32, u32) = (11, 14);

/// Minor version of glibc 2 that the pinned files need (`manylinux_2_28`, PEP 600).
pub const GLIBC_MINOR: u32 = 28;

/// Machines for which all the pinned files exist, as `uname -m` names them.
pub const MACHINES: [&str; 2] = ["x86_64", "aarch64"];

/// File name of the generator.
pub(crate) const GENERATOR: &str = "tpchgen-cli";

/// A package in its pinned version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin {
    /// Name of the package.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

impl Requirements {
    /// All pinned packages, in the file's order.
    pub fn pins(&self) -> impl Iterator<Item = Pin> + use<> {
        self.lines().filter_map(|line| {
            let (name, version) = line.split_once("==")?;
            Some(Pin { name, version: version.trim_end_matches('\\').trim_end() })
        })
    }

    /// SHA-256 of the requirements, in hexadecimal; comments do not count.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for line in self.lines() {
            hash.update(line.as_bytes());
            hash.update(b"\n");
        }
        format!("{:x}", hash.finalize())
    }

    fn lines(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{ANALYTICS, environments};

    #[test]
    fn every_package_has_one_version_and_its_hashes() {
        for requirements in environments() {
            let pins: Vec<Pin> = requirements.pins().collect();
            assert!(pins.iter().all(|pin| pin.version.split('.').all(|part| part.parse::<u32>().is_ok())));
            // The comment lines before a package name its files, one for each hash.
            let (mut files, mut hashes) = (0, 0);
            for line in requirements.text.lines().skip_while(|line| !line.is_empty()) {
                files += usize::from(line.starts_with("# "));
                let Some((_, hash)) = line.split_once("--hash=sha256:") else { continue };
                let hash = hash.trim_end_matches(" \\");
                assert!(hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{line}");
                hashes += 1;
            }
            let pure = requirements.text.matches("# py3-none-any").count();
            assert!(hashes >= 2 * pins.len() - pure, "both machines, less the packages that are pure Python");
            assert_eq!(files, hashes);
        }
    }

    #[test]
    fn the_shared_environment_has_no_other_packages() {
        let names: Vec<&str> = ANALYTICS.pins().map(|pin| pin.name).collect();
        assert_eq!(
            names,
            ["cloudpickle", "datafusion", "duckdb", "pyarrow", "tpchgen-cli", "typing_extensions"]
        );
    }

    #[test]
    fn every_python_version_and_machine_has_a_file_of_each_compiled_package() {
        for requirements in environments() {
            let mut sections = requirements.text.split("\n\n");
            // Of those that have no compiled package for this glibc there is nothing to look at.
            let Some(pyarrow) = sections.find(|section| section.contains("pyarrow==")) else {
                assert!(!requirements.modules.contains(&"pyarrow"));
                continue;
            };
            for minor in PYTHON_MINOR.0..=PYTHON_MINOR.1 {
                for machine in MACHINES {
                    let file = format!("# cp3{minor}-cp3{minor}-manylinux_2_{GLIBC_MINOR}_{machine}");
                    assert!(pyarrow.contains(&file), "{file}");
                }
            }
        }
    }

    #[test]
    fn no_address_is_in_a_file() {
        for text in environments().map(|requirements| requirements.text) {
            assert!(!text.contains("://") && !text.contains(".org") && !text.contains("index-url"));
        }
    }

    #[test]
    fn the_fingerprint_is_that_of_the_requirements_alone() {
        for requirements in environments() {
            assert_eq!(requirements.fingerprint().len(), 64);
            assert!(requirements.lines().all(|line| line.contains("==") || line.starts_with("--hash=")));
        }
    }
}
