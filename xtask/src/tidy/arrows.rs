//! Which crate may depend on which: the table "Crates" of ARCHITECTURE.md, the only copy. Tests are exempt.

use super::Violation;
use super::graph::{Graph, circles};
use std::collections::{BTreeMap, BTreeSet};

/// The table's file.
const TABLE: &str = "ARCHITECTURE.md";

/// The heading above it.
const HEADING: &str = "## Crates";

/// Lines of a manifest, and their dependencies.
type Arrows = Vec<(usize, String)>;

/// A crate of the table.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    name: String,
    line: usize,
    allowed: Allowed,
}

#[derive(Debug, PartialEq, Eq)]
enum Allowed {
    All,
    These(BTreeSet<String>),
}

impl Allowed {
    fn has(&self, to: &str) -> bool {
        match self {
            Self::All => true,
            Self::These(names) => names.contains(to),
        }
    }

    fn words(&self) -> String {
        match self {
            Self::All => "all".to_owned(),
            Self::These(names) if names.is_empty() => "no crate of the project".to_owned(),
            Self::These(names) => names.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
        }
    }
}

/// Differences of the table and the manifests, and circles; `texts` are paths with their contents.
pub fn check(texts: &[(&str, &str)]) -> Vec<Violation> {
    let (rows, mut found) = rows(texts.iter().find(|(path, _)| *path == TABLE).map_or("", |(_, text)| text));
    let crates: BTreeMap<&str, (&str, Arrows)> = texts
        .iter()
        .filter_map(|(path, text)| Some((crate_of(path)?, (*path, dependencies(text)))))
        .collect();
    for (name, (path, arrows)) in &crates {
        match rows.iter().find(|row| row.name == *name) {
            Some(row) => found.extend(differences(row, path, arrows)),
            None => found.push(Violation::new(path, 0, format!("crate {name} has no row in {TABLE}"))),
        }
    }
    for (index, row) in rows.iter().enumerate() {
        if rows[..index].iter().any(|other| other.name == row.name) {
            found.push(Violation::new(TABLE, row.line, format!("{} has two rows", row.name)));
        }
        if !crates.contains_key(row.name.as_str()) {
            found.push(Violation::new(TABLE, row.line, format!("there is no crate {}", row.name)));
        }
    }
    let circle = |set: BTreeSet<String>| {
        let names: Vec<String> = set.into_iter().collect();
        Violation::new(TABLE, 0, format!("crates in a circle: {}", names.join(", ")))
    };
    found.extend(circles(&graph(&rows)).into_iter().map(circle));
    found
}

/// Arrows that only the manifest has, and those that only the row has.
fn differences(row: &Row, path: &str, arrows: &[(usize, String)]) -> Vec<Violation> {
    let forbidden = arrows.iter().filter(|(_, to)| !row.allowed.has(to)).map(|(line, to)| {
        let may = row.allowed.words();
        Violation::new(
            path,
            *line,
            format!("{} may not depend on {to}; allowed are: {may} ({TABLE})", row.name),
        )
    });
    let names = match &row.allowed {
        Allowed::All => BTreeSet::new(),
        Allowed::These(names) => names.clone(),
    };
    let unused = names.into_iter().filter(|name| arrows.iter().all(|(_, to)| to != name)).map(|name| {
        let what = format!("{} does not depend on {name}: remove it from the table", row.name);
        Violation::new(TABLE, row.line, what)
    });
    forbidden.chain(unused).collect()
}

fn graph(rows: &[Row]) -> Graph {
    let to = |row: &Row| match &row.allowed {
        Allowed::All => {
            rows.iter().map(|other| other.name.clone()).filter(|name| *name != row.name).collect()
        }
        Allowed::These(names) => names.clone(),
    };
    rows.iter().map(|row| (row.name.clone(), to(row))).collect()
}

/// Name of the crate of a manifest; none for the workspace's.
fn crate_of(path: &str) -> Option<&str> {
    match path.split('/').collect::<Vec<_>>().as_slice() {
        ["crates", name, "Cargo.toml"] | [name @ "xtask", "Cargo.toml"] => Some(name),
        _ => None,
    }
}

/// The crates of the table below its heading, one for each name of a row's first cell, and what cannot be read.
fn rows(text: &str) -> (Vec<Row>, Vec<Violation>) {
    let (mut rows, mut found, mut inside) = (Vec::new(), Vec::new(), false);
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("## ") {
            inside = line == HEADING;
        }
        if !inside || !line.starts_with("| `") {
            continue;
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [names, _, allowed] = cells[..] else {
            found.push(Violation::new(TABLE, index + 1, "a row of this table has three cells"));
            continue;
        };
        for name in list(names) {
            let allowed = match allowed {
                "all" => Allowed::All,
                "–" => Allowed::These(BTreeSet::new()),
                names => Allowed::These(list(names).collect()),
            };
            rows.push(Row { name, line: index + 1, allowed });
        }
    }
    if rows.is_empty() {
        found.push(Violation::new(TABLE, 0, format!("no table of crates below '{HEADING}'")));
    }
    (rows, found)
}

/// Names between commas, with or without backticks.
fn list(cell: &str) -> impl Iterator<Item = String> {
    cell.split(',').map(|name| name.trim().trim_matches('`').to_owned())
}

/// The project's crates under `[dependencies]` and `[build-dependencies]`, for all targets, with lines.
fn dependencies(manifest: &str) -> Arrows {
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

    /// A table of these rows, each a name and its third cell; the first row is line 3.
    fn table(rows: &[(&str, &str)]) -> String {
        let lines: Vec<String> =
            rows.iter().map(|(names, allowed)| format!("| {names} | text | {allowed} |\n")).collect();
        format!("{HEADING}\n| crate | holds | may |\n{}\n## Other\n| `x` | y | z |\n", lines.concat())
    }

    fn manifest(dependencies: &[&str]) -> String {
        let lines: Vec<String> =
            dependencies.iter().map(|name| format!("threadwise-{name}.workspace = true\n")).collect();
        format!("[dependencies]\n{}", lines.concat())
    }

    fn found(rows: &[(&str, &str)], crates: &[(&str, &[&str])]) -> Vec<String> {
        let manifests = crates.iter().map(|(name, to)| (format!("crates/{name}/Cargo.toml"), manifest(to)));
        let texts: Vec<(String, String)> = manifests.chain([(TABLE.to_owned(), table(rows))]).collect();
        let texts: Vec<(&str, &str)> = texts.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
        let violations = check(&texts);
        violations.into_iter().map(|v| format!("{}:{}: {}", v.path, v.line, v.what)).collect()
    }

    #[test]
    fn a_table_that_fits_has_nothing_to_say() {
        let rows = [("`a`", "–"), ("`b`, `c`", "a"), ("`top`", "all")];
        assert!(found(&rows, &[("a", &[]), ("b", &["a"]), ("c", &["a"]), ("top", &["b"])]).is_empty());
    }

    #[test]
    fn an_arrow_that_the_table_does_not_have_is_found_with_its_line() {
        let all = found(&[("`a`", "–"), ("`b`", "–")], &[("a", &[]), ("b", &["a"])]);
        assert_eq!(
            all,
            [
                "crates/b/Cargo.toml:2: b may not depend on a; allowed are: no crate of the project (ARCHITECTURE.md)"
            ]
        );
    }

    #[test]
    fn an_arrow_that_no_manifest_has_is_found() {
        let all = found(&[("`a`", "–"), ("`b`, `c`", "a")], &[("a", &[]), ("b", &["a"]), ("c", &[])]);
        assert_eq!(all, ["ARCHITECTURE.md:4: c does not depend on a: remove it from the table"]);
    }

    #[test]
    fn crates_and_rows_belong_together() {
        let all = found(&[("`a`", "–"), ("`a`", "–"), ("`gone`", "–")], &[("a", &[]), ("new", &[])]);
        assert_eq!(
            all,
            [
                "crates/new/Cargo.toml:0: crate new has no row in ARCHITECTURE.md",
                "ARCHITECTURE.md:4: a has two rows",
                "ARCHITECTURE.md:5: there is no crate gone",
            ]
        );
        assert_eq!(found(&[], &[]), ["ARCHITECTURE.md:0: no table of crates below '## Crates'"]);
    }

    #[test]
    fn circles_are_found_and_all_is_everybody_else() {
        let crates: [(&str, &[&str]); 2] = [("a", &["b"]), ("b", &["a"])];
        let circle = ["ARCHITECTURE.md:0: crates in a circle: a, b"];
        assert_eq!(found(&[("`a`", "b"), ("`b`", "a")], &crates), circle);
        assert_eq!(found(&[("`a`", "b"), ("`b`", "all")], &crates), circle);
    }

    #[test]
    fn a_row_that_cannot_be_read_is_named() {
        let (rows, found) = rows("## Crates\n| `a` | b |\n");
        assert!(rows.is_empty());
        assert_eq!(found[0].line, 2);
    }

    #[test]
    fn dev_dependencies_are_free() {
        let manifest = "[dependencies]\nlibc = \"0.2\"\n[dev-dependencies]\nthreadwise-engine.workspace = true\n[dev-dependencies.threadwise-store]\nworkspace = true\n";
        assert!(dependencies(manifest).is_empty());
    }

    #[test]
    fn all_ways_to_write_a_dependency_are_read() {
        let manifest = "[dependencies.threadwise-a]\nworkspace = true\n[target.'cfg(unix)'.dependencies]\nthreadwise-b.workspace = true\n[build-dependencies]\n\"threadwise-c\" = \"1\"\n[features]\nthreadwise-d = []\n";
        assert_eq!(dependencies(manifest), [(1, "a".to_owned()), (4, "b".to_owned()), (6, "c".to_owned())]);
    }

    #[test]
    fn the_workspace_is_no_crate() {
        assert_eq!(crate_of("Cargo.toml"), None);
        assert_eq!(
            [crate_of("xtask/Cargo.toml"), crate_of("crates/a/Cargo.toml")],
            [Some("xtask"), Some("a")]
        );
    }
}
