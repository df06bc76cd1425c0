//! Which job does which item when, what commands are given, and what the figures are made of.

use super::*;
use std::os::unix::fs::PermissionsExt;

const SLEEPS: [&str; 8] = ["0.03", "0.01", "0.02", "0.01", "0.04", "0.01", "0.02", "0.01"];

fn indices(spans: &[Span], job: u32) -> Vec<usize> {
    spans.iter().filter(|span| span.job == job).map(|span| span.index).collect()
}

/// Most items at once: at a start, all that had begun and not ended.
fn most_at_once(spans: &[Span]) -> usize {
    let at = |ns: u64| spans.iter().filter(|span| span.start_ns <= ns && ns < span.end_ns).count();
    spans.iter().map(|span| at(span.start_ns)).max().unwrap()
}

#[test]
fn one_job_does_the_items_in_the_planned_order() {
    let lab = Lab::new();
    let mut plan = lab.plan(&["a", "b", "c", "d"], &[("nothing", &["true"])]);
    plan.order = vec![2, 0, 3, 1];
    let done = go(&plan);
    assert_eq!(indices(&done.spans, 0), [2, 0, 3, 1]);
    assert_eq!(lab.spans(), done.spans);
    assert_eq!((done.summary.items, done.summary.failed, done.summary.idle_share), (4, 0, 0.0));
    assert_eq!(failures(&plan, &done.spans), None);
    assert!(lab.left().is_empty());
}

#[test]
fn a_split_gives_each_job_its_part_of_the_order() {
    let lab = Lab::new();
    let mut plan = lab.plan(&["0"; 7], &[("nothing", &["true"])]);
    plan.order = vec![6, 5, 4, 3, 2, 1, 0];
    (plan.feed, plan.jobs) = (plan::Feed::Split, 3);
    let done = go(&plan);
    assert_eq!(indices(&done.spans, 0), [6, 5, 4]);
    assert_eq!(indices(&done.spans, 1), [3, 2]);
    assert_eq!(indices(&done.spans, 2), [1, 0]);
}

#[test]
fn a_queue_is_begun_in_order_by_as_many_jobs_as_planned() {
    let lab = Lab::new();
    let mut plan = lab.plan(&SLEEPS, &[("sleep", &["sleep", "{item}"])]);
    plan.order = vec![4, 0, 2, 6, 1, 3, 5, 7];
    plan.jobs = 3;
    let done = go(&plan);
    assert_eq!(most_at_once(&done.spans), 3);
    let mut taken = done.spans.clone();
    taken.sort_by_key(|span| span.start_ns);
    // Jobs that take at the same moment may read the clock in another order.
    let place = |index: usize| plan.order.iter().position(|found| *found == index).unwrap();
    for (at, span) in taken.iter().enumerate() {
        assert!(place(span.index).abs_diff(at) < 3, "{taken:?}");
    }
    let mut all: Vec<usize> = done.spans.iter().map(|span| span.index).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..8));
}

#[test]
fn the_summary_is_what_the_spans_say() {
    let lab = Lab::new();
    let mut plan = lab.plan(&SLEEPS, &[("sleep", &["sleep", "{item}"])]);
    (plan.jobs, plan.feed) = (2, plan::Feed::Split);
    let done = go(&plan);
    let start = done.spans.iter().map(|span| span.start_ns).min().unwrap();
    let ends: Vec<u64> = (0..2)
        .map(|job| done.spans.iter().filter(|span| span.job == job).map(|span| span.end_ns).max().unwrap())
        .collect();
    let [last, first] = [*ends.iter().max().unwrap(), *ends.iter().min().unwrap()];
    let elapsed_s = (last - start) as f64 / 1e9;
    let idle = (last - first) as f64 / 1e9 / (2.0 * elapsed_s);
    assert_eq!(done.summary.elapsed_s, elapsed_s);
    assert_eq!(done.summary.item_s, elapsed_s / 8.0);
    assert_eq!(done.summary.tail_s, (last - first) as f64 / 1e9);
    assert!((done.summary.idle_share - idle).abs() < 1e-9, "{} {idle}", done.summary.idle_share);
    // Sleeps of a job add up, so that the clock of the spans is the one that passes.
    assert!(elapsed_s >= 0.08, "{elapsed_s}");
}

#[test]
fn more_jobs_than_items_are_counted_and_do_no_harm() {
    let lab = Lab::new();
    let mut plan = lab.plan(&["a", "b"], &[("nothing", &["true"])]);
    plan.jobs = 5;
    let done = go(&plan);
    assert_eq!(done.summary.items, 2);
    assert!(done.summary.idle_share >= 0.6, "three of five jobs had nothing: {:?}", done.summary);
}

#[test]
fn commands_get_odd_texts_as_they_are() {
    let lab = Lab::new();
    let odd = ["a b", "it's \"so\"", "two\nlines", "{index} }{", "$HOME `id`", "-n", "", "größe"];
    let script = "printf %s \"$1\" >\"$2/given-$4\" && printf %s \"$3\" >\"$5/text\"";
    let out = lab.path("out").display().to_string();
    fs::create_dir(&out).unwrap();
    let words = ["sh", "-c", script, "sh", "{item}", &out, "{name}{{}}", "{index}", "{work}"];
    let mut plan = lab.plan(&odd, &[("tell", &words)]);
    (plan.jobs, plan.keep) = (2, Some(1));
    plan.result = Some("{work}/text".to_owned());
    let done = go(&plan);
    assert_eq!(faults(&done.spans), []);
    for (index, text) in odd.iter().enumerate() {
        assert_eq!(fs::read_to_string(format!("{out}/given-{index}")).unwrap(), *text);
    }
    assert_eq!(lab.left(), ["item-1"]);
    let kept = lab.path("work/item-1");
    assert_eq!(fs::read_to_string(kept.join("text")).unwrap(), "it's \"so\"{}");
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn steps_follow_each_other_in_a_folder_with_input_and_environment() {
    let lab = Lab::new();
    let first = ["sh", "-c", "cat >in.txt; echo \"$COLOUR $PWD {job}\" >>in.txt"];
    let second = ["sh", "-c", "test ! -e out.txt; cat >out.txt; cp out.txt \"$1\"", "sh", "{item}"];
    let item = lab.path("copy").display().to_string();
    let mut plan = lab.plan(&[&item], &[("first", &first), ("second", &second)]);
    plan.steps[1].stdin = Some("{work}/in.txt".to_owned());
    plan.environment = BTreeMap::from([("COLOUR".to_owned(), "blue {item}".to_owned())]);
    assert_eq!(faults(&go(&plan).spans), []);
    let folder = lab.path("work/job-0");
    assert_eq!(fs::read_to_string(&item).unwrap(), format!("blue {{item}} {} 0\n", folder.display()));
}

#[test]
fn commands_run_in_the_given_folder_and_hold_no_file_of_ours() {
    let lab = Lab::new();
    let listed = lab.path("listed").display().to_string();
    let mut plan =
        lab.plan(&[&listed], &[("list", &["sh", "-c", "pwd >$0; ls -l /proc/self/fd >>$0", "{item}"])]);
    plan.folder = Some(PathBuf::from("/"));
    plan.jobs = 4;
    assert_eq!(faults(&go(&plan).spans), []);
    let listed = fs::read_to_string(&listed).unwrap();
    assert!(listed.starts_with("/\n"), "{listed}");
    // Of the run's own files it has its log for errors alone; its standard output is the list.
    let folder = lab.path("").display().to_string();
    let ours: Vec<&str> =
        listed.lines().filter(|line| line.contains(&folder) && !line.ends_with("listed")).collect();
    assert!(ours.len() == 1 && ours[0].contains(" 2 -> ") && ours[0].ends_with("job-0.err"), "{listed}");
}
