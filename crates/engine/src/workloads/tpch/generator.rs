//! The generator's text: `tpchgen-cli` writes a table as CSV into a pipe, and the loader reads the other end.
//! A generator that fails, or a stream that ends early, never passes for a complete table.

use std::io::{BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use super::tables::Table;
use crate::EngineError;

/// Bytes read from the pipe at once.
const READ_BYTES: usize = 1 << 20;

/// Bytes of the generator's error output kept for a message.
const SAID_BYTES: usize = 300;

/// The generator in a data folder.
#[derive(Debug, Clone)]
pub struct Generator {
    engine: &'static str,
    program: PathBuf,
    scale: f64,
    log: PathBuf,
}

/// A running generator; killed when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended already is only waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Generator {
    /// The generator in a data folder, where the runner put it.
    ///
    /// # Errors
    /// It is not there.
    pub fn find(engine: &'static str, data_dir: &Path, scale: f64) -> Result<Self, EngineError> {
        let program = data_dir.join("generator");
        let found = Self {
            engine,
            program,
            scale,
            log: data_dir.join(format!("generator-{}.log", std::process::id())),
        };
        match std::fs::metadata(&found.program) {
            Ok(entry) if entry.is_file() => Ok(found),
            Ok(_) => Err(found.failed("find", "it is not a program")),
            Err(cause) => Err(found.failed("find", &cause.to_string())),
        }
    }

    /// The scale factor that it generates for.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    fn failed(&self, verb: &str, why: &str) -> EngineError {
        EngineError::Failed {
            engine: self.engine.to_owned(),
            action: format!("{verb} the generator {}", self.program.display()),
            why: format!("{why}; it comes with the environment that `threadwise engine add duckdb` makes"),
        }
    }

    /// Lets `load` read the table's text to its end; its first line has the column names. An error of `load` comes
    /// before one of the generator.
    ///
    /// # Errors
    /// That of `load`, or the generator's.
    pub fn table<T>(
        &self,
        table: &Table,
        load: impl FnOnce(&mut BufReader<ChildStdout>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let (mut running, text) = self.start(table)?;
        let mut text = BufReader::with_capacity(READ_BYTES, text);
        let loaded = load(&mut text)?;
        // The rest was not loaded.
        let mut rest = [0_u8; 1];
        let left = text.read(&mut rest).unwrap_or(0);
        drop(text);
        let status = running.0.wait().map_err(|cause| self.failed("wait for", &cause.to_string()))?;
        let said = self.said();
        // It only has this generator's output.
        let _ = std::fs::remove_file(&self.log);
        match (status.success(), left) {
            (true, 0) => Ok(loaded),
            // The closed pipe may have ended it.
            (_, 1..) => Err(self.failed("load all of", &format!("text of {} was not read", table.name))),
            (false, 0) => {
                let why = format!("it ended with {status} in table {}: {said}", table.name);
                Err(EngineError::Failed {
                    engine: self.engine.to_owned(),
                    action: "generate the data".into(),
                    why,
                })
            }
        }
    }

    fn start(&self, table: &Table) -> Result<(Running, ChildStdout), EngineError> {
        let log = std::fs::File::create(&self.log)
            .map_err(|cause| self.failed("write the log of", &cause.to_string()))?;
        let mut child = Command::new(&self.program)
            .args(["csv", "--stdout", "--quiet", "--tables", table.name, "--scale-factor"])
            .arg(self.scale.to_string())
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            // It ends with the pipe, also if this process is killed.
            .process_group(0)
            .spawn()
            .map_err(|cause| self.failed("start", &cause.to_string()))?;
        let text = child.stdout.take();
        let running = Running(child);
        match text {
            Some(text) => Ok((running, text)),
            None => Err(self.failed("read from", "it has no output")),
        }
    }

    fn said(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let tail = line.char_indices().rev().nth(SAID_BYTES).map_or(0, |(at, _)| at);
        match line[tail..].trim() {
            "" => "it wrote no error".to_owned(),
            said => said.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::TABLES;
    use super::*;

    fn generator(folder: &Path, script: &str) -> Generator {
        let program = folder.join("generator");
        threadwise_process::programs::write(&program, &format!("#!/bin/sh\n{script}\n")).unwrap();
        Generator::find("test", folder, 0.01).unwrap()
    }

    fn read_all(text: &mut BufReader<ChildStdout>) -> Result<String, EngineError> {
        let mut all = String::new();
        text.read_to_string(&mut all).unwrap();
        Ok(all)
    }

    #[test]
    fn the_text_of_a_table_is_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let generator = generator(folder.path(), "echo \"$@\"");
        let text = generator.table(&TABLES[0], read_all).unwrap();
        assert_eq!(text, "csv --stdout --quiet --tables region --scale-factor 0.01\n");
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "only the program is left");
    }

    #[test]
    fn a_generator_that_fails_half_way_is_an_error_with_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let generator = generator(folder.path(), "echo a; echo no room >&2; exit 3");
        let message = generator.table(&TABLES[7], read_all).unwrap_err().to_string();
        assert!(message.contains("lineitem") && message.contains("no room"), "{message}");
        assert!(message.contains("exit status: 3"), "{message}");
    }

    #[test]
    fn text_that_nobody_read_is_an_error_and_a_missing_generator_too() {
        let folder = tempfile::tempdir().unwrap();
        let generator = generator(folder.path(), "echo a; echo b");
        let message = generator.table(&TABLES[0], |_| Ok(())).unwrap_err().to_string();
        assert!(message.contains("was not read"), "{message}");
        std::fs::remove_file(folder.path().join("generator")).unwrap();
        let message = Generator::find("test", folder.path(), 1.0).unwrap_err().to_string();
        assert!(message.contains("engine add"), "{message}");
    }
}
