//! `cargo xtask licences`: licences and duplicate versions of the dependencies.
//!
//! Source of the data: `cargo metadata`, format version 1. Only this target's dependencies count:
//! the lock file also names crates for systems on which the program does not run.

use crate::command::Task;
use crate::spdx;
use serde_json::Value;
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

/// Kinds of dependency that are part of, or run for, the released programs.
const SHIPPED: [&str; 2] = ["normal", "build"];

/// Reads the dependencies and prints the faults.
pub fn run() -> Result<(), String> {
    let arguments = ["metadata", "--format-version", "1", "--locked", "--filter-platform", PLATFORM];
    let text = Task::new("cargo", &arguments).output()?;
    let metadata = serde_json::from_str(&text).map_err(|cause| format!("cargo metadata: {cause}"))?;
    let graph = Graph::of(&metadata).ok_or("cargo metadata does not have the expected form")?;
    let shipped = graph.reached(&SHIPPED);
    let all = graph.reached(&["normal", "build", "dev"]);
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
struct Package {
    name: String,
    version: String,
    licence: Option<String>,
}

/// Packages by id, and their dependencies.
#[derive(Debug, Default)]
struct Graph {
    members: Vec<String>,
    packages: BTreeMap<String, Package>,
    /// From, to, kind (`normal`, `build`, `dev`).
    needs: Vec<(String, String, String)>,
}

impl Graph {
    fn of(metadata: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut graph = Self::default();
        for id in metadata["workspace_members"].as_array()? {
            graph.members.push(text(id)?);
        }
        for package in metadata["packages"].as_array()? {
            let (name, version) = (text(&package["name"])?, text(&package["version"])?);
            let licence = text(&package["license"]);
            graph.packages.insert(text(&package["id"])?, Package { name, version, licence });
        }
        for node in metadata["resolve"]["nodes"].as_array()? {
            for needed in node["deps"].as_array()? {
                for kind in needed["dep_kinds"].as_array()? {
                    let kind = kind["kind"].as_str().unwrap_or("normal").to_owned();
                    graph.needs.push((text(&node["id"])?, text(&needed["pkg"])?, kind));
                }
            }
        }
        Some(graph)
    }

    /// Foreign packages that the workspace reaches over these kinds. Members' own tests count if
    /// `dev` is among the kinds; cargo's graph holds no tests of foreign packages.
    fn reached(&self, kinds: &[&str]) -> Vec<&Package> {
        let mut seen: BTreeSet<&str> = self.members.iter().map(String::as_str).collect();
        let mut waiting: Vec<&str> = seen.iter().copied().collect();
        while let Some(from) = waiting.pop() {
            let edges =
                self.needs.iter().filter(|(id, _, kind)| id == from && kinds.contains(&kind.as_str()));
            for (_, to, _) in edges {
                if seen.insert(to) {
                    waiting.push(to);
                }
            }
        }
        let foreign = seen.into_iter().filter(|id| !self.members.iter().any(|member| member == id));
        foreign.filter_map(|id| self.packages.get(id)).collect()
    }
}

fn bad_licences(packages: &[&Package]) -> Vec<String> {
    let check = |package: &&Package| {
        let read =
            READ.iter().find(|(name, version, _)| *name == package.name && *version == package.version);
        let Some(licence) = package.licence.as_deref().or(read.map(|(.., licence)| *licence)) else {
            return Some("it names no licence".to_owned());
        };
        match spdx::allowed(licence, &ALLOWED) {
            Ok(true) => None,
            Ok(false) => Some(format!("licence '{licence}' is not on the list")),
            Err(why) => Some(why),
        }
    };
    let line =
        |package: &&Package| check(package).map(|why| format!("{} {}: {why}", package.name, package.version));
    packages.iter().filter_map(line).collect()
}

fn duplicates(packages: &[&Package], accepted: &[(&str, &str)]) -> Vec<String> {
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

    fn package(name: &str, version: &str, licence: Option<&str>) -> Package {
        Package { name: name.to_owned(), version: version.to_owned(), licence: licence.map(str::to_owned) }
    }

    fn metadata() -> Value {
        serde_json::json!({
            "workspace_members": ["ours"],
            "packages": [
                {"id": "ours", "name": "ours", "version": "0.1.0", "license": "MIT"},
                {"id": "a1", "name": "a", "version": "1.0.0", "license": "MIT/Apache-2.0"},
                {"id": "a2", "name": "a", "version": "2.0.0", "license": "GPL-3.0-only"},
                {"id": "b", "name": "b", "version": "1.0.0", "license": null},
                {"id": "windows", "name": "windows", "version": "1.0.0", "license": "none"}],
            "resolve": {"nodes": [
                {"id": "ours", "deps": [
                    {"pkg": "a1", "dep_kinds": [{"kind": null}]},
                    {"pkg": "b", "dep_kinds": [{"kind": "dev"}, {"kind": "dev"}]}]},
                {"id": "a1", "deps": [{"pkg": "a2", "dep_kinds": [{"kind": "build"}]}]},
                {"id": "a2", "deps": [{"pkg": "a1", "dep_kinds": [{"kind": null}]}]},
                {"id": "b", "deps": []}]}
        })
    }

    #[test]
    fn only_what_is_reached_counts_and_cycles_end() {
        let graph = Graph::of(&metadata()).expect("complete metadata");
        let names = |kinds: &[&str]| -> Vec<String> {
            graph
                .reached(kinds)
                .iter()
                .map(|package| format!("{} {}", package.name, package.version))
                .collect()
        };
        assert_eq!(names(&["normal"]), ["a 1.0.0"]);
        assert_eq!(names(&SHIPPED), ["a 1.0.0", "a 2.0.0"]);
        assert_eq!(names(&["normal", "build", "dev"]), ["a 1.0.0", "a 2.0.0", "b 1.0.0"]);
    }

    #[test]
    fn metadata_of_another_form_is_noticed() {
        assert!(Graph::of(&serde_json::json!({"packages": []})).is_none());
    }

    #[test]
    fn unknown_missing_and_unreadable_licences_fail() {
        let packages = [
            package("fine", "1.0.0", Some("MIT OR GPL-2.0-only")),
            package("copyleft", "1.0.0", Some("GPL-3.0-only")),
            package("silent", "1.0.0", None),
            package("broken", "1.0.0", Some("MIT OR")),
        ];
        let lines = bad_licences(&packages.iter().collect::<Vec<_>>());
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], "copyleft 1.0.0: licence 'GPL-3.0-only' is not on the list");
        assert_eq!(lines[1], "silent 1.0.0: it names no licence");
        assert!(lines[2].contains("ends too early"));
    }

    #[test]
    fn two_versions_need_a_reason_and_reasons_need_two_versions() {
        let packages =
            [package("a", "1.0.0", None), package("a", "2.0.0", None), package("b", "1.0.0", None)];
        let packages: Vec<&Package> = packages.iter().collect();
        assert_eq!(duplicates(&packages, &[]), ["a: several versions (1.0.0, 2.0.0)"]);
        assert!(duplicates(&packages, &[("a", "c needs the old one")]).is_empty());
        let stale = duplicates(&packages, &[("a", "reason"), ("b", "reason")]);
        assert_eq!(stale, ["b: accepted in several versions, but there is only one"]);
    }
}
