//! The journal of masks (`process::journal`): read to restore, read to extend, and found in a state
//! folder under any name; and what both journals of this project have in common.
//!
//! Every line names a boot that never was, so that no mutant can mean a thread. A
//! name may have this boot, since otherwise the file would not be read; its process has a number
//! that no process gets (`proc_sys_kernel(5)`: `pid_max` is 2^22 at most).

use crate::mutate;
use crate::random::Random;
use crate::target::{Judged, Target, changed, first_line, hold, one_line, space};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use threadwise_process::journal::{BootNamespace, Journal, close, left, new_path, put_left_back, restore};

/// This boot and this PID namespace, which differ from machine to machine.
pub const HERE: &str = "@HERE@";
/// More than any process has.
pub const NO_PID: usize = (1 << 22) + 1;

/// A journal's name, usually one under which a killed process of this boot left it: here in `here` percent of the
/// cases, changed in `percent` ones. After the first line end are its lines.
pub fn named(random: &mut Random, kind: &str, here: usize, percent: usize, lines: &[u8]) -> Vec<u8> {
    let here = if random.percent(here) { HERE } else { "0-fuzz-0.4026531836" };
    let name = format!("{kind}.{here}.{NO_PID}.{}.00c0ffee00c0ffee", random.below(1 << 20));
    let mut bytes = name.into_bytes();
    if random.percent(percent) {
        mutate::text(random, &mut bytes, 1, &[]);
        bytes.retain(|byte| !matches!(byte, b'\n' | b'/' | 0));
        bytes = String::from_utf8_lossy(&bytes).chars().take(60).collect::<String>().into_bytes();
    }
    [bytes.as_slice(), b"\n", lines].concat()
}

/// Whether a folder may have a file of this name.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && !matches!(name, "." | "..") && !name.contains(['/', '\0']) && name.len() <= 255
}

/// A state folder, which the journal trusts.
pub fn state(space: &TempDir) -> Result<PathBuf, String> {
    let path = space.path().join("state");
    fs::DirBuilder::new().mode(0o700).create(&path).map_err(|error| error.to_string())?;
    Ok(path)
}

/// Writes a new file that the journal trusts.
pub fn put(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let _ = fs::remove_file(path);
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(bytes)).map_err(|error| format!("{}: {error}", path.display()))
}

/// The values of placeholders in a text, in one pass: a mutant may have thousands.
pub fn replaced(text: &[u8], words: &[(&str, &str)]) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((first, others)) = rest.split_first() {
        match words.iter().find(|(word, _)| rest.starts_with(word.as_bytes())) {
            Some((word, value)) => {
                bytes.extend(value.bytes());
                rest = &rest[word.len()..];
            }
            None => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    bytes
}

struct Journals {
    space: TempDir,
    /// The value of [`HERE`].
    here: String,
}

/// The target.
pub fn make() -> Result<Target, String> {
    let (space, here) = (space()?, BootNamespace::now());
    hold(here.is_known(), || "this boot has no id".to_owned())?;
    state(&space)?;
    let here = format!("{}.{}", here.boot, here.pid_namespace);
    let (path, start) = (new_path()?, format!("masks.{here}."));
    let is_named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start));
    hold(is_named, || format!("{} does not begin with {start}", path.display()))?;
    Ok(Target::with(Journals { space, here }, |_, random| input(random), Journals::judge))
}

fn input(random: &mut Random) -> Vec<u8> {
    let lines = |random: &mut Random| (0..1 + random.below(8)).map(|_| line(random)).collect();
    let lines = changed(random, 85, 4, lines);
    named(random, "masks", 75, 30, &lines)
}

fn line(random: &mut Random) -> String {
    let boot = format!("0-fuzz-{}", random.below(3));
    let (pid, start) = (1 + random.below(70_000), random.below(1 << 20));
    let mask = random.pick(&["0", "0-3", "0-1,8", "5", "0-1023"]);
    match random.below(10) {
        0..7 => format!("v1 {boot} 4026531836 {pid} {} {start} {mask}\n", pid + random.below(3)),
        7 => {
            let group = random.pick(&["-", "/sys/fs/cgroup/system.slice/postgresql.service"]);
            format!("server {boot} 4026531836 {pid} {start} 0-7 {mask} {group}\n")
        }
        _ => format!("owner {boot} 4026531836 {} {start}\n", NO_PID + pid),
    }
}

impl Journals {
    /// As the journal's own study, and as a worker that extends it.
    fn judge_own(&self, input: &[u8]) -> Result<bool, String> {
        let path = self.space.path().join("journal");
        put(&path, input)?;
        let restored = restore(&path).map_err(|error| format!("a trusted journal is refused: {error}"))?;
        hold(restored.put_back == 0, || format!("{} threads were given a mask", restored.put_back))?;
        restored.failed.iter().try_for_each(|why| one_line(why))?;
        let (pid, whole) =
            (std::process::id(), input.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
        let journal = Journal::open(&path).map_err(|error| error.to_string())?;
        let added =
            journal.record_all(&[(pid, pid)]).map_err(|error| format!("it cannot be extended: {error}"))?;
        hold(added == [(pid, pid)], || "a thread that lives was taken for one that has ended".to_owned())?;
        let after = fs::read(&path).map_err(|error| error.to_string())?;
        hold(after.starts_with(&input[..whole]), || "a complete line was lost".to_owned())?;
        hold(after.ends_with(b"\n") && after.len() > whole, || "no complete line was added".to_owned())?;
        let added = String::from_utf8_lossy(&after[whole..]).into_owned();
        hold(added.starts_with("owner "), || format!("its writer is not named: {added:?}"))?;
        let known = |word: &[u8]| input.windows(word.len()).any(|found| found == word);
        Ok(restored.gone > 0 || known(b"server ") || known(b"owner "))
    }

    /// As the next command, which searches the state folder.
    fn judge_left(&self, name: &str, input: &[u8]) -> Result<(), String> {
        let folder = self.space.path().join("state");
        if !is_name(name) {
            return Ok(());
        }
        let path = folder.join(name);
        put(&path, input)?;
        let is_same = || fs::read(&path).is_ok_and(|after| after == input);
        let found = left(&folder).map_err(|error| format!("the folder is refused: {error}"))?;
        hold(found.is_empty(), || format!("{found} are taken for bound"))?;
        hold(is_same(), || "reading changed the journal".to_owned())?;
        let done = put_left_back(&folder).map_err(|error| format!("the folder is refused: {error}"))?;
        hold(done.bound.is_empty(), || format!("{} were given a mask", done.bound))?;
        done.failed.iter().try_for_each(|why| one_line(why))?;
        hold(is_same() || done.failed.is_empty() && !path.exists(), || {
            format!("a journal with lines that failed is gone: {:?}", done.failed)
        })?;
        let is_foreign = !name.starts_with(&format!("masks.{}.", self.here));
        hold(is_same() || !is_foreign, || format!("{name} of another machine is gone"))?;
        // What was not restored remains for its study.
        close(&path, Duration::ZERO).map_err(|error| format!("it is not closed: {error}"))?;
        let _ = fs::remove_file(&path);
        Ok(())
    }

    fn judge(&self, input: &[u8]) -> Judged {
        let (name, lines) = first_line(input);
        let name = replaced(name, &[(HERE, &self.here)]);
        self.judge_left(&String::from_utf8_lossy(&name), lines)?;
        self.judge_own(lines)
    }
}
