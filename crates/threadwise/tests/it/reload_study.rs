//! The studies of work lists as their user asks for them: what a plan says, and what is refused before anything
//! is made.

use crate::harness::Lab;

/// Two small items on the recipe that comes with the program.
const SMALL: [&str; 6] = ["--plan", "--seed=3", "--set", "files=2", "--set", "total_mib=1"];

fn plan(lab: &Lab, args: &[&str]) -> String {
    let said = lab.ok(&[&["run", "--all"], args, &SMALL].concat());
    assert!(lab.leftovers().is_empty(), "{:?}", lab.leftovers());
    said.stdout
}

#[test]
fn a_plan_shows_recipe_list_and_jobs() {
    let lab = Lab::new();
    let text = plan(&lab, &["work-list", "--jobs", "1,3"]);
    for part in [
        "all j1'",
        "all j3",
        "  3 jobs",
        "  1 job ",
        "Work list:\n",
        "items: 2 generated for the study, 1 MiB",
    ] {
        assert!(text.contains(part), "no '{part}' in\n{text}");
    }
    assert!(text.contains("recipe sqlite: ") && text.contains("the largest first, from one queue"), "{text}");
    assert!(text.contains("processes the whole list once in a block"), "{text}");
    assert!(!text.contains("Commands:") && !text.contains("all j2"), "{text}");
    let other = plan(&lab, &["work-list", "--set", "order=given", "--set", "cold=no", "--set", "settle_s=0"]);
    assert!(other.contains("in the order of the list") && other.contains("pause 0 s"), "{other}");
    assert!(lab.files().is_empty(), "{:?}", lab.files());
}

#[test]
fn a_plan_of_schedules_says_which_treatment_has_which() {
    let lab = Lab::new();
    let text = plan(&lab, &["reload-schedule", "--jobs", "3"]);
    assert_eq!(text.matches("  3 jobs on ").count(), 6, "{text}");
    let line = |part: &str| text.lines().find(|line| line.contains(part)).unwrap_or_default().to_owned();
    assert!(line("the list, in fixed parts").ends_with("(split given)"), "{text}");
    assert!(line("the largest first, from one queue").ends_with("(queue largest, queue largest')"), "{text}");
}

#[test]
fn a_command_for_each_item_is_shown_and_needs_no_permission_of_its_own_words() {
    let lab = Lab::new();
    std::fs::write(lab.path().join("names"), "a\nb c\n").unwrap();
    let full = lab.path().join("names");
    let words = ["--plan", "--", "sh", "-c", "echo {item}"];
    let said = lab.ok(&[&["run", "--all", "--list", "names", "--jobs", "1,2"], &words[..]].concat());
    for part in [
        &format!("items: the lines of {}", full.display()),
        "command  sh -c 'echo {item}'",
        &format!("in the folder {}", lab.path().display()),
        "recipe command: your own command",
    ] {
        assert!(said.stdout.contains(part), "no '{part}' in\n{}", said.stdout);
    }
    // The same words in a study definition may come from another user.
    let study = format!(
        "version = 1\nname = \"own\"\nengine = \"worklist\"\nworkload = \"worklist\"\n[options]\ncommand = \
         \"touch {}/ran-{{index}}\"\nlist = \"{}\"\n[baseline]\nplacement = \"all\"\nsessions = 1\n[jobs]\n\
         placements = [\"all\"]\nlevels = [1, 2]\n",
        lab.path().display(),
        full.display()
    );
    std::fs::write(lab.path().join("own.toml"), study).unwrap();
    let said = lab.run(&["run", "own.toml", "--allow-busy", "--no-probe"]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(
        said.stderr.contains("--allow-commands") && said.stderr.contains("ran-{index}"),
        "{}",
        said.stderr
    );
    assert_eq!(lab.files(), ["names", "own.toml"]);
}

#[test]
fn what_cannot_be_is_refused_before_a_file_is_made() {
    let lab = Lab::new();
    let cases: [(&[&str], &str); 14] = [
        (&["work-list", "--engine", "oracle"], "recipes are sqlite, firebird"),
        (&["work-list", "--engine", "postgres://me@db/x"], "private server"),
        (&["work-list", "--list", "no-such-list"], "--list no-such-list: "),
        (&["work-list", "--list", "tmp"], "not a file"),
        (&["placement", "--list", "tmp"], "threadwise run work-list --list FILE"),
        (&["placement", "--jobs", "2"], "--jobs: it is for work lists"),
        (&["work-list", "--jobs", "0"], "1 to 1024"),
        (&["work-list", "--sessions", "2"], "--jobs LIST"),
        (&["work-list", "--dop", "2"], "[dop]"),
        (&["work-list", "--set", "files=0"], "from 1 to 100000"),
        (&["work-list", "--setup", "true"], "'setup' is for studies of commands"),
        (&["work-list", "--", "true"], "'list': it is missing"),
        (&["reload-schedule", "--jobs", "1,2"], "the preset work-list"),
        (&["reload-schedule", "--set", "order=given"], "change it there"),
    ];
    for (args, part) in cases {
        let said = lab.run(&[&["run", "--all"], args].concat());
        assert!(said.code == Some(2) && said.stderr.contains(part), "{args:?}: {}", said.stderr);
        assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
    }
    assert!(lab.files().is_empty() && lab.leftovers().is_empty(), "{:?}", lab.files());
}
