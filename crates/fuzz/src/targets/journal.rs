//! The journal of masks (`process::journal`): read to restore, read to extend, and found in a state
//! folder under any name; and what both journals of this project have in common.
//!
//! Every line names a boot that never was, so that no mutant can mean a thread. A
//! name may have this boot, since otherwise the file would not be read; its process has a number
//! that no process gets (`proc_sys_kernel(5)`: `pid_max` is 2^22 at most).

use crate::mutate;
use crate::random::{Grammar, Random};
use crate::target::{Target, changed, first_line, one_line, space};
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
pub fn state(space: &TempDir) -> PathBuf {
    let path = space.path().join("state");
    fs::DirBuilder::new().mode(0o700).create(&path).expect("a new folder");
    path
}

/// Writes a new file that the journal trusts.
pub fn put(path: &Path, bytes: &[u8]) {
    let _ = fs::remove_file(path);
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(bytes)).expect("a new file");
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
    lines: Grammar,
}

/// Lines of threads that were bound, of their server, and of the process that writes.
const THREAD: &str =
    "v1 0-fuzz-[0-2] 4026531836 [1-9][0-9]{0,4} [1-9][0-9]{0,4} [1-9][0-9]{0,5} (0|0-3|0-1,8|5|0-1023)\n";
const SERVER: &str = "server 0-fuzz-[0-2] 4026531836 [1-9][0-9]{0,4} [1-9][0-9]{0,5} 0-7 (0-3|5) \
    (-|/sys/fs/cgroup/system\\.slice/postgresql\\.service)\n";
const OWNER: &str = "owner 0-fuzz-[0-2] 4026531836 419[5-9][0-9]{3} [1-9][0-9]{0,5}\n";

/// The target.
pub fn make() -> Target {
    let (space, here) = (space(), BootNamespace::now());
    assert!(here.is_known(), "this boot has no id");
    state(&space);
    let here = format!("{}.{}", here.boot, here.pid_namespace);
    let (path, start) = (new_path().expect("a path for a journal"), format!("masks.{here}."));
    let is_named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&start));
    assert!(is_named, "{} does not begin with {start}", path.display());
    let lines = Grammar::new(&format!("(({THREAD}){{1,4}}(|{SERVER}|{OWNER})){{1,2}}"));
    Target::with(Journals { space, here, lines }, Journals::input, Journals::judge)
}

impl Journals {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let lines = changed(random, 85, 4, |random| random.matching(&self.lines));
        named(random, "masks", 75, 30, &lines)
    }

    /// As the journal's own study, and as a worker that extends it.
    fn judge_own(&self, input: &[u8]) -> bool {
        let path = self.space.path().join("journal");
        put(&path, input);
        let restored = restore(&path).expect("a trusted journal is read");
        assert_eq!(restored.put_back, 0, "threads were given a mask");
        restored.failed.iter().for_each(|why| one_line(why));
        let pid = std::process::id();
        let whole = input.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let journal = Journal::open(&path).expect("a trusted journal is opened");
        let added = journal.record_all(&[(pid, pid)]).expect("it can be extended");
        assert_eq!(added, [(pid, pid)], "a thread that lives was taken for one that has ended");
        let after = fs::read(&path).expect("the journal");
        assert!(after.starts_with(&input[..whole]), "a complete line was lost");
        assert!(after.ends_with(b"\n"), "no complete line was added");
        let added = String::from_utf8_lossy(&after[whole..]);
        assert!(added.starts_with("owner "), "its writer is not named: {added:?}");
        let known = |word: &[u8]| input.windows(word.len()).any(|found| found == word);
        restored.gone > 0 || known(b"server ") || known(b"owner ")
    }

    /// As the next command, which searches the state folder.
    fn judge_left(&self, name: &str, input: &[u8]) {
        let folder = self.space.path().join("state");
        if !is_name(name) {
            return;
        }
        let path = folder.join(name);
        put(&path, input);
        let is_same = || fs::read(&path).is_ok_and(|after| after == input);
        let found = left(&folder).expect("the folder is read");
        assert!(found.is_empty(), "{found} are taken for bound");
        assert!(is_same(), "reading changed the journal");
        let done = put_left_back(&folder).expect("the folder is put back");
        assert!(done.bound.is_empty(), "{} were given a mask", done.bound);
        done.failed.iter().for_each(|why| one_line(why));
        let is_done = done.failed.is_empty() && !path.exists();
        assert!(is_same() || is_done, "a journal with lines that failed is gone: {:?}", done.failed);
        let is_foreign = !name.starts_with(&format!("masks.{}.", self.here));
        assert!(is_same() || !is_foreign, "{name} of another machine is gone");
        // What was not restored remains for its study.
        close(&path, Duration::ZERO).expect("it is closed");
        let _ = fs::remove_file(&path);
    }

    fn judge(&self, input: &[u8]) -> bool {
        let (name, lines) = first_line(input);
        let name = replaced(name, &[(HERE, &self.here)]);
        self.judge_left(&String::from_utf8_lossy(&name), lines);
        self.judge_own(lines)
    }
}
