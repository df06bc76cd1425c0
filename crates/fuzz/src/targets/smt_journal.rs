//! The journal of SMT, logical CPUs and clocks (`smt`): found in a state folder, restored, and taken over.
//!
//! The machine is a folder, and its kernel accepts any value. Lines usually name this boot,
//! since others are ignored; threads are those of the folder, and the process of a name has a number that no
//! process gets ([`super::journal`]).

use super::journal::{HERE, NO_PID, is_name, named, put, replaced, state};
use super::tree::{Put, apply, changes};
use crate::random::Random;
use crate::target::{Judged, Target, changed, first_line, hold, one_line, space, write};
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
    /// Its files.
    first: Vec<(String, Vec<u8>)>,
    /// What was written since the last query.
    written: RefCell<Vec<(Setting, String)>>,
    bound: RefCell<Vec<u32>>,
}

impl Folder {
    fn new() -> Result<Self, String> {
        let (space, here) = (space()?, BootNamespace::now());
        hold(here.is_known(), || "this boot has no id".to_owned())?;
        let changes = changes(MACHINE.as_bytes());
        changes.iter().try_for_each(|change| apply(space.path(), change))?;
        let file = |change: super::tree::Change| match change.put {
            Put::Bytes(bytes) => Some((change.path, bytes)),
            _ => None,
        };
        Ok(Self {
            roots: Roots::below(&space.path().join("machine")),
            state: state(&space)?,
            space,
            here,
            first: changes.into_iter().filter_map(file).collect(),
            written: RefCell::default(),
            bound: RefCell::default(),
        })
    }

    /// The difference from the original machine.
    fn changed(&self) -> Vec<&(String, Vec<u8>)> {
        let differs = |(path, bytes): &&(String, Vec<u8>)| {
            !fs::read(self.space.path().join(path)).is_ok_and(|now| now == *bytes)
        };
        self.first.iter().filter(differs).collect()
    }

    /// Restores the original machine.
    fn reset(&self) -> Result<(), String> {
        self.written.take();
        self.bound.take();
        self.changed()
            .into_iter()
            .try_for_each(|(path, bytes)| write(&self.space.path().join(path), bytes))?;
        let entries = fs::read_dir(&self.state).map_err(|error| error.to_string())?;
        entries
            .flatten()
            .try_for_each(|entry| fs::remove_file(entry.path()))
            .map_err(|error| error.to_string())
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

fn line(random: &mut Random) -> String {
    let here = match random.below(10) {
        0 => "0-fuzz-0 4026531836",
        1 => "@BOOT@ 1",
        _ => HERE,
    };
    let cpus = random.pick(&["0", "0-3", "1-2", "3", "0-1023", "9"]);
    let switch = random.below(2);
    let setting = match random.below(12) {
        0 => format!("control - {}", random.pick(&["on", "off", "forceoff"])),
        1..4 => format!("online {} {switch}", random.below(6)),
        4..6 => format!("cpuset {} {cpus}", random.pick(&["a", "a/b", "gone", "g", "link"])),
        6 => format!("irq {} {cpus}", 8 + random.below(3)),
        7 => format!("governor 0 {}", random.pick(&["performance", "schedutil", "nonesuch"])),
        8 => format!("{} - {switch}", random.pick(&["boost", "no_turbo"])),
        9 => format!("policy_boost 0 {switch}"),
        _ => {
            let start = random.pick(&[START, START, 7]);
            return format!("v1 {here} {PID} {} {start} {cpus}\n", PID + random.below(3) as u32);
        }
    };
    match random.below(12) {
        0 => format!("{} {here}\n", random.pick(&["kept", "taken"])),
        1 => format!("owner {here} {} {START}\n", NO_PID),
        _ => format!("set {here} {setting}\n"),
    }
}

/// Every written value was in a journal, and its file may be written.
fn only_what_was_said(folder: &Folder, found: &SmtJournal) -> Result<(), String> {
    for (setting, value) in folder.written.borrow().iter() {
        let said = found.first.settings.get(setting);
        let is_said = match setting {
            // Without offline ones.
            Setting::Cpuset(_) => said.is_some_and(|said| is_part(value, said)),
            _ => said == Some(value),
        };
        hold(is_said, || format!("{setting} was made {value}, but the journal has {said:?}"))?;
        hold(setting.canonical(value).as_ref() == Some(value), || format!("{setting} was made {value}"))?;
    }
    Ok(())
}

fn is_part(value: &str, whole: &str) -> bool {
    let parsed = (CpuSet::parse_list(value), CpuSet::parse_list(whole));
    matches!(parsed, (Ok(value), Ok(whole)) if value.is_subset(&whole))
}

impl Folder {
    /// As the next command does.
    fn judge_put_back(&self, found: &SmtJournal, input: &[u8]) -> Result<(), String> {
        let settled = match left::put_back(self, &found.path) {
            Ok(settled) => settled,
            Err(error) => return Err(format!("the journal of an ended process is refused: {error}")),
        };
        settled.failed.iter().try_for_each(|line| one_line(line))?;
        only_what_was_said(self, found)?;
        let is_there = found.path.exists();
        hold(is_there != settled.failed.is_empty(), || format!("there: {is_there}, {:?}", settled.failed))?;
        let is_same = || fs::read(&found.path).is_ok_and(|after| after == input);
        hold(!is_there || is_same(), || "restoring changed the journal".to_owned())?;
        hold(settled.settings == self.written.borrow().len(), || format!("{settled} were counted"))?;
        // What is left stays, and nothing is written twice.
        self.written.take();
        if is_there {
            let again = left::put_back(self, &found.path).map_err(|error| error.to_string())?;
            hold(again.failed == settled.failed && again.settings == 0, || format!("again: {again:?}"))?;
        }
        Ok(())
    }

    /// As `smt off` does with the leftovers of `smt on`.
    fn judge_take_over(&self, found: &SmtJournal) -> Result<(), String> {
        let is_one_line = |error: threadwise_smt::SmtError| {
            let text = error.to_string();
            hold(!text.is_empty(), || "an empty error".to_owned())
        };
        let mut held = match Held::take_over(self, &found.path, &|| None, None) {
            Ok(held) => held,
            Err(error) => return is_one_line(error),
        };
        only_what_was_said(self, found)?;
        let keep = held.facts().first_of_cores();
        if let Err(error) = held.apply(&Arm::smt(Smt::Offline { keep })) {
            is_one_line(error)?;
        }
        let settled = held.restore().map_err(|error| format!("it is not restored: {error}"))?;
        settled.failed.iter().try_for_each(|line| one_line(line))
    }
}

/// The target.
pub fn make() -> Result<Target, String> {
    Ok(Target::with(Folder::new()?, |_, random| input(random), Folder::judge))
}

fn input(random: &mut Random) -> Vec<u8> {
    let lines = |random: &mut Random| (0..1 + random.below(10)).map(|_| line(random)).collect();
    let lines = changed(random, 70, 4, lines);
    named(random, "smt", 95, 10, &lines)
}

impl Folder {
    /// The values of placeholders: in a name with a dot, in lines with a space.
    fn placed(&self, text: &[u8], between: &str) -> Vec<u8> {
        let place = format!("{}{between}{}", self.here.boot, self.here.pid_namespace);
        replaced(text, &[(HERE, &place), ("@BOOT@", &self.here.boot)])
    }

    fn judge(&self, input: &[u8]) -> Judged {
        let (name, lines) = first_line(input);
        let name = String::from_utf8_lossy(&self.placed(name, ".")).into_owned();
        let lines = self.placed(lines, " ");
        if !is_name(&name) {
            return Ok(false);
        }
        self.reset()?;
        let path = self.state.join(name);
        put(&path, &lines)?;
        let found = left::found(&self.state).map_err(|error| format!("the folder is refused: {error}"))?;
        hold(fs::read(&path).is_ok_and(|after| after == lines), || "reading changed it".to_owned())?;
        Status::read(&self.roots, None, &found).map_err(|error| error.to_string())?;
        let [found] = &found[..] else { return Ok(false) };
        hold(!matches!(found.holder, Holder::Living(_)), || format!("{:?} counts as alive", found.holder))?;
        match lines.len() % 3 {
            0 => self.judge_take_over(found)?,
            _ => self.judge_put_back(found, &lines)?,
        }
        let bound = self.bound.borrow();
        let strange = bound.iter().find(|tid| !(PID..PID + THREADS).contains(*tid));
        hold(strange.is_none(), || format!("the thread {strange:?} was given a mask"))?;
        let outside =
            self.changed().into_iter().map(|(path, _)| path).find(|path| OUTSIDE.contains(&path.as_str()));
        hold(outside.is_none(), || format!("{outside:?} was written"))?;
        let first = &found.first;
        Ok(!first.settings.is_empty() || !first.tasks.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(lines: &str) -> Result<bool, String> {
        let input = format!("smt.{HERE}.4194305.7.00c0ffee\n{lines}");
        make().and_then(|mut target| (target.judge)(input.as_bytes()))
    }

    #[test]
    fn journals_of_here_are_put_back_and_others_are_none() {
        assert_eq!(judged("set @HERE@ online 3 0\nset @HERE@ cpuset a 1-2\n"), Ok(true));
        assert_eq!(judged("v1 @HERE@ 50 51 1050 2\n"), Ok(true));
        assert_eq!(judged("set 0-fuzz-0 4026531836 online 3 0\n"), Ok(false));
        assert_eq!(judged("set @HERE@ cpuset link 1\nset @HERE@ cpuset g 1\n"), Ok(true));
    }

    #[test]
    fn what_a_journal_does_not_say_is_found() {
        let target = Folder::new().unwrap_or_else(|why| panic!("{why}"));
        let found = SmtJournal {
            path: PathBuf::new(),
            holder: Holder::Killed,
            first: threadwise_smt::MachineState {
                settings: [(Setting::Boost, "0".to_owned())].into(),
                ..Default::default()
            },
        };
        assert!(target.write(&Setting::Boost, "0").is_ok());
        assert_eq!(only_what_was_said(&target, &found), Ok(()));
        assert!(target.write(&Setting::NoTurbo, "1").is_ok());
        assert!(only_what_was_said(&target, &found).is_err());
        assert_eq!(target.changed().len(), 2);
        assert_eq!(target.reset().map(|()| target.changed().len()), Ok(0));
    }
}
