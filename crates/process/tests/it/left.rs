//! What a killed study has bound is put back by the next command; what a living one has bound, or one of another
//! machine or container, is left alone.

use super::{FOLDER, Killed, started_again, wait_until};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use threadwise_machine::{CpuSet, pin};
use threadwise_process::journal::{Journal, JournalError, close, left, new_path, put_left_back};
use threadwise_process::masks::set_thread;
use threadwise_process::state;

/// A state folder that is not there yet, and children to bind.
struct Bench {
    root: TempDir,
    children: Vec<Killed>,
}

impl Bench {
    fn new(children: usize) -> Self {
        let child = |_| Killed::sh("exec sleep 600", Path::new("/"));
        Self { root: tempfile::tempdir().unwrap(), children: (0..children).map(child).collect() }
    }

    fn state(&self) -> PathBuf {
        self.root.path().join("of user/state")
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.state()).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    fn mask(&self, child: usize) -> CpuSet {
        let pid = self.children[child].id();
        pin::thread_affinity(pid, pid).unwrap()
    }

    /// Starts this program as a study that binds a child and then waits.
    fn study(&self, child: usize) -> Killed {
        let before = self.files().len();
        fs::write(self.root.path().join("pid"), self.children[child].id().to_string()).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "left::as_study", "--nocapture"]).env(FOLDER, self.root.path());
        command.env(state::VARIABLE, self.state()).stdin(Stdio::null()).stdout(Stdio::null());
        let study = Killed(command.spawn().unwrap());
        wait_until("the bound child", || self.mask(child) == bound() && self.files().len() > before);
        study
    }
}

fn bound() -> CpuSet {
    let cpus = pin::current_affinity().unwrap();
    assert!(cpus.len() > 1, "this takes two logical CPUs");
    cpus.first().into_iter().collect()
}

/// The study, when the program is started as one.
#[test]
fn as_study() {
    let Some(folder) = started_again() else { return };
    let pid = fs::read_to_string(folder.join("pid")).unwrap().parse().unwrap();
    Journal::open(&new_path().unwrap()).unwrap().record_all(&[(pid, pid)]).unwrap();
    set_thread(pid, &bound()).unwrap();
    std::thread::sleep(Duration::from_secs(600));
}

#[test]
fn what_a_killed_study_bound_is_put_back_and_what_a_living_one_bound_is_not() {
    let bench = Bench::new(2);
    let whole = bench.mask(0);
    assert!(put_left_back(&bench.state()).unwrap().bound.is_empty(), "no folder, nothing left");
    let mut killed = bench.study(0);
    let _living = bench.study(1);
    assert_eq!(fs::metadata(bench.state()).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(left(&bench.state()).unwrap().is_empty(), "both studies live");
    assert!(put_left_back(&bench.state()).unwrap().bound.is_empty());
    assert_eq!([bench.mask(0), bench.mask(1)], [bound(), bound()]);

    // Its parent has not waited for it: a zombie has ended.
    killed.0.kill().unwrap();
    wait_until("its end", || !super::is_running(killed.id()));
    let said = left(&bench.state()).unwrap().to_string();
    assert_eq!(said, format!("1 thread of process {} (sleep)", bench.children[0].id()));
    assert_eq!(bench.mask(0), bound(), "looking changes nothing");
    let done = put_left_back(&bench.state()).unwrap();
    assert_eq!((done.bound.to_string(), done.failed), (said, Vec::new()));
    assert_eq!([bench.mask(0), bench.mask(1)], [whole, bound()]);
    assert_eq!(bench.files().len(), 1, "the journal of the living one stays");
    assert!(left(&bench.state()).unwrap().is_empty());
}

#[test]
fn journals_of_other_machines_and_containers_are_left_alone() {
    let bench = Bench::new(1);
    let mut study = bench.study(0);
    study.end();
    let path = bench.files().remove(0);
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let words: Vec<&str> = name.split('.').collect();
    let elsewhere = |at: usize| {
        let mut words = words.clone();
        words[at] = "1";
        path.with_file_name(words.join("."))
    };
    for other in [elsewhere(1), elsewhere(2), path.with_file_name("masks")] {
        fs::rename(&path, &other).unwrap();
        assert!(left(&bench.state()).unwrap().is_empty(), "{}", other.display());
        assert!(put_left_back(&bench.state()).unwrap().bound.is_empty());
        assert_eq!((bench.mask(0), bench.files()), (bound(), vec![other.clone()]));
        fs::rename(&other, &path).unwrap();
    }
    assert!(!put_left_back(&bench.state()).unwrap().bound.is_empty());
    assert_eq!(bench.files(), Vec::<PathBuf>::new());
}

#[test]
fn a_worker_that_outlives_its_study_keeps_its_journal() {
    let bench = Bench::new(1);
    let whole = bench.mask(0);
    let mut study = bench.study(0);
    let path = bench.files().remove(0);
    // The child stands for a worker that does not end.
    let start = threadwise_process::proc::start_time(bench.children[0].id(), bench.children[0].id()).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let owner = text.lines().find(|line| line.starts_with("owner ")).unwrap();
    let place: Vec<&str> = owner.split(' ').take(3).collect();
    let line = format!("{} {} {start}\n", place.join(" "), bench.children[0].id());
    fs::write(&path, format!("{line}{text}")).unwrap();
    study.end();
    let error = close(&path, Duration::ZERO).unwrap_err();
    assert!(matches!(error, JournalError::InUse { pid, .. } if pid == bench.children[0].id()), "{error}");
    assert_eq!((bench.mask(0), bench.files().len()), (bound(), 1));
    fs::write(&path, text).unwrap();
    assert_eq!(close(&path, Duration::ZERO).unwrap().put_back, 1);
    assert_eq!((bench.mask(0), bench.files().len()), (whole, 0));
    assert_eq!(close(&path, Duration::ZERO).unwrap().put_back, 0, "removed by another one before");
}

#[test]
fn what_cannot_be_put_back_stays_and_is_said() {
    let bench = Bench::new(1);
    bench.study(0).end();
    let path = bench.files().remove(0);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}v1 nonsense\n")).unwrap();
    for _ in 0..2 {
        let failed = put_left_back(&bench.state()).unwrap().failed;
        assert!(failed.len() == 1 && failed[0].contains("is damaged"), "{failed:?}");
        assert!(failed[0].contains(path.to_str().unwrap()), "{failed:?}");
    }
    fs::set_permissions(bench.state(), fs::Permissions::from_mode(0o755)).unwrap();
    assert!(left(&bench.state()).unwrap_err().to_string().contains("0755"));
    fs::remove_file(&path).unwrap();
    assert!(left(&bench.state()).unwrap().is_empty(), "an open folder without journals does no harm");
}
