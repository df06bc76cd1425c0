//! What goes wrong: with a whole plan before anything is started, with one item while the others go on.

use super::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_missing_program_is_refused_before_the_first_item() {
    let lab = Lab::new();
    let begun = lab.path("begun").display().to_string();
    let plan = lab.plan(&["a"], &[("make", &["touch", &begun]), ("backup", &["no-such-program-here"])]);
    let said = refused(&plan);
    assert!(said.contains("step 'backup': there is no program 'no-such-program-here' on PATH"), "{said}");
    assert!(!lab.path("begun").exists() && !lab.path("work").exists() && !lab.path("spans").exists());
    let plan = lab.plan(&["a"], &[("backup", &["/no/such/program"])]);
    assert!(refused(&plan).contains("/no/such/program is not an executable program"));
    let mut plan = lab.plan(&["a"], &[("backup", &["true"])]);
    plan.environment = BTreeMap::from([("PATH".to_owned(), "/nowhere".to_owned())]);
    assert!(refused(&plan).contains("no program 'true'"));
}

#[test]
fn plans_that_do_not_agree_are_refused() {
    let lab = Lab::new();
    let good = lab.plan(&["a", "b"], &[("nothing", &["true"])]);
    let with = |change: &dyn Fn(&mut Plan)| {
        let mut plan = good.clone();
        change(&mut plan);
        refused(&plan)
    };
    assert!(with(&|plan| (plan.items, plan.order) = (Vec::new(), Vec::new())).contains("no item"));
    assert!(with(&|plan| plan.jobs = 0).contains("no job"));
    for order in [vec![0], vec![0, 0], vec![0, 2], vec![0, 1, 1]] {
        assert!(with(&|plan| plan.order.clone_from(&order)).contains("order"), "{order:?}");
    }
    assert!(with(&|plan| plan.keep = Some(2)).contains("keep"));
    assert!(with(&|plan| plan.work = PathBuf::from("work")).contains("absolute"));
    assert!(with(&|plan| plan.folder = Some(PathBuf::from("/no/such"))).contains("/no/such"));
    assert!(with(&|plan| plan.steps.clear()).contains("no step"));
    assert!(with(&|plan| plan.steps[0].command.clear()).contains("step 'nothing'"));
    assert!(with(&|plan| plan.result = Some("{out}".to_owned())).contains("{out} is not a placeholder"));
    assert!(with(&|plan| plan.steps[0].stdin = Some("a{".to_owned())).contains("brace"));
    assert!(!lab.path("work").exists() && !lab.path("spans").exists());
}

#[test]
fn spans_are_never_written_over_a_file_and_the_work_folder_must_be_writable() {
    let lab = Lab::new();
    let plan = lab.plan(&["a"], &[("nothing", &["true"])]);
    fs::write(&plan.spans, "precious").unwrap();
    let said = refused(&plan);
    assert!(said.contains("cannot make the file") && said.contains("spans"), "{said}");
    assert_eq!(fs::read_to_string(&plan.spans).unwrap(), "precious");
    assert!(lab.left().is_empty());
    // No user may make a folder there, not even root.
    let nowhere = Plan { work: PathBuf::from("/proc/threadwise-work"), ..plan };
    assert!(refused(&nowhere).contains("cannot make the folder /proc/threadwise-work"));
}

#[test]
fn a_failed_item_is_reported_and_the_list_goes_on() {
    let lab = Lab::new();
    let script = "echo begun >{work}/part; echo \"no such table: $1\" >&2; test \"$1\" = good";
    let words = ["sh", "-c", script, "sh", "{item}"];
    let texts = ["good", "b\nad", "good", "worse", "good", "worst", "more"];
    let mut plan = lab.plan(&texts, &[("backup", &words)]);
    (plan.jobs, plan.keep) = (2, Some(1));
    let done = go(&plan);
    assert_eq!((done.summary.items, done.summary.failed), (7, 4));
    let mut found = faults(&done.spans);
    found.sort_unstable();
    assert_eq!(found[0], (1, "backup: sh ended with exit code 1: no such table: b; ad"));
    // The kept item failed, so that there is nothing to keep.
    assert!(lab.left().is_empty());
    assert_eq!(lab.spans(), done.spans);
    assert_eq!(
        failures(&plan, &done.spans).unwrap(),
        "4 of 7 items failed: b\u{fffd}ad: backup: sh ended with exit code 1: no such table: b; ad; worse: backup: \
         sh ended with exit code 1: no such table: worse; worst: backup: sh ended with exit code 1: no such \
         table: worst; and 1 more"
    );
}

#[test]
fn a_later_step_is_not_run_and_its_words_are_its_own() {
    let lab = Lab::new();
    let first = ["sh", "-c", "echo of the first step >&2; echo out; exit $0", "{item}"];
    let second = ["sh", "-c", "echo second >>$0; exit 7", "{name}"];
    let log = lab.path("log").display().to_string();
    let mut plan = lab.plan(&["0", "3"], &[("first", &first), ("second", &second)]);
    plan.items.iter_mut().for_each(|item| item.name.clone_from(&log));
    let done = go(&plan);
    assert_eq!(
        faults(&done.spans),
        [
            (0, "second: sh ended with exit code 7: it wrote nothing"),
            (1, "first: sh ended with exit code 3: of the first step")
        ]
    );
    assert_eq!(fs::read_to_string(&log).unwrap(), "second\n");
}

#[test]
fn a_result_has_to_be_there_and_not_empty() {
    let lab = Lab::new();
    let words = ["sh", "-c", "case $0 in empty) : >new ;; full) echo x >new ;; esac", "{item}"];
    let mut plan = lab.plan(&["none", "empty", "full"], &[("make", &words)]);
    plan.result = Some("{work}/new".to_owned());
    let done = go(&plan);
    let found = faults(&done.spans);
    assert_eq!(found.len(), 2);
    assert!(found[0].1.starts_with("its result ") && found[0].1.ends_with("/job-0/new was not made"));
    assert!(found[1].1.ends_with("/job-0/new is empty"), "{found:?}");
}

#[test]
fn an_item_that_vanishes_is_a_fault_of_its_own() {
    let lab = Lab::new();
    let path = |name: &str| lab.path(name).display().to_string();
    let (first, second) = (path("first"), path("second"));
    fs::write(&first, "1").unwrap();
    fs::write(&second, "2").unwrap();
    // The first item's recipe removes the second item.
    let mut plan = lab.plan(
        &[&first, &second],
        &[("copy", &["cp", "{item}", "{work}/copy"]), ("remove", &["rm", "-f", &second])],
    );
    let found = go(&plan);
    let found = faults(&found.spans);
    assert!(found.len() == 1 && found[0].0 == 1, "{found:?}");
    assert!(found[0].1.starts_with("copy: cp ended with exit code 1: ") && found[0].1.contains("second"));
    plan.steps.truncate(1);
    plan.steps[0].command = vec!["cat".to_owned()];
    plan.steps[0].stdin = Some("{item}".to_owned());
    plan.spans = lab.path("again");
    let done = go(&plan);
    let found = faults(&done.spans);
    assert!(
        found.len() == 1 && found[0].1.starts_with("copy: its input ") && found[0].1.contains("os error 2")
    );
}

#[test]
fn what_cannot_be_started_or_is_killed_is_reported() {
    let lab = Lab::new();
    let script = lab.path("script");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let script = script.display().to_string();
    let plan = lab.plan(&[&script, "/bin/true", "/no/such\0program"], &[("go", &["{item}"])]);
    let done = go(&plan);
    let found = faults(&done.spans);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].1.starts_with("go: script cannot be started: "), "{found:?}");
    assert!(found[1].0 == 2 && found[1].1.contains("cannot be started"), "{found:?}");
    let killed =
        Plan { spans: lab.path("again"), ..lab.plan(&["a"], &[("go", &["sh", "-c", "kill -9 $$"])]) };
    let done = go(&killed);
    assert_eq!(faults(&done.spans), [(0, "go: sh was ended by signal 9: it wrote nothing")]);
}

#[test]
fn folders_of_others_are_not_touched() {
    let lab = Lab::new();
    let mut plan = lab.plan(&["a", "b", "c"], &[("make", &["touch", "made"])]);
    for name in ["item-1", "job-0"] {
        fs::create_dir_all(lab.path("work").join(name)).unwrap();
        fs::write(lab.path("work").join(name).join("precious"), "x").unwrap();
    }
    let said = refused(&plan);
    assert!(said.contains("cannot make the folder") && said.contains("job-0"), "{said}");
    assert!(lab.path("work/job-0/precious").exists() && !lab.path("spans").exists());
    fs::remove_dir_all(lab.path("work/job-0")).unwrap();
    plan.keep = Some(1);
    let done = go(&plan);
    let found = faults(&done.spans);
    assert!(found.len() == 1 && found[0].0 == 1 && found[0].1.contains("its folder "), "{found:?}");
    assert!(lab.path("work/item-1/precious").exists());
    assert_eq!(lab.left(), ["item-1"]);
}

#[test]
fn each_item_begins_in_an_empty_folder_also_after_one_that_removed_it() {
    let lab = Lab::new();
    let script = "test -z \"$(ls -A)\" || exit 9; mkdir -p d/e .h; touch d/e/f .h/g x; ln -s / link; $0";
    let texts = ["true", "false", "rm -rf ../job-0", "true"];
    let done = go(&lab.plan(&texts, &[("fill", &["sh", "-c", script, "{item}"])]));
    let found = faults(&done.spans);
    assert!(found.len() == 1 && found[0].1.contains("sh ended with exit code 1"), "{found:?}");
    assert!(lab.left().is_empty());
}

#[test]
fn a_work_folder_that_vanishes_is_a_fault_of_the_items_after() {
    let lab = Lab::new();
    let folder = lab.path("work").display().to_string();
    let mut plan = lab.plan(&["a", "b"], &[("go", &["rm", "-r", &folder])]);
    plan.folder = Some(PathBuf::from("/"));
    let done = go(&plan);
    let found = faults(&done.spans);
    assert!(
        found.len() == 2 && found[1].1.contains("its folder ") && found[1].1.contains("os error 2"),
        "{found:?}"
    );
}

#[test]
fn much_output_is_not_read_into_memory() {
    let lab = Lab::new();
    let words = ["sh", "-c", "yes | head -c 100000000; yes no | head -c 99999999 >&2; echo last >&2; exit 3"];
    let plan = lab.plan(&["a"], &[("talk", &words)]);
    let before = peak_kib();
    let done = go(&plan);
    let fault = done.spans[0].fault.as_deref().unwrap();
    assert!(fault.ends_with("no; no; no; no; last") && fault.len() < 500, "{fault}");
    assert!(peak_kib() - before < 50_000, "peak memory grew from {before} to {} KiB", peak_kib());
    assert!(lab.left().is_empty());
}

/// Most memory of this process so far (proc_pid_status(5)).
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
