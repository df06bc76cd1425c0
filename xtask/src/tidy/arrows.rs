//! Which crate may depend on which: the table "Crates" of ARCHITECTURE.md, the only copy. Tests are exempt, and a
//! circle of crates is refused by cargo.

use std::collections::{BTreeMap, BTreeSet};

/// The table's file, and the heading above it.
const TABLE: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Crates";

/// A crate of the table: its line, and the crates that it may depend on, if not all.
type Row = (usize, Option<BTreeSet<String>>);

/// Differences of the table and the manifests; `texts` are paths with their contents.
pub fn check(texts: &[(&str, &str)]) -> Vec<String> {
    let table = texts.iter().find(|(path, _)| *path == TABLE).map_or("", |(_, text)| text);
    let mut found = Vec::new();
    let mut rows = rows(table, &mut found);
    found.extend(upward(table, &rows));
    for (path, text) in texts {
        let Some(name) = crate_of(path) else { continue };
        match rows.remove(name) {
            Some(row) => found.extend(differences(name, &row, path, text)),
            None => found.push(format!("{path}:0: crate {name} has no row in {TABLE}")),
        }
    }
    found.extend(rows.iter().map(|(name, (line, _))| format!("{TABLE}:{line}: there is no crate {name}")));
    found
}

/// Arrows that go up in the drawing above the table, whose lines are floors, the highest first; and crates that it lacks.
fn upward(text: &str, rows: &BTreeMap<String, Row>) -> Vec<String> {
    let below = text.lines().skip_while(|line| *line != HEADING).skip_while(|line| *line != "```").skip(1);
    let lines = below.take_while(|line| *line != "```").enumerate();
    let floors: BTreeMap<&str, usize> =
        lines.flat_map(|(floor, line)| line.split_whitespace().map(move |name| (name, floor))).collect();
    let of_row = |(name, (line, allowed)): (&String, &Row)| {
        let Some(floor) = floors.get(name.as_str()) else {
            return vec![format!("{TABLE}:{line}: {name} is not in the drawing")];
        };
        let up = allowed.iter().flatten().filter(|to| floors.get(to.as_str()).is_some_and(|at| at <= floor));
        up.map(|to| format!("{TABLE}:{line}: {to} is not below {name} in the drawing")).collect()
    };
    rows.iter().flat_map(of_row).collect()
}

/// Arrows that only the manifest has, and those that only the row has.
fn differences(name: &str, (line, allowed): &Row, path: &str, text: &str) -> Vec<String> {
    let arrows = match dependencies(text) {
        Ok(arrows) => arrows,
        Err(why) => return vec![format!("{path}:0: {why}")],
    };
    let Some(allowed) = allowed else { return Vec::new() };
    let may = match allowed.is_empty() {
        true => "no crate of the project".to_owned(),
        false => allowed.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
    };
    let forbidden = arrows.difference(allowed).map(|to| {
        let at = text.lines().position(|line| line.contains(&format!("threadwise-{to}"))).unwrap_or_default();
        format!("{path}:{}: {name} may not depend on {to}; allowed are: {may} ({TABLE})", at + 1)
    });
    let unused = allowed
        .difference(&arrows)
        .map(|to| format!("{TABLE}:{line}: {name} does not depend on {to}: remove it from the table"));
    forbidden.chain(unused).collect()
}

/// Name of the crate of a manifest; none for the workspace's.
fn crate_of(path: &str) -> Option<&str> {
    match path.split('/').collect::<Vec<_>>().as_slice() {
        ["crates", name, "Cargo.toml"] | [name @ "xtask", "Cargo.toml"] => Some(name),
        _ => None,
    }
}

/// The crates of the table below its heading, one for each name of a row's first cell.
fn rows(text: &str, found: &mut Vec<String>) -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    let lines = (1..).zip(text.lines()).skip_while(|(_, line)| *line != HEADING).skip(1);
    let lines = lines.take_while(|(_, line)| !line.starts_with("## "));
    for (number, line) in lines.filter(|(_, line)| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [names, _, allowed] = cells[..] else {
            found.push(format!("{TABLE}:{number}: a row of this table has three cells"));
            continue;
        };
        let list = |cell: &str| -> BTreeSet<String> {
            cell.split(',').map(|name| name.trim().trim_matches('`').to_owned()).collect()
        };
        let allowed = match allowed {
            "all" => None,
            "–" => Some(BTreeSet::new()),
            names => Some(list(names)),
        };
        for name in list(names) {
            if rows.insert(name.clone(), (number, allowed.clone())).is_some() {
                found.push(format!("{TABLE}:{number}: {name} has two rows"));
            }
        }
    }
    if rows.is_empty() {
        found.push(format!("{TABLE}:0: no table of crates below '{HEADING}'"));
    }
    rows
}

/// The project's crates under `[dependencies]` and `[build-dependencies]`, for all targets.
fn dependencies(manifest: &str) -> Result<BTreeSet<String>, toml::de::Error> {
    let manifest: toml::Table = manifest.parse()?;
    let targets = manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten();
    let tables = targets.filter_map(|(_, target)| target.as_table()).chain([&manifest]);
    let lists = tables.flat_map(|table| [table.get("dependencies"), table.get("build-dependencies")]);
    let names = lists.flatten().filter_map(toml::Value::as_table).flat_map(toml::Table::keys);
    Ok(names.filter_map(|name| name.strip_prefix("threadwise-")).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drawing with a floor for each crate, and a table of these rows, each a name and its third cell; the first row is
    /// line 3.
    fn table(rows: &[(&str, &str)]) -> String {
        let lines: Vec<String> =
            rows.iter().map(|(names, allowed)| format!("| {names} | text | {allowed} |\n")).collect();
        let floors: String =
            rows.iter().rev().map(|(names, _)| names.replace(['`', ','], "") + "\n").collect();
        format!(
            "{HEADING}\n| crate | holds | may |\n{}\n```\n{floors}```\n\n## Other\n| `x` | y | z |\n",
            lines.concat()
        )
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
        check(&texts)
    }

    #[test]
    fn a_table_that_fits_has_nothing_to_say() {
        let rows = [("`a`", "–"), ("`b`, `c`", "a"), ("`top`", "all")];
        assert!(found(&rows, &[("a", &[]), ("b", &["a"]), ("c", &["a"]), ("top", &["b"])]).is_empty());
    }

    #[test]
    fn an_arrow_that_goes_up_and_a_crate_without_a_floor_are_found() {
        let drawn = |floors: &str| {
            let table = table(&[("`a`", "–"), ("`b`", "a")]);
            let (before, after) = table.split_once("```").unwrap();
            let table = format!("{before}```\n{floors}\n```{}", after.split_once("```").unwrap().1);
            upward(&table, &rows(&table, &mut Vec::new()))
        };
        assert!(drawn("b\na").is_empty());
        assert_eq!(drawn("a\nb"), ["ARCHITECTURE.md:4: a is not below b in the drawing"]);
        assert_eq!(drawn("a  b"), ["ARCHITECTURE.md:4: a is not below b in the drawing"]);
        assert_eq!(drawn("b"), ["ARCHITECTURE.md:3: a is not in the drawing"]);
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
                "ARCHITECTURE.md:4: a has two rows",
                "crates/new/Cargo.toml:0: crate new has no row in ARCHITECTURE.md",
                "ARCHITECTURE.md:5: there is no crate gone",
            ]
        );
        assert_eq!(found(&[], &[]), ["ARCHITECTURE.md:0: no table of crates below '## Crates'"]);
    }

    #[test]
    fn a_row_that_cannot_be_read_is_named() {
        let mut found = Vec::new();
        assert!(rows("## Crates\n| `a` | b |\n", &mut found).is_empty());
        assert_eq!(found[0], "ARCHITECTURE.md:2: a row of this table has three cells");
    }

    #[test]
    fn all_ways_to_write_a_dependency_are_read_and_those_of_tests_are_free() {
        let manifest = "[dependencies.threadwise-a]\nworkspace = true\n[target.'cfg(unix)'.dependencies]\nthreadwise-b.workspace = true\n\
                        [build-dependencies]\n\"threadwise-c\" = \"1\"\n[features]\nthreadwise-d = []\n\
                        [dev-dependencies]\nthreadwise-engine.workspace = true\n";
        assert_eq!(dependencies(manifest), Ok(["a", "b", "c"].map(str::to_owned).into()));
        assert!(dependencies("[dependencies").is_err());
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
