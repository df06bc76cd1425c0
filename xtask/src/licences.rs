//! `cargo xtask licences`: licences and duplicate versions of the dependencies.
//!
//! Source of the data: `cargo tree` (cargo-tree(1)), a line for each package. Only this target's dependencies count:
//! the lock file also names crates for systems on which the program does not run.

use crate::command::Task;
use std::collections::{BTreeMap, BTreeSet};

/// Allowed licences of dependencies.
const ALLOWED: [&str; 7] =
    ["Apache-2.0", "BSD-3-Clause", "CDLA-Permissive-2.0", "ISC", "MIT", "Unicode-3.0", "Zlib"];

/// Crates whose manifest names no licence: version, and the licence in their file, as read.
const READ: [(&str, &str, &str); 1] = [("webpki", "0.22.4", "ISC")];

/// Crates with several accepted versions, each with the reason.
const DUPLICATES: [(&str, &str); 10] = [
    ("syn", "divan, for benchmarks only, has 2; serde, clap and thiserror have 3"),
    ("base64", "pem, of mysql's TLS, has 0.23; the others have 0.22"),
    ("block-buffer", "of digest, see there"),
    ("const-oid", "of digest, see there"),
    ("cpufeatures", "of sha2 and of chacha20"),
    ("crypto-common", "of digest, see there"),
    ("digest", "mysql_common has the generation before that of postgres-protocol"),
    ("fallible-iterator", "postgres has 0.2; rusqlite has 0.3"),
    ("getrandom", "ring has 0.2; others have newer ones"),
    ("sha2", "mysql_common has the generation before that of postgres-protocol"),
];

/// The platform whose dependencies are checked.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// Reads the dependencies and prints the faults.
pub fn run() -> Result<(), String> {
    let packages = |edges: &str| -> Result<BTreeSet<Package>, String> {
        let tree = "cargo tree --workspace --locked --prefix none --target {} --edges {} --format {}";
        Ok(read(&Task::new(tree, &[&PLATFORM, &edges, &"{p}|{l}"]).output()?))
    };
    // What is part of, or runs for, the released programs.
    let shipped = packages("normal,build")?;
    let all = packages("normal,build,dev")?;
    let mut wrong = bad_licences(&shipped);
    wrong.extend(duplicates(&all, &DUPLICATES));
    for line in &wrong {
        eprintln!("{line}");
    }
    if !wrong.is_empty() {
        return Err(format!(
            "{} of {} dependencies need a decision (lists in xtask/src/licences.rs)",
            wrong.len(),
            all.len()
        ));
    }
    let tests_only = all.len() - shipped.len();
    println!("{} dependencies ({tests_only} for tests only): all licences are allowed", all.len());
    for (name, why) in DUPLICATES {
        println!("{name} in several versions: {why}");
    }
    Ok(())
}

/// A package from outside this workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The expression of its manifest, empty without one.
    pub licence: String,
}

/// Packages of others from their lines.
fn read(lines: &str) -> BTreeSet<Package> {
    let of_others = |line| read_line(line).filter(|(_, is_member)| !is_member);
    lines.lines().filter_map(of_others).map(|(package, _)| package).collect()
}

/// A package from its line, `NAME vVERSION|LICENCE`, and whether it is a member of the workspace, which has its folder
/// behind the version. A package that was there before has a star at the end.
pub fn read_line(line: &str) -> Option<(Package, bool)> {
    let (package, licence) = line.trim_end_matches(" (*)").split_once('|')?;
    let mut words = package.split(' ').map(str::to_owned);
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?.to_owned());
    let is_member = words.any(|word| word.starts_with("(/"));
    Some((Package { name, version, licence: licence.to_owned() }, is_member))
}

/// The licence of a package: its manifest's, or the one in its files as read.
pub fn licence(package: &Package) -> Option<&str> {
    let read = READ.iter().find(|(name, version, _)| *name == package.name && *version == package.version);
    match package.licence.as_str() {
        "" => read.map(|(.., licence)| *licence),
        licence => Some(licence),
    }
}

/// Whether a licence can be met with only the allowed ones. The slash is Cargo's older form of `OR`.
fn is_allowed(licence: &str) -> Result<bool, String> {
    let expression = spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX)
        .map_err(|error| format!("licence '{licence}': {}", error.reason))?;
    Ok(expression.evaluate(|one| ALLOWED.contains(&one.to_string().as_str())))
}

fn bad_licences(packages: &BTreeSet<Package>) -> Vec<String> {
    let check = |package: &Package| {
        let Some(licence) = licence(package) else { return Some("it names no licence".to_owned()) };
        match is_allowed(licence) {
            Ok(true) => None,
            Ok(false) => Some(format!("licence '{licence}' is not on the list")),
            Err(why) => Some(why),
        }
    };
    let line =
        |package: &Package| check(package).map(|why| format!("{} {}: {why}", package.name, package.version));
    packages.iter().filter_map(line).collect()
}

fn duplicates(packages: &BTreeSet<Package>, accepted: &[(&str, &str)]) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    let known = |name: &str| accepted.iter().any(|(crate_name, _)| *crate_name == name);
    let several = versions.iter().filter(|(name, versions)| versions.len() > 1 && !known(name));
    let mut lines: Vec<String> = several
        .map(|(name, versions)| format!("{name}: several versions ({})", versions.join(", ")))
        .collect();
    // An obsolete reason would hide the next duplicate.
    let stale = accepted.iter().filter(|(name, _)| versions.get(name).is_none_or(|found| found.len() < 2));
    lines.extend(
        stale.map(|(name, _)| format!("{name}: accepted in several versions, but there is only one")),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str, licence: &str) -> Package {
        Package { name: name.to_owned(), version: version.to_owned(), licence: licence.to_owned() }
    }

    #[test]
    fn packages_of_others_are_read_once() {
        let lines = "ours v0.1.0 (/srv/ours)|MIT\na v1.0.0|MIT\na v1.0.0|MIT (*)\nm v2.0.0 (proc-macro)|\n\n";
        assert_eq!(read(lines), [package("a", "1.0.0", "MIT"), package("m", "2.0.0", "")].into());
    }

    #[test]
    fn expressions_are_met_by_allowed_licences() {
        for (licence, wanted) in [
            ("MIT", true),
            ("GPL-3.0-only", false),
            ("Unlicense/MIT", true),
            ("Apache-2.0 AND GPL-3.0-only", false),
            ("(MIT OR GPL-3.0-only) AND Zlib", true),
            ("Apache-2.0 WITH LLVM-exception", false),
        ] {
            assert_eq!(is_allowed(licence), Ok(wanted), "{licence}");
        }
        assert!(is_allowed("MIT OR").is_err());
    }

    #[test]
    fn unknown_missing_and_unreadable_licences_fail() {
        let packages = [
            package("fine", "1.0.0", "MIT OR GPL-2.0-only"),
            package("copyleft", "1.0.0", "GPL-3.0-only"),
            package("silent", "1.0.0", ""),
            package("broken", "1.0.0", "MIT OR"),
        ];
        let lines = bad_licences(&packages.into());
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1], "copyleft 1.0.0: licence 'GPL-3.0-only' is not on the list");
        assert_eq!(lines[2], "silent 1.0.0: it names no licence");
        assert!(lines[0].starts_with("broken 1.0.0: licence 'MIT OR'"), "{lines:?}");
    }

    #[test]
    fn two_versions_need_a_reason_and_reasons_need_two_versions() {
        let packages =
            [package("a", "1.0.0", ""), package("a", "2.0.0", ""), package("b", "1.0.0", "")].into();
        assert_eq!(duplicates(&packages, &[]), ["a: several versions (1.0.0, 2.0.0)"]);
        assert!(duplicates(&packages, &[("a", "c needs the old one")]).is_empty());
        let stale = duplicates(&packages, &[("a", "reason"), ("b", "reason")]);
        assert_eq!(stale, ["b: accepted in several versions, but there is only one"]);
    }
}
