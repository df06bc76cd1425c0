//! Answers that are kept with their data.
//!
//! A plain text file: a line with the form's version, the engine, its version, the parameters, the
//! number of rows; a line for each row with `|` between values (`\N` is NULL; backslash, bar and line
//! ends are escaped); a line with the checksum. A damaged one, or one of another form or for other
//! parameters, counts as absent, so that it is made again.

use super::{Answer, Reference};
use crate::{Parameters, sealed};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const FORM: &str = "threadwise tpch answer 1";

/// A kept answer cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} the kept answer {}: {source}; check the folder's permissions and the disk's free space", .path.display())]
pub struct FileError {
    /// `read` or `write`.
    pub what: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The cause.
    pub source: io::Error,
}

impl Reference {
    /// The answer kept for these parameters under a folder; `None` if there is no valid one.
    ///
    /// # Errors
    /// A file exists but cannot be read.
    pub fn read(folder: &Path, parameters: &Parameters) -> Result<Option<Self>, FileError> {
        let path = path(folder, parameters);
        match sealed::read(&path) {
            Ok(text) => Ok(text.and_then(|text| parse(&text, parameters))),
            Err(source) => Err(FileError { what: "read", path, source }),
        }
    }

    /// Keeps the answer for these parameters under a folder, which is made if it does not exist.
    ///
    /// # Errors
    /// It cannot be written; an earlier file stays.
    pub fn write(&self, folder: &Path, parameters: &Parameters) -> Result<(), FileError> {
        let path = path(folder, parameters);
        let written =
            fs::create_dir_all(folder).and_then(|()| sealed::write(&path, &print(self, parameters)));
        written.map_err(|source| FileError { what: "write", path, source })
    }
}

fn path(folder: &Path, parameters: &Parameters) -> PathBuf {
    folder.join(format!("{}.txt", parameters.key()))
}

fn print(reference: &Reference, parameters: &Parameters) -> String {
    let Reference { engine, version, answer } = reference;
    let mut text = format!(
        "{FORM}\nengine {}\nversion {}\nparameters {}\nrows {}\n",
        escaped(engine),
        escaped(version),
        escaped(&parameters.to_string()),
        answer.len()
    );
    for row in answer {
        let cells: Vec<String> =
            row.iter().map(|cell| cell.as_deref().map_or_else(|| NULL.to_owned(), escaped)).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}", cells.join("|"));
    }
    text
}

fn parse(text: &str, parameters: &Parameters) -> Option<Reference> {
    // Not `lines()`, which would remove a carriage return at a value's end.
    let mut lines = text.strip_suffix('\n')?.split('\n');
    let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ').and_then(unescaped);
    let form = field("threadwise")?;
    if FORM.strip_prefix("threadwise ") != Some(form.as_str()) {
        return None;
    }
    let (engine, version) = (field("engine")?, field("version")?);
    if field("parameters")? != parameters.to_string() {
        return None;
    }
    let rows: usize = field("rows")?.parse().ok()?;
    let cell = |text: &str| if text == NULL { Some(None) } else { unescaped(text).map(Some) };
    let answer: Answer =
        lines.map(|line| line.split('|').map(cell).collect::<Option<_>>()).collect::<Option<_>>()?;
    (answer.len() == rows).then_some(Reference { engine, version, answer })
}

const NULL: &str = "\\N";

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\p").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescaped(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        plain.push(match c {
            '\\' => match rest.next()? {
                '\\' => '\\',
                'p' => '|',
                'n' => '\n',
                'r' => '\r',
                _ => return None,
            },
            c => c,
        });
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reference(answer: Answer) -> Reference {
        Reference { engine: "duckdb".to_owned(), version: "1.2.3".to_owned(), answer }
    }

    proptest! {
        #[test]
        fn any_answer_comes_back(answer: Vec<[Option<String>; 3]>) {
            let folder = tempfile::tempdir().unwrap();
            let parameters = Parameters::validation(4, 1.0).unwrap();
            let reference = reference(answer.into_iter().map(|row| row.to_vec()).collect());
            reference.write(folder.path(), &parameters).unwrap();
            prop_assert_eq!(Reference::read(folder.path(), &parameters).unwrap(), Some(reference));
        }
    }

    #[test]
    fn no_other_answer_and_no_damaged_one_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let answers = folder.path().join("answers");
        let (one, other) =
            (Parameters::validation(4, 1.0).unwrap(), Parameters::seeded(4, 1.0, 1, 1).unwrap());
        assert_eq!(Reference::read(&answers, &one).unwrap(), None);
        let kept = reference(vec![vec![None, Some("1|2\\N".to_owned())], vec![Some(String::new()), None]]);
        kept.write(&answers, &one).unwrap();
        assert_eq!(Reference::read(&answers, &one).unwrap().as_ref(), Some(&kept));
        assert_eq!(Reference::read(&answers, &other).unwrap(), None);
        fs::copy(path(&answers, &one), path(&answers, &other)).unwrap();
        assert_eq!(Reference::read(&answers, &other).unwrap(), None, "the file is for other parameters");
        let whole = fs::read_to_string(path(&answers, &one)).unwrap();
        fs::write(path(&answers, &one), whole.replace("1\\p2", "1\\p3")).unwrap();
        assert_eq!(Reference::read(&answers, &one).unwrap(), None, "a value was changed");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("answers"), "a file").unwrap();
        let error = reference(Vec::new())
            .write(&folder.path().join("answers"), &Parameters::validation(4, 1.0).unwrap())
            .unwrap_err();
        assert!(error.to_string().contains("cannot write the kept answer"), "{error}");
    }
}
