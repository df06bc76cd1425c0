//! The journal of SMT, logical CPUs and clocks (`smt`): found in a state folder, restored, and taken over.
//!
//! The machine is a folder, and its kernel accepts any value. Lines usually name this boot,
//! since others are ignored; threads are those of the folder, and the process of a name has a number that no
//! process gets (`proc_sys_kernel(5)`: `pid_max` is 2^22 at most).

use super::{Target, hold, space};
use crate::mutate;
use crate::random::Random;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use threadwise_machine::CpuSet;
use threadwise_process::journal::Here;
use threadwise_smt::left::{self, Found, Holder};
use threadwise_smt::{Arm, Held, Kernel, Roots, Setting, Smt, Status};

/// This boot and this PID namespace, which differ from machine to machine.
const HERE: &str = "@HERE@";
const CPU: &str = "machine/sys/devices/system/cpu";
const GROUPS: &str = "machine/sys/fs/cgroup/cpuset";
/// A process of the machine in the folder, its start, and its number of threads.
const PID: u32 = 50;
const START: u64 = 1050;
const THREADS: u32 = 2;
/// Neither is ever written.
const OUTSIDE: [&str; 2] = ["passwd", "elsewhere/cpuset.cpus"];

/// Files by their paths below the folder.
type Files = BTreeMap<String, String>;

/// The machine in a folder: a written value is a file's value.
struct Folder {
    space: TempDir,
    roots: Roots,
    first: Files,
    /// What was written since the last query.
    written: RefCell<Vec<(Setting, String)>>,
    bound: RefCell<Vec<u32>>,
}

/// The subjects of journals.
fn machine() -> Files {
    let mut files = Files::new();
    let mut put = |path: String, text: &str| drop(files.insert(path, text.to_owned()));
    for cpu in 0..4_u32 {
        put(format!("{CPU}/cpu{cpu}/topology/thread_siblings_list"), if cpu < 2 { "0-1" } else { "2-3" });
        if cpu > 0 {
            put(format!("{CPU}/cpu{cpu}/online"), "1");
        }
    }
    let policy = format!("{CPU}/cpufreq/policy0");
    put(format!("{policy}/scaling_available_governors"), "performance schedutil");
    put(format!("{policy}/scaling_governor"), "schedutil");
    put(format!("{policy}/boost"), "1");
    put(format!("{CPU}/cpufreq/boost"), "1");
    put(format!("{CPU}/intel_pstate/no_turbo"), "0");
    put(format!("{CPU}/smt/control"), "on");
    put(format!("{CPU}/smt/active"), "1");
    put("machine/sys/devices/system/node/node0/cpulist".to_owned(), "0-3");
    put(format!("{GROUPS}/cpuset.cpus"), "0-3");
    put(format!("{GROUPS}/a/cpuset.cpus"), "0-3");
    put(format!("{GROUPS}/a/b/cpuset.cpus"), "1-3");
    put("machine/proc/irq/9/smp_affinity_list".to_owned(), "0,3");
    for tid in PID..PID + THREADS {
        let folder = format!("machine/proc/{PID}/task/{tid}");
        put(format!("{folder}/stat"), &format!("{tid} (one) S 1 {}{START} 0", "0 ".repeat(17)));
        put(format!("{folder}/status"), "Cpus_allowed_list:\t0-3\n");
    }
    OUTSIDE.iter().for_each(|path| put((*path).to_owned(), "0"));
    files
}

impl Folder {
    fn new() -> Result<Self, String> {
        let space = space()?;
        let (path, first) = (space.path().to_owned(), machine());
        let failed = |error: io::Error| error.to_string();
        fs::DirBuilder::new().mode(0o700).create(path.join("state")).map_err(failed)?;
        let folder = Self {
            roots: Roots::below(&path.join("machine")),
            space,
            first,
            written: RefCell::default(),
            bound: RefCell::default(),
        };
        for (file, text) in &folder.first {
            let file = path.join(file);
            file.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
            fs::write(file, text).map_err(failed)?;
        }
        fs::create_dir_all(path.join("machine/proc/self/ns")).map_err(failed)?;
        for (target, link) in [
            ("pid:[4026531836]", "machine/proc/self/ns/pid"),
            ("../../../../../../../../passwd", &format!("{GROUPS}/link")),
        ] {
            symlink(target, path.join(link)).map_err(failed)?;
        }
        symlink(path.join("elsewhere"), path.join(GROUPS).join("g")).map_err(failed)?;
        Ok(folder)
    }

    fn state(&self) -> PathBuf {
        self.space.path().join("state")
    }

    /// The difference from the original machine.
    fn changed(&self) -> Vec<&String> {
        let differs = |(path, text): &(&String, &String)| {
            !fs::read_to_string(self.space.path().join(path)).is_ok_and(|now| now == **text)
        };
        self.first.iter().filter(differs).map(|(path, _)| path).collect()
    }

    /// Restores the original machine.
    fn reset(&self) -> Result<(), String> {
        self.written.take();
        self.bound.take();
        for path in self.changed() {
            fs::write(self.space.path().join(path), &self.first[path]).map_err(|error| error.to_string())?;
        }
        for entry in fs::read_dir(self.state()).map_err(|error| error.to_string())?.flatten() {
            fs::remove_file(entry.path()).map_err(|error| error.to_string())?;
        }
        Ok(())
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
        1 => format!("owner {here} {} {START}\n", (1 << 22) + PID),
        _ => format!("set {here} {setting}\n"),
    }
}

/// A file's name, usually that of a journal which a killed process of this boot left.
fn name(random: &mut Random) -> String {
    let here = if random.percent(95) { HERE } else { "0-fuzz-0.4026531836" };
    let name = format!("smt.{here}.{}.{}.00c0ffee00c0ffee", (1 << 22) + 1, random.below(1 << 20));
    if random.percent(90) {
        return name;
    }
    let mut bytes = name.into_bytes();
    mutate::text(random, &mut bytes, 1, &[]);
    bytes.retain(|byte| !matches!(byte, b'\n' | b'/' | 0));
    String::from_utf8_lossy(&bytes).chars().take(60).collect()
}

/// Replaces places by this one, in a name with a dot and in lines with a space.
fn placed(bytes: &[u8], here: &Here, between: &str) -> Vec<u8> {
    let place = format!("{}{between}{}", here.boot, here.pid_namespace);
    let mut rest = bytes;
    let mut placed = Vec::with_capacity(bytes.len());
    while let Some((first, others)) = rest.split_first() {
        let known = [(HERE, &place), ("@BOOT@", &here.boot)];
        match known.iter().find(|(word, _)| rest.starts_with(word.as_bytes())) {
            Some((word, text)) => {
                placed.extend(text.as_bytes());
                rest = &rest[word.len()..];
            }
            None => {
                placed.push(*first);
                rest = others;
            }
        }
    }
    placed
}

/// Every written value was in a journal, and its file may be written.
fn only_what_was_said(folder: &Folder, found: &Found) -> Result<(), String> {
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

fn are_lines(lines: &[String]) -> Result<(), String> {
    let strange = lines.iter().find(|line| line.is_empty() || line.contains('\n'));
    strange.map_or(Ok(()), |line| Err(format!("an error that is not one line: {line:?}")))
}

impl Folder {
    /// As the next command does.
    fn judge_put_back(&self, found: &Found, input: &[u8]) -> Result<(), String> {
        let settled = match left::put_back(self, &found.path) {
            Ok(settled) => settled,
            Err(error) => return Err(format!("the journal of an ended process is refused: {error}")),
        };
        are_lines(&settled.failed)?;
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
    fn judge_take_over(&self, found: &Found) -> Result<(), String> {
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
        are_lines(&settled.failed)
    }
}

/// The target.
struct Journals {
    folder: Folder,
    here: Here,
}

/// The target.
pub fn make() -> Result<Box<dyn Target>, String> {
    let here = Here::now();
    hold(here.is_known(), || "this boot has no id".to_owned())?;
    Ok(Box::new(Journals { folder: Folder::new()?, here }))
}

/// Writes a new file that the journal trusts.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}

impl Target for Journals {
    /// A name, and after the first line end the lines.
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let lines: Vec<String> = (0..1 + random.below(10)).map(|_| line(random)).collect();
        let mut bytes = lines.concat().into_bytes();
        if random.percent(70) {
            let (times, donor) = (random.times(4), line(random).into_bytes());
            mutate::text(random, &mut bytes, times, &[donor]);
        }
        [name(random).as_bytes(), b"\n", &bytes].concat()
    }

    fn judge(&mut self, input: &[u8]) -> Result<bool, String> {
        let at = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
        let name = String::from_utf8_lossy(&placed(&input[..at], &self.here, ".")).into_owned();
        let lines = placed(input.get(at + 1..).unwrap_or_default(), &self.here, " ");
        let is_name = !name.is_empty() && !matches!(&*name, "." | "..") && !name.contains(['/', '\0']);
        if !is_name || name.len() > 255 {
            return Ok(false);
        }
        let folder = &self.folder;
        folder.reset()?;
        let path = folder.state().join(name);
        put(&path, &lines).map_err(|error| error.to_string())?;
        let found =
            left::found(&folder.state()).map_err(|error| format!("the folder is refused: {error}"))?;
        hold(fs::read(&path).is_ok_and(|after| after == lines), || "reading changed it".to_owned())?;
        Status::read(&folder.roots, None, &found).map_err(|error| error.to_string())?;
        let [found] = &found[..] else { return Ok(false) };
        hold(!matches!(found.holder, Holder::Living(_)), || format!("{:?} counts as alive", found.holder))?;
        match lines.len() % 3 {
            0 => folder.judge_take_over(found)?,
            _ => folder.judge_put_back(found, &lines)?,
        }
        let bound = folder.bound.borrow();
        let strange = bound.iter().find(|tid| !(PID..PID + THREADS).contains(*tid));
        hold(strange.is_none(), || format!("the thread {strange:?} was given a mask"))?;
        let outside = folder.changed().into_iter().find(|path| OUTSIDE.contains(&path.as_str()));
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
        make().and_then(|mut target| target.judge(input.as_bytes()))
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
        let found = Found {
            path: PathBuf::new(),
            holder: Holder::Killed,
            first: threadwise_smt::State {
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
