//! Rules for any file: size, and paths of one machine.

use super::Violation;

/// Largest tracked file; larger data belongs into a release or is made by a program.
pub const MAX_BYTES: usize = 1_000_000;

/// Placeholder users in tests and examples.
const EXAMPLE_USERS: [&str; 2] = ["alice", "bob"];

/// Refuses a large file.
pub fn size(path: &str, bytes: usize) -> Vec<Violation> {
    if bytes <= MAX_BYTES {
        return Vec::new();
    }
    vec![Violation::new(path, 0, format!("{bytes} bytes, more than {MAX_BYTES}"))]
}

/// Refuses absolute paths that exist only on one person's machine.
pub fn machine_paths(path: &str, text: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(what) = machine_path(line) {
            found.push(Violation::new(path, index + 1, format!("'{what}…' is a path of one machine")));
        }
    }
    found
}

/// First absolute path below a folder of one machine in the line, as far as it identifies it.
fn machine_path(line: &str) -> Option<String> {
    // Written without their slashes: this file is checked too.
    ["work", "root", "home"].iter().find_map(|folder| {
        let start = format!("/{folder}/");
        line.match_indices(&start).find_map(|(at, _)| {
            let before = line[..at].chars().next_back();
            // `docs/home/page` and `example.org/work/` are not absolute paths.
            let absolute = !before.is_some_and(|c| c.is_alphanumeric() || "._-~/})]".contains(c));
            let word = |c: &char| c.is_alphanumeric() || *c == '_';
            let name: String = line[at + start.len()..].chars().take_while(word).collect();
            // The folder of all homes is everywhere, and made-up homes are nowhere.
            let real = *folder != "home" || !(name.is_empty() || EXAMPLE_USERS.contains(&name.as_str()));
            (absolute && real).then(|| start.clone())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_are_refused() {
        assert!(size("a", MAX_BYTES).is_empty());
        assert_eq!(size("a", MAX_BYTES + 1).len(), 1);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        let path = |folder: &str, rest: &str| format!("see \"/{folder}/{rest}\"");
        for line in [
            path("work", "main"),
            path("root", ".cargo"),
            path("home", "ann/x"),
            path("work", ""),
            path("home", "alicia/x"),
        ] {
            let found = machine_paths("a.md", &format!("first\n{line}\n"));
            assert_eq!(found.len(), 1, "{line}");
            assert_eq!(found[0].line, 2);
        }
    }

    #[test]
    fn other_paths_are_not() {
        let url = format!("https://example.org/{}/x", "work");
        let relative = format!("crates/{}/src", "work");
        let all_homes = format!("mounts on /{}/ or /{}/<name>", "home", "home");
        let example = format!("/{}/alice/groups", "home");
        for line in [
            &example,
            url.as_str(),
            &relative,
            &all_homes,
            "/sys/devices/system/cpu",
            "/proc/self/status",
            "a network/root",
        ] {
            assert!(machine_paths("a.md", line).is_empty(), "{line}");
        }
    }
}
