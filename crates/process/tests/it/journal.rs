//! Masks written down and put back, whatever happened in between.

use super::{Killed, pids_in, set_mode, started_again, wait_until};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use threadwise_machine::{CpuSet, pin};
use threadwise_process::journal::{Journal, JournalError, Restored, restore};
use threadwise_process::masks::set_thread;

/// A folder for a journal, and children to bind.
struct Bench {
    folder: TempDir,
    children: Vec<Killed>,
}

impl Bench {
    fn new(children: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        set_mode(folder.path(), 0o700);
        let child = |_| Killed::sh("exec sleep 600", Path::new("/"));
        Self { folder, children: (0..children).map(child).collect() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("masks")
    }

    fn journal(&self) -> Journal {
        Journal::open(&self.path()).unwrap()
    }

    /// Its lines but for those that name who writes.
    fn text(&self) -> String {
        let text = fs::read_to_string(self.path()).unwrap();
        text.lines().filter(|line| !line.starts_with("owner ")).map(|line| format!("{line}\n")).collect()
    }

    fn tid(&self, child: usize) -> u32 {
        self.children[child].id()
    }

    fn mask(&self, child: usize) -> CpuSet {
        pin::thread_affinity(self.tid(child), self.tid(child)).unwrap()
    }
}

/// The masks that the tests set in turn: the first and the last logical CPU that we may use.
fn ends() -> [CpuSet; 2] {
    let cpus = pin::current_affinity().unwrap();
    [cpus.first(), cpus.iter().last()].map(|cpu| cpu.into_iter().collect())
}

fn put_back(count: usize) -> Restored {
    Restored { put_back: count, ..Restored::default() }
}

#[test]
fn the_first_mask_counts_and_comes_back_as_often_as_asked() {
    let bench = Bench::new(2);
    let (tid, journal) = (bench.tid(0), bench.journal());
    let first = bench.mask(0);
    for mask in ends() {
        journal.record_all(&[(tid, tid)]).unwrap();
        set_thread(tid, &mask).unwrap();
    }
    assert_eq!(bench.text().lines().count(), 1, "{}", bench.text());
    assert_eq!(fs::metadata(bench.path()).unwrap().permissions().mode() & 0o777, 0o600);
    for _ in 0..2 {
        assert_eq!(restore(&bench.path()).unwrap(), put_back(1));
        assert_eq!(bench.mask(0), first);
    }
    let recorded = journal.record_all(&[(tid, tid), (u32::MAX, 1), (bench.tid(1), bench.tid(1))]).unwrap();
    assert_eq!(recorded, [(tid, tid), (bench.tid(1), bench.tid(1))]);
    assert_eq!(bench.text().lines().count(), 2, "{}", bench.text());
}

#[test]
fn of_two_lines_of_a_thread_the_first_one_counts() {
    let bench = Bench::new(1);
    let tid = bench.tid(0);
    bench.journal().record_all(&[(tid, tid)]).unwrap();
    let [low, high] = ends();
    let line = |mask: &CpuSet| with_word(&bench.text(), 6, &mask.to_string());
    let two = line(&low) + &line(&high);
    fs::write(bench.path(), two).unwrap();
    assert_eq!(restore(&bench.path()).unwrap(), put_back(1));
    assert_eq!(bench.mask(0), low);
}

#[test]
fn nothing_written_is_nothing_to_put_back() {
    let bench = Bench::new(0);
    assert_eq!(restore(&bench.path()).unwrap(), Restored::default());
    assert_eq!(restore(Path::new("/proc/nowhere/at/all")).unwrap(), Restored::default());
    bench.journal();
    assert_eq!(restore(&bench.path()).unwrap(), Restored::default());
}

#[test]
fn writers_at_the_same_time_leave_one_line_a_thread() {
    let bench = Bench::new(4);
    let path = bench.path();
    let firsts: Vec<CpuSet> = (0..4).map(|child| bench.mask(child)).collect();
    let shared = bench.journal();
    let [low, _] = ends();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (bench, shared, path, low) = (&bench, &shared, &path, &low);
            scope.spawn(move || {
                // Half of them share an open journal, as threads of a worker do; the others are as workers.
                let opened = Journal::open(path).unwrap();
                let journal = if writer % 2 == 0 { shared } else { &opened };
                for step in 0..4 {
                    let tid = bench.tid((writer + step) % 4);
                    journal.record_all(&[(tid, tid)]).unwrap();
                    set_thread(tid, low).unwrap();
                }
            });
        }
    });
    assert_eq!(bench.text().lines().count(), 4, "{}", bench.text());
    assert!((0..4).all(|child| bench.mask(child) == low));
    assert_eq!(restore(&path).unwrap(), put_back(4));
    assert_eq!((0..4).map(|child| bench.mask(child)).collect::<Vec<_>>(), firsts);
}

/// The line of a child with one of its words replaced.
fn with_word(line: &str, index: usize, word: &str) -> String {
    let mut words: Vec<&str> = line.trim_end().split(' ').collect();
    words[index] = word;
    words.join(" ") + "\n"
}

#[test]
fn numbers_that_belong_to_another_thread_now_are_left_alone() {
    let bench = Bench::new(1);
    let tid = bench.tid(0);
    bench.journal().record_all(&[(tid, tid)]).unwrap();
    let [low, high] = ends();
    set_thread(tid, &low).unwrap();
    let line = with_word(&bench.text(), 6, &high.to_string());
    // Another start time, another process of that thread, another start of the machine.
    let foreign = [with_word(&line, 5, "1"), with_word(&line, 3, "2"), with_word(&line, 1, "another-boot")];
    fs::write(bench.path(), foreign.concat()).unwrap();
    assert_eq!(restore(&bench.path()).unwrap(), Restored { gone: 3, ..Restored::default() });
    fs::write(bench.path(), with_word(&line, 2, "1")).unwrap();
    let restored = restore(&bench.path()).unwrap();
    assert_eq!((restored.put_back, restored.gone, restored.failed.len()), (0, 0, 1), "{restored:?}");
    assert!(restored.failed[0].contains("PID namespace"), "{restored:?}");
    assert_eq!(bench.mask(0), low);
    fs::write(bench.path(), &line).unwrap();
    assert_eq!(restore(&bench.path()).unwrap(), put_back(1));
    assert_eq!(bench.mask(0), high, "the line was whole but for what made it foreign");
}

#[test]
fn ended_threads_are_counted_and_cannot_be_written_down() {
    let mut bench = Bench::new(1);
    let tid = bench.tid(0);
    let journal = bench.journal();
    journal.record_all(&[(tid, tid)]).unwrap();
    bench.children[0].end();
    assert_eq!(restore(&bench.path()).unwrap(), Restored { gone: 1, ..Restored::default() });
    assert_eq!(journal.record_all(&[(tid, tid)]).unwrap(), []);
}

#[test]
fn damaged_lines_are_reported_and_whole_ones_are_put_back() {
    let bench = Bench::new(2);
    let firsts = [bench.mask(0), bench.mask(1)];
    let journal = bench.journal();
    journal.record_all(&[(bench.tid(0), bench.tid(0))]).unwrap();
    let first_line = bench.text();
    let mut bytes = b"\xff\xfe no journal \0\n# a remark\n".to_vec();
    bytes.extend(first_line.as_bytes());
    bytes.extend(with_word(&first_line, 6, "0-99999999").as_bytes());
    // Killed while it wrote: the mask that stands here was never changed.
    bytes.extend(b"v1 half a li");
    fs::write(bench.path(), bytes).unwrap();
    journal.record_all(&[(bench.tid(1), bench.tid(1))]).unwrap();
    let [low, _] = ends();
    (0..2).for_each(|child| set_thread(bench.tid(child), &low).unwrap());
    let restored = restore(&bench.path()).unwrap();
    assert_eq!((restored.put_back, restored.gone, restored.failed.len()), (2, 0, 3), "{restored:?}");
    assert!(restored.failed[0].starts_with("line 1 is damaged and was left out: "), "{restored:?}");
    assert_eq!([bench.mask(0), bench.mask(1)], firsts);
}

#[test]
fn every_cut_of_the_file_is_borne() {
    let bench = Bench::new(1);
    let tid = bench.tid(0);
    bench.journal().record_all(&[(tid, tid)]).unwrap();
    let whole = fs::read(bench.path()).unwrap();
    for cut in 0..whole.len() {
        fs::write(bench.path(), &whole[..cut]).unwrap();
        assert_eq!(restore(&bench.path()).unwrap(), Restored::default(), "cut at {cut}");
        bench.journal().record_all(&[(tid, tid)]).unwrap();
        assert_eq!(fs::read(bench.path()).unwrap(), whole, "cut at {cut}");
    }
}

#[test]
fn what_others_could_have_written_is_not_believed() {
    let bench = Bench::new(1);
    let (tid, path, folder) = (bench.tid(0), bench.path(), bench.folder.path());
    let refused = |why: &str| {
        for error in [Journal::open(&path).map(drop).unwrap_err(), restore(&path).map(drop).unwrap_err()] {
            assert!(matches!(error, JournalError::Unsafe { .. }), "{why}: {error}");
            assert!(error.to_string().contains(why), "{error}");
        }
    };
    let journal = bench.journal();
    journal.record_all(&[(tid, tid)]).unwrap();
    for mode in [0o755, 0o710, 0o701] {
        set_mode(folder, mode);
        refused(&format!("has mode {mode:04o}"));
    }
    set_mode(folder, 0o700);
    set_mode(&path, 0o666);
    refused("others may write it");
    set_mode(&path, 0o600);
    fs::hard_link(&path, folder.join("second")).unwrap();
    refused("others may write it");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(folder.join("second"), &path).unwrap();
    refused("it is a link");
    assert!(matches!(journal.record_all(&[(tid, tid)]), Err(JournalError::Unsafe { .. })));
    fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    refused("not a plain file");
    assert!(matches!(Journal::open(Path::new("/proc/nowhere/y")), Err(JournalError::File { .. })));
    assert!(matches!(Journal::open(Path::new("masks")), Err(JournalError::Unsafe { .. })));
}

#[test]
fn a_folder_behind_a_link_is_refused() {
    let bench = Bench::new(0);
    bench.journal();
    let beside = tempfile::tempdir().unwrap();
    let link = beside.path().join("link");
    std::os::unix::fs::symlink(bench.folder.path(), &link).unwrap();
    assert!(matches!(Journal::open(&link.join("masks")), Err(JournalError::Unsafe { .. })));
    assert!(matches!(restore(&link.join("masks")), Err(JournalError::Unsafe { .. })));
}

#[test]
fn a_disk_without_room_changes_nothing() {
    let bench = Bench::new(1);
    // A limit of no bytes in a file stands for a full disk.
    let exe = std::env::current_exe().unwrap();
    let script = format!(
        "trap '' XFSZ; ulimit -f 0; exec '{}' --exact journal::as_writer_without_room --nocapture",
        exe.display()
    );
    fs::write(bench.folder.path().join("pid"), bench.tid(0).to_string()).unwrap();
    let output = std::process::Command::new("/bin/sh")
        .args(["-c", &script])
        .env(super::FOLDER, bench.folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(bench.text(), "");
}

/// The process that cannot write, when the program is started as one.
#[test]
fn as_writer_without_room() {
    let Some(folder) = started_again() else { return };
    let tid = fs::read_to_string(folder.join("pid")).unwrap().parse().unwrap();
    let error = Journal::open(&folder.join("masks"))
        .and_then(|journal| journal.record_all(&[(tid, tid)]))
        .unwrap_err();
    assert!(error.to_string().starts_with("cannot write journal "), "{error}");
    assert!(error.to_string().ends_with("nothing is changed without it"), "{error}");
}

/// The process that changes masks and is killed, when the program is started as one.
#[test]
fn as_killed_changer() {
    let Some(folder) = started_again() else { return };
    let journal = Journal::open(&folder.join("masks")).unwrap();
    let [low, high] = ends();
    for mask in [low, high].iter().cycle() {
        for pid in pids_in(&folder.join("pids"), 2) {
            journal.record_all(&[(pid, pid)]).unwrap();
            set_thread(pid, mask).unwrap();
        }
    }
}

#[test]
fn masks_come_back_after_the_one_that_changed_them_was_killed() {
    let bench = Bench::new(2);
    let firsts = [bench.mask(0), bench.mask(1)];
    // Beside each other in one file, and each half a line at most: renamed when whole.
    let text = format!("{}\n{}\n", bench.tid(0), bench.tid(1));
    fs::write(bench.folder.path().join("pids.new"), text).unwrap();
    fs::rename(bench.folder.path().join("pids.new"), bench.folder.path().join("pids")).unwrap();
    let mut changer = Killed::again("journal::as_killed_changer", bench.folder.path());
    wait_until("a change of the last mask", || bench.mask(1) != firsts[1] || firsts[1].len() == 1);
    changer.end();
    assert_eq!(restore(&bench.path()).unwrap(), put_back(2));
    assert_eq!([bench.mask(0), bench.mask(1)], firsts);
}

/// A program whose first thread starts one more for every line that it gets.
const STARTS_THREADS: &str = "import sys, threading, time\n\
    for line in sys.stdin:\n  \
      threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n";

/// The masks of all threads of a process.
fn masks(pid: u32) -> Vec<CpuSet> {
    let tids = threadwise_process::proc::threads(pid);
    tids.into_iter().filter_map(|(tid, _)| pin::thread_affinity(pid, tid).ok()).collect()
}

#[test]
fn threads_that_a_bound_one_started_get_the_first_mask_too() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let python = Command::new("python3").args(["-c", STARTS_THREADS]).stdin(Stdio::piped()).spawn();
    let Ok(mut child) = python else {
        let line = "SKIPPED: masks of threads that are started later: no python3 (Debian: python3)\n";
        std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap();
        return;
    };
    let (pid, mut stdin) = (child.id(), child.stdin.take().unwrap());
    let mut start_one = |count: usize| {
        stdin.write_all(b"\n").unwrap();
        wait_until("one more thread", || masks(pid).len() == count);
    };
    start_one(2);
    let bench = Bench::new(0);
    let first = masks(pid)[0].clone();
    let [bound, _] = ends();
    // Both threads are written down, though only one is asked for.
    bench.journal().record_all(&[(pid, pid)]).unwrap();
    assert_eq!(bench.text().lines().count(), 2, "{}", bench.text());
    set_thread(pid, &bound).unwrap();
    start_one(3);
    assert_eq!(masks(pid).iter().filter(|mask| **mask == bound).count(), if first == bound { 3 } else { 2 });
    // One that is asked for later is not taken at its own, inherited word.
    let newest = threadwise_process::proc::threads(pid).last().unwrap().0;
    bench.journal().record_all(&[(pid, newest)]).unwrap();
    start_one(4);
    restore(&bench.path()).unwrap();
    assert_eq!(masks(pid), vec![first; 4]);
    child.kill().unwrap();
    child.wait().unwrap();
}
