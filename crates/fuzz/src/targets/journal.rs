//! The journal of masks (`server::journal`): read to restore, and read to add to it.
//!
//! Every line names a start of the machine that never was, so that no thread can be meant by any mutant.

use super::{Target, hold, space};
use crate::mutate;
use crate::random::Random;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use tempfile::TempDir;
use threadwise_server::journal::{Journal, restore};

struct Journals {
    _space: TempDir,
    path: PathBuf,
}

/// The target.
pub fn make() -> Result<Box<dyn Target>, String> {
    let space = space()?;
    let path = space.path().join("journal");
    Ok(Box::new(Journals { _space: space, path }))
}

fn line(random: &mut Random) -> String {
    let boot = format!("0-fuzz-{}", random.below(3));
    let (pid, start) = (1 + random.below(70_000), random.below(1 << 20));
    let mask = random.pick(&["0", "0-3", "0-1,8", "5", "0-65535"]);
    match random.percent(80) {
        true => format!("v1 {boot} 4026531836 {pid} {} {start} {mask}\n", pid + random.below(3)),
        false => {
            let group = random.pick(&["-", "/sys/fs/cgroup/system.slice/postgresql.service"]);
            format!("server {boot} 4026531836 {pid} {start} 0-7 {mask} {group}\n")
        }
    }
}

impl Target for Journals {
    fn input(&self, random: &mut Random) -> Vec<u8> {
        let lines: Vec<String> = (0..1 + random.below(8)).map(|_| line(random)).collect();
        let mut bytes = lines.concat().into_bytes();
        if random.percent(85) {
            let (times, donor) = (random.times(4), line(random).into_bytes());
            mutate::text(random, &mut bytes, times, &[donor]);
        }
        bytes
    }

    fn judge(&mut self, input: &[u8]) -> Result<bool, String> {
        let put = || -> std::io::Result<()> {
            use std::io::Write;
            let _ = fs::remove_file(&self.path);
            let mut file =
                fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.path)?;
            file.write_all(input)
        };
        put().map_err(|error| error.to_string())?;
        let restored =
            restore(&self.path).map_err(|error| format!("a journal of ours is refused: {error}"))?;
        hold(restored.put_back == 0, || format!("{} threads were given a mask", restored.put_back))?;
        hold(restored.failed.iter().all(|why| !why.contains('\n')), || "an error of two lines".to_owned())?;
        let (pid, whole) =
            (std::process::id(), input.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1));
        let journal = Journal::open(&self.path).map_err(|error| error.to_string())?;
        journal.record(pid, pid).map_err(|error| format!("it cannot be added to: {error}"))?;
        let after = fs::read(&self.path).map_err(|error| error.to_string())?;
        hold(after.starts_with(&input[..whole]), || "a whole line was lost".to_owned())?;
        hold(after.ends_with(b"\n") && after.len() > whole, || "no whole line was added".to_owned())?;
        Ok(restored.gone > 0 || input.windows(7).any(|word| word == b"server "))
    }
}
