//! The journal of SMT, logical CPUs and clocks (`smt`): found in a state folder, restored, and taken over.
//!
//! The machine is a folder, and its kernel accepts any value. Lines usually name this boot,
//! since others are ignored; threads are those of the folder, and the process of a name has a number that no
//! process gets ([`super::journal`]).

use super::journal::{HERE, NO_PID, is_name, named, put, replaced, state};
use super::tree::{Put, apply, changes};
use crate::random::{Grammar, Random};
use crate::target::{Target, changed, first_line, one_line, space, write};
use std::cell::RefCell;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use tempfile::TempDir;
use threadwise_machine::CpuSet;
use threadwise_process::journal::BootNamespace;
use threadwise_smt::left::{self, Holder, SmtJournal};
use threadwise_smt::{Arm, Held, Kernel, Roots, Setting, Smt, Status};

/// The subjects of journals: four logical CPUs on two cores, a process of two threads, groups, an interrupt, and two
/// files that are never written.
const MACHINE: &str = include_str!("../../corpus/smt.tree");
/// The process, its start, and its number of threads.
const PID: u32 = 50;
const START: u64 = 1050;
const THREADS: u32 = 2;
/// Neither is ever written.
const OUTSIDE: [&str; 2] = ["passwd", "elsewhere/cpuset.cpus"];

/// The machine in a folder: a written value is a file's value.
struct Folder {
    space: TempDir,
    here: BootNamespace,
    roots: Roots,
    state: PathBuf,
    lines: Grammar,
    /// Its files.
    first: Vec<(String, Vec<u8>)>,
    /// What was written since the last query.
    written: RefCell<Vec<(Setting, String)>>,
    bound: RefCell<Vec<u32>>,
}

impl Folder {
    fn new() -> Self {
        let (space, here) = (space(), BootNamespace::now());
        assert!(here.is_known(), "this boot has no id");
        let changes = changes(MACHINE.as_bytes());
        changes.iter().for_each(|change| apply(space.path(), change));
        let file = |change: super::tree::Change| match change.put {
            Put::Bytes(bytes) => Some((change.path, bytes)),
            _ => None,
        };
        Self {
            roots: Roots::below(&space.path().join("machine")),
            state: state(&space),
            space,
            here,
            lines: lines(),
            first: changes.into_iter().filter_map(file).collect(),
            written: RefCell::default(),
            bound: RefCell::default(),
        }
    }

    /// The difference from the original machine.
    fn changed(&self) -> Vec<&(String, Vec<u8>)> {
        let is_same = |path: &String, bytes: &Vec<u8>| {
            fs::read(self.space.path().join(path)).is_ok_and(|now| now == *bytes)
        };
        self.first.iter().filter(|(path, bytes)| !is_same(path, bytes)).collect()
    }

    /// Restores the original machine.
    fn reset(&self) {
        self.written.take();
        self.bound.take();
        for (path, bytes) in self.changed() {
            write(&self.space.path().join(path), bytes);
        }
        for entry in fs::read_dir(&self.state).expect("the state folder").flatten() {
            fs::remove_file(entry.path()).expect("a removed journal");
        }
    }
}

impl Kernel for Folder {
    fn roots(&self) -> &Roots {
        &self.roots
    }

    fn write(&self, setting: &Setting, value: &str) -> io::Result<()> {
        setting.write(&self.roots, value)?;
        self.written.borrow_mut().push((setting.clone(), value.to_owned()));
        Ok(())
    }

    fn set_affinity(&self, tid: u32, cpus: &CpuSet) -> io::Result<()> {
        let status = self.roots.proc.join(format!("{PID}/task/{tid}/status"));
        self.bound.borrow_mut().push(tid);
        // Nothing that does not exist is made.
        fs::OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(status)?
            .write_all(format!("Cpus_allowed_list:\t{cpus}\n").as_bytes())
    }

    fn pause(&self) {}
}

/// A boot, which is this one in most lines; logical CPUs; what a journal says of a setting.
const BOOT: &str = "(@HERE@|@HERE@|@HERE@|@HERE@|@HERE@|@HERE@|@HERE@|@HERE@|@BOOT@ 1|0-fuzz-0 4026531836)";
const CPUS: &str = "(0|0-3|1-2|3|0-1023|9)";
const SETTING: &str = "(control - (on|off|forceoff)|online [0-5] [01]|online [0-5] [01]|online [0-5] [01]|\
    cpuset (a|a/b|gone|g|link) (0|0-3|1-2|9)|cpuset (a|a/b) (0|1-2|3|0-1023)|irq (8|9|10) (0|0-3|9)|\
    governor 0 (performance|schedutil|nonesuch)|(boost|no_turbo) - [01]|policy_boost 0 [01])";

/// Settings, then a thread's mask, a mark, or the owner.
fn lines() -> Grammar {
    let others = format!(
        "|v1 {BOOT} {PID} 5[0-2] ({START}|{START}|7) {CPUS}\n|(kept|taken) {BOOT}\n|owner {BOOT} {NO_PID} {START}\n"
    );
    Grammar::new(&format!("((set {BOOT} {SETTING}\n){{1,3}}({others})){{1,3}}"))
}

/// Every written value was in a journal, and its file may be written.
fn only_what_was_said(folder: &Folder, found: &SmtJournal) {
    for (setting, value) in folder.written.borrow().iter() {
        let said = found.first.settings.get(setting);
        let is_said = match setting {
            // Without offline ones.
            Setting::Cpuset(_) => said.is_some_and(|said| is_part(value, said)),
            _ => said == Some(value),
        };
        assert!(is_said, "{setting} was made {value}, but the journal has {said:?}");
        assert_eq!(setting.canonical(value).as_ref(), Some(value), "{setting} was made");
    }
}

fn is_part(value: &str, whole: &str) -> bool {
    let parsed = (CpuSet::parse_list(value), CpuSet::parse_list(whole));
    matches!(parsed, (Ok(value), Ok(whole)) if value.is_subset(&whole))
}

/// The target.
pub fn make() -> Target {
    Target::with(Folder::new(), Folder::input, Folder::judge)
}

impl Folder {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let lines = changed(random, 70, 4, |random| random.matching(&self.lines));
        named(random, "smt", 95, 10, &lines)
    }

    /// As the next command does.
    fn judge_put_back(&self, found: &SmtJournal, input: &[u8]) {
        let settled = left::put_back(self, &found.path).expect("the journal of an ended process is read");
        settled.failed.iter().for_each(|line| one_line(line));
        only_what_was_said(self, found);
        let is_there = found.path.exists();
        assert_ne!(is_there, settled.failed.is_empty(), "whether it is there: {:?}", settled.failed);
        let is_same = || fs::read(&found.path).is_ok_and(|after| after == input);
        assert!(!is_there || is_same(), "restoring changed the journal");
        assert_eq!(settled.settings, self.written.borrow().len(), "{settled} were counted");
        // What is left stays, and nothing is written twice.
        self.written.take();
        if is_there {
            let again = left::put_back(self, &found.path).expect("it is read again");
            assert!(again.failed == settled.failed && again.settings == 0, "again: {again:?}");
        }
    }

    /// As `smt off` does with the leftovers of `smt on`.
    fn judge_take_over(&self, found: &SmtJournal) {
        let is_said = |error: threadwise_smt::SmtError| assert!(!error.to_string().is_empty());
        let mut held = match Held::take_over(self, &found.path, &|| None, None) {
            Ok(held) => held,
            Err(error) => return is_said(error),
        };
        only_what_was_said(self, found);
        let keep = held.facts().first_of_cores();
        held.apply(&Arm::smt(Smt::Offline { keep })).map_or_else(is_said, drop);
        let settled = held.restore().expect("it is restored");
        settled.failed.iter().for_each(|line| one_line(line));
    }

    /// The values of placeholders: in a name with a dot, in lines with a space.
    fn placed(&self, text: &[u8], between: &str) -> Vec<u8> {
        let place = format!("{}{between}{}", self.here.boot, self.here.pid_namespace);
        replaced(text, &[(HERE, &place), ("@BOOT@", &self.here.boot)])
    }

    fn judge(&self, input: &[u8]) -> bool {
        let (name, lines) = first_line(input);
        let name = String::from_utf8_lossy(&self.placed(name, ".")).into_owned();
        let lines = self.placed(lines, " ");
        if !is_name(&name) {
            return false;
        }
        self.reset();
        let path = self.state.join(name);
        put(&path, &lines);
        let found = left::found(&self.state).expect("the folder is read");
        assert!(fs::read(&path).is_ok_and(|after| after == lines), "reading changed it");
        Status::read(&self.roots, None, &found).expect("a status");
        let [found] = &found[..] else { return false };
        assert!(!matches!(found.holder, Holder::Living(_)), "{:?} counts as alive", found.holder);
        match lines.len() % 3 {
            0 => self.judge_take_over(found),
            _ => self.judge_put_back(found, &lines),
        }
        let bound = self.bound.borrow();
        let strange = bound.iter().find(|tid| !(PID..PID + THREADS).contains(*tid));
        assert_eq!(strange, None, "a thread was given a mask");
        let outside = self.changed().into_iter().find(|(path, _)| OUTSIDE.contains(&path.as_str()));
        assert_eq!(outside, None, "a file outside was written");
        !found.first.settings.is_empty() || !found.first.tasks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(lines: &str) -> bool {
        let input = format!("smt.{HERE}.4194305.7.00c0ffee\n{lines}");
        (make().judge)(input.as_bytes())
    }

    #[test]
    fn journals_of_here_are_put_back_and_others_are_none() {
        assert!(judged("set @HERE@ online 3 0\nset @HERE@ cpuset a 1-2\n"));
        assert!(judged("v1 @HERE@ 50 51 1050 2\n"));
        assert!(!judged("set 0-fuzz-0 4026531836 online 3 0\n"));
        assert!(judged("set @HERE@ cpuset link 1\nset @HERE@ cpuset g 1\n"));
    }

    #[test]
    fn what_a_journal_does_not_say_is_found() {
        let target = Folder::new();
        let found = SmtJournal {
            path: PathBuf::new(),
            holder: Holder::Killed,
            first: threadwise_smt::MachineState {
                settings: [(Setting::Boost, "0".to_owned())].into(),
                ..Default::default()
            },
        };
        assert!(target.write(&Setting::Boost, "0").is_ok());
        only_what_was_said(&target, &found);
        assert!(target.write(&Setting::NoTurbo, "1").is_ok());
        let judged =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| only_what_was_said(&target, &found)));
        assert!(judged.is_err());
        assert_eq!(target.changed().len(), 2);
        target.reset();
        assert!(target.changed().is_empty());
    }
}
