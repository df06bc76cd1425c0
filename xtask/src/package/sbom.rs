//! The list of what the programs are made of, in the form of CycloneDX 1.5 (JSON; cyclonedx.org).
//!
//! Crates, versions, licences and who needs whom are cargo's (`cargo tree`), sums those of Cargo.lock. The C library
//! is linked statically, so it is one of the components.

use crate::command::Task;
use crate::dist::{PROGRAMS, Target, VERSION};
use crate::files;
use crate::licences;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The list for a target, made at a time (RFC 3339).
pub fn list(target: &Target, time: &str) -> Result<String, String> {
    let tree = "cargo tree --locked --target {} --edges normal --prefix depth --format {}";
    let tree = Task::new(tree, &[&target.triple(), &"{p}|{l}"]);
    let tree = PROGRAMS.iter().fold(tree, |tree, program| tree.more(["--package", program])).output()?;
    let lock = files::read_text("Cargo.lock")?;
    let libc =
        format!("printf '#include <features.h>\\n__GLIBC__.__GLIBC_MINOR__' | {} -E -P -", target.cc());
    let libc = Task::new("sh -c {}", &[&libc]).output()?.replace(char::is_whitespace, "");
    let document = document(&tree, &sums(&lock)?, &libc, time);
    serde_json::to_string_pretty(&document).map_err(|why| format!("the list of components: {why}"))
}

/// Crates by name and version, with the SHA-256 of their archive.
type Sums = BTreeMap<[String; 2], String>;

fn sums(lock: &str) -> Result<Sums, String> {
    let lock: toml::Table = lock.parse().map_err(|why| format!("Cargo.lock: {why}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let sum = |package: &toml::Value| {
        let text = |key: &str| package.get(key)?.as_str().map(str::to_owned);
        Some(([text("name")?, text("version")?], text("checksum")?))
    };
    Ok(packages.filter_map(sum).collect())
}

/// The document from the lines of `cargo tree --prefix depth`.
fn document(tree: &str, sums: &Sums, libc: &str, time: &str) -> Value {
    let mut components = BTreeMap::new();
    let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let root = "threadwise".to_owned();
    // Each line's ancestors: the last one of every smaller depth.
    let mut path = vec![root.clone()];
    for line in tree.lines() {
        let digits = line.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(0);
        let (depth, line) = line.split_at(digits);
        let (Ok(depth), Some((package, is_member))) = (depth.parse::<usize>(), licences::read_line(line))
        else {
            continue;
        };
        let reference = format!("pkg:cargo/{}@{}", package.name, package.version);
        path.truncate(depth + 1);
        needs.entry(path.last().cloned().unwrap_or_default()).or_default().insert(reference.clone());
        path.push(reference.clone());
        let mut component = json!({
            "type": if PROGRAMS.contains(&package.name.as_str()) { "application" } else { "library" },
            "bom-ref": reference, "name": package.name, "version": package.version,
        });
        if let Some(licence) = licences::licence(&package) {
            component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
        }
        if !is_member {
            component["purl"] = json!(reference);
        }
        if let Some(sum) = sums.get(&[package.name, package.version]) {
            component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
        }
        components.insert(reference, component);
    }
    components.insert(
        "glibc".to_owned(),
        json!({
            "type": "library", "bom-ref": "glibc", "name": "glibc", "version": libc,
            "licenses": [{"expression": "LGPL-2.1-or-later"}],
        }),
    );
    for program in PROGRAMS {
        needs.entry(format!("pkg:cargo/{program}@{VERSION}")).or_default().insert("glibc".to_owned());
    }
    let dependencies: Vec<Value> =
        needs.iter().map(|(one, others)| json!({"ref": one, "dependsOn": others})).collect();
    let release = json!({"type": "application", "bom-ref": root, "name": root, "version": VERSION});
    json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"timestamp": time, "component": release},
        "components": components.into_values().collect::<Vec<_>>(),
        "dependencies": dependencies,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_have_their_sums_licences_and_dependents() {
        let tree = "0threadwise v0.1.0 (/srv/ours)|MIT\n1a v1.0.0|Zlib/MIT\n2b v2.0.0 (proc-macro)|MIT\n1b v2.0.0|MIT (*)\n\n";
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"00ff\"\n";
        let made = document(tree, &sums(lock).unwrap(), "2.36", "2026-01-01T00:00:00Z");
        let names: Vec<&str> =
            made["components"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
        assert_eq!(names, ["glibc", "a", "b", "threadwise"]);
        let a = &made["components"][1];
        assert_eq!((&a["hashes"][0]["content"], &a["purl"]), (&json!("00ff"), &json!("pkg:cargo/a@1.0.0")));
        assert_eq!(a["licenses"], json!([{"expression": "Zlib OR MIT"}]));
        let needs = |name: &str| {
            let all = made["dependencies"].as_array().unwrap();
            all.iter().find(|one| one["ref"] == name).unwrap()["dependsOn"].clone()
        };
        assert_eq!(needs("threadwise"), json!(["pkg:cargo/threadwise@0.1.0"]));
        assert_eq!(needs("pkg:cargo/a@1.0.0"), json!(["pkg:cargo/b@2.0.0"]));
        let program = format!("pkg:cargo/threadwise@{VERSION}");
        assert_eq!(needs(&program), json!(["glibc", "pkg:cargo/a@1.0.0", "pkg:cargo/b@2.0.0"]));
    }
}
