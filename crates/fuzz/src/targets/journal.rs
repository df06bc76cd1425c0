//! The journal of masks (`process::journal`): read to restore, read to extend, and found in a state
//! folder under any name.
//!
//! Every line names a boot that never was, so that no mutant can mean a thread. A
//! name may have this boot, since otherwise the file would not be read; its process has a number
//! that no process gets (`proc_sys_kernel(5)`: `pid_max` is 2^22 at most).

use super::{Target, hold, space};
use crate::mutate;
use crate::random::Random;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use threadwise_process::journal::{self, Journal, close, left, put_left_back, restore};

/// In a name: this boot and this PID namespace, which differ from machine to machine.
const HERE: &str = "@HERE@";

struct Journals {
    space: TempDir,
    /// The value of [`HERE`].
    here: String,
}

/// The target.
pub fn make() -> Result<Box<dyn Target>, String> {
    let space = space()?;
    let path = journal::new_path()?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // A part that the kernel does not show is `-`, which a mutant may have too.
    let [_, boot, pid_namespace, ..] = name.split('.').collect::<Vec<_>>()[..] else {
        return Err(format!("{name} names no owner"));
    };
    hold(boot.len() == 36, || format!("'{boot}' is not an id of this boot"))?;
    let here = format!("{boot}.{pid_namespace}");
    fs::DirBuilder::new()
        .mode(0o700)
        .create(space.path().join("state"))
        .map_err(|error| error.to_string())?;
    Ok(Box::new(Journals { space, here }))
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
        _ => format!("owner {boot} 4026531836 {} {start}\n", (1 << 22) + pid),
    }
}

/// A file's name, usually one under which a killed study of this boot left its journal.
fn name(random: &mut Random) -> String {
    let here = if random.percent(75) { HERE } else { "0-fuzz-0.4026531836" };
    let name = format!("masks.{here}.{}.{}.00c0ffee00c0ffee", (1 << 22) + 1, random.below(1 << 20));
    if random.percent(70) {
        return name;
    }
    let mut bytes = name.into_bytes();
    mutate::text(random, &mut bytes, 1, &[]);
    bytes.retain(|byte| !matches!(byte, b'\n' | b'/' | 0));
    String::from_utf8_lossy(&bytes).chars().take(60).collect()
}

/// Writes a new file that the journal trusts.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let _ = fs::remove_file(path);
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}

impl Journals {
    /// As the journal's own study, and as a worker that extends it.
    fn judge_own(&self, input: &[u8]) -> Result<bool, String> {
        let path = self.space.path().join("journal");
        put(&path, input).map_err(|error| error.to_string())?;
        let restored = restore(&path).map_err(|error| format!("a trusted journal is refused: {error}"))?;
        hold(restored.put_back == 0, || format!("{} threads were given a mask", restored.put_back))?;
        restored.failed.iter().try_for_each(|why| is_one_line(why))?;
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
        let is_name = !name.is_empty() && !matches!(name, "." | "..") && !name.contains(['/', '\0']);
        if !is_name || name.len() > 255 {
            return Ok(());
        }
        let path = folder.join(name);
        put(&path, input).map_err(|error| error.to_string())?;
        let is_same = || fs::read(&path).is_ok_and(|after| after == input);
        let found = left(&folder).map_err(|error| format!("the folder is refused: {error}"))?;
        hold(found.is_empty(), || format!("{found} are taken for bound"))?;
        hold(is_same(), || "reading changed the journal".to_owned())?;
        let done = put_left_back(&folder).map_err(|error| format!("the folder is refused: {error}"))?;
        hold(done.bound.is_empty(), || format!("{} were given a mask", done.bound))?;
        done.failed.iter().try_for_each(|why| is_one_line(why))?;
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
}

fn is_one_line(text: &str) -> Result<(), String> {
    hold(!text.is_empty() && !text.contains('\n'), || format!("an error that is not one line: {text:?}"))
}

impl Target for Journals {
    /// A name, and after the first line end the lines.
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let lines: Vec<String> = (0..1 + random.below(8)).map(|_| line(random)).collect();
        let mut bytes = lines.concat().into_bytes();
        if random.percent(85) {
            let (times, donor) = (random.times(4), line(random).into_bytes());
            mutate::text(random, &mut bytes, times, &[donor]);
        }
        [name(random).as_bytes(), b"\n", &bytes].concat()
    }

    fn judge(&mut self, input: &[u8]) -> Result<bool, String> {
        let at = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
        let lines = input.get(at + 1..).unwrap_or_default();
        let name = String::from_utf8_lossy(&input[..at]).replace(HERE, &self.here);
        self.judge_left(&name, lines)?;
        self.judge_own(lines)
    }
}
