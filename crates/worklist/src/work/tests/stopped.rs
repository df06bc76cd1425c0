//! An early end.

use super::*;

/// Number in a file, once it is there.
fn number_in(path: &Path) -> u32 {
    loop {
        match fs::read_to_string(path).ok().and_then(|text| text.strip_suffix('\n')?.parse().ok()) {
            Some(number) => return number,
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

#[test]
fn a_stop_ends_the_processes_and_leaves_nothing() {
    let lab = Lab::new();
    let path = |name: &str| lab.path(name).display().to_string();
    let (quick, first, second) = ("quick".to_owned(), path("first"), path("second"));
    let script = "test \"$0\" = quick && exit; echo part >part; echo $$ >\"$0\"; exec sleep 1000";
    let mut plan =
        lab.plan(&[&quick, &first, &second, "never"], &[("wait", &["sh", "-c", script, "{item}"])]);
    (plan.jobs, plan.keep) = (2, Some(1));
    let stop = AtomicBool::new(false);
    let (pids, said) = std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&plan, &stop));
        let pids = [&first, &second].map(|path| number_in(Path::new(path)));
        assert!(pids.iter().all(|pid| Path::new(&format!("/proc/{pid}")).exists()));
        stop.store(true, Ordering::Relaxed);
        (pids, running.join().unwrap())
    });
    assert_eq!(said.unwrap_err().to_string(), "stopped when 1 of 4 items were done");
    for pid in pids {
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{pid} was killed and reaped");
    }
    let spans = lab.spans();
    assert_eq!(spans.iter().map(|span| (span.index, span.fault.is_none())).collect::<Vec<_>>(), [(0, true)]);
    assert!(lab.left().is_empty() && !lab.path("never").exists());
}

#[test]
fn a_stop_before_the_first_item_does_nothing() {
    let lab = Lab::new();
    let begun = lab.path("begun").display().to_string();
    let plan = lab.plan(&["a"], &[("make", &["touch", &begun])]);
    let error = run(&plan, &AtomicBool::new(true)).unwrap_err();
    assert!(matches!(error, WorkError::Stopped { done: 0, items: 1 }), "{error}");
    assert!(!lab.path("begun").exists() && lab.left().is_empty());
}
