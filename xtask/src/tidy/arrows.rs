//! Which crate may depend on which: the table of ARCHITECTURE.md. Tests may use what they like.

use super::Violation;

/// Each crate with those that it may depend on. store needs machine for the recorded topology.
const ARROWS: [(&str, &[&str]); 21] = [
    ("machine", &[]),
    ("study", &["machine"]),
    ("telemetry", &["machine", "study"]),
    ("probe", &["machine", "study", "telemetry"]),
    ("doctor", &["machine", "study", "telemetry"]),
    ("process", &["machine"]),
    ("tpch", &["study", "process"]),
    ("engine", &["machine", "study", "process", "tpch"]),
    ("python", &["study"]),
    ("reload", &["process"]),
    ("engine-postgres", &["machine", "study", "engine", "process", "tpch"]),
    ("engine-mariadb", &["machine", "study", "engine", "process"]),
    ("engine-firebird", &["machine", "study", "engine", "process"]),
    ("worklist", &["machine", "study", "engine", "process", "reload", "engine-postgres", "engine-mariadb"]),
    ("store", &["machine", "study"]),
    ("analysis", &["machine", "study"]),
    ("report", &["machine", "study", "analysis"]),
    ("runner", &["machine", "study", "telemetry", "probe", "engine", "process", "store", "tpch"]),
    // For development only; nothing depends on it.
    (
        "fuzz",
        &[
            "machine",
            "study",
            "telemetry",
            "doctor",
            "process",
            "engine",
            "engine-postgres",
            "reload",
            "store",
            "analysis",
            "report",
        ],
    ),
    (
        "threadwise",
        &[
            "machine",
            "study",
            "telemetry",
            "probe",
            "doctor",
            "engine",
            "engine-postgres",
            "engine-mariadb",
            "engine-firebird",
            "python",
            "reload",
            "worklist",
            "tpch",
            "store",
            "analysis",
            "report",
            "runner",
            "process",
        ],
    ),
    ("xtask", &[]),
];

/// Arrows of a manifest that the table does not have.
pub fn check(path: &str, manifest: &str) -> Vec<Violation> {
    let arrows = dependencies(manifest);
    let name = match path.split('/').collect::<Vec<_>>().as_slice() {
        ["crates", name, "Cargo.toml"] | [name @ "xtask", "Cargo.toml"] => *name,
        _ => return Vec::new(),
    };
    let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
        return vec![Violation::new(
            path,
            0,
            format!("crate {name} is not in the table of xtask/src/tidy/arrows.rs"),
        )];
    };
    let forbidden = arrows.into_iter().filter(|(_, to)| !allowed.contains(&to.as_str()));
    forbidden
        .map(|(line, to)| {
            Violation::new(path, line, format!("{name} may not depend on {to}; it may on: {}", list(allowed)))
        })
        .collect()
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "no crate of ours".to_owned() } else { names.join(", ") }
}

/// Our own crates under `[dependencies]` and `[build-dependencies]`, for all targets, with lines.
fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        let name = if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            // `[dependencies.NAME]` is a dependency of its own, followed by its keys.
            let table = header
                .rsplit_once("dependencies.")
                .map(|(before, name)| (before.to_owned() + "dependencies", name));
            inside = table.is_none() && ships(header);
            table.filter(|(header, _)| ships(header)).map(|(_, name)| name)
        } else {
            inside.then(|| line.split(['=', '.', ' ']).next()).flatten()
        };
        let ours = name.and_then(|name| name.trim_matches('"').strip_prefix("threadwise-"));
        found.extend(ours.map(|to| (index + 1, to.to_owned())));
    }
    found
}

fn ships(header: &str) -> bool {
    let last = header.rsplit('.').next().unwrap_or(header);
    matches!(last, "dependencies" | "build-dependencies")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_arrow_is_found_with_its_line() {
        let manifest = "[package]\nname = \"threadwise-analysis\"\n\n[dependencies]\nthreadwise-study.workspace = true\nthreadwise-engine = { path = \"../engine\" }\n";
        let found = check("crates/analysis/Cargo.toml", manifest);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 6);
        assert!(found[0].what.contains("analysis may not depend on engine"));
    }

    #[test]
    fn dev_dependencies_are_free() {
        let manifest = "[dependencies]\nlibc = \"0.2\"\n[dev-dependencies]\nthreadwise-engine.workspace = true\n[dev-dependencies.threadwise-store]\nworkspace = true\n";
        assert!(check("crates/analysis/Cargo.toml", manifest).is_empty());
    }

    #[test]
    fn all_ways_to_write_a_dependency_are_read() {
        let manifest = "[dependencies.threadwise-a]\nworkspace = true\n[target.'cfg(unix)'.dependencies]\nthreadwise-b.workspace = true\n[build-dependencies]\n\"threadwise-c\" = \"1\"\n[features]\nthreadwise-d = []\n";
        assert_eq!(dependencies(manifest), [(1, "a".to_owned()), (4, "b".to_owned()), (6, "c".to_owned())]);
    }

    #[test]
    fn new_crates_need_a_row() {
        assert_eq!(check("crates/novel/Cargo.toml", "[package]\n").len(), 1);
        assert!(
            check("Cargo.toml", "[workspace.dependencies]\nthreadwise-machine = { path = \"x\" }\n")
                .is_empty()
        );
    }

    #[test]
    fn the_table_has_no_cycle() {
        // Every row names rows above itself only (threadwise and runner stand below all others).
        for (index, (name, allowed)) in ARROWS.iter().enumerate() {
            for to in *allowed {
                let position = ARROWS.iter().position(|(from, _)| from == to);
                assert!(position.is_some_and(|position| position < index), "{name} to {to}");
            }
        }
    }
}
