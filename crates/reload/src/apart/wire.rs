//! Messages between root and a process of the owner: one line each, a word and escaped words.

use super::link::{Link, Words, line, maybe, odd};
use crate::driver::Settings;
use crate::error::ItemError;
use crate::folder::kept_of;
use crate::holder::Holder;
use crate::identity::{Identity, Inode};
use crate::report::{Checked, Outcome, Recovered, Report, Stage};
use crate::state::Originals;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use threadwise_process::users::Account;

/// The action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    Reload(Originals),
    Recover,
    Unseal,
    Look,
}

const TASKS: [(&str, Task); 5] = [
    ("reload-keep", Task::Reload(Originals::Keep)),
    ("reload-remove", Task::Reload(Originals::Remove)),
    ("recover", Task::Recover),
    ("unseal", Task::Unseal),
    ("look", Task::Look),
];
const STAGES: [Stage; 5] = [Stage::Hold, Stage::Backup, Stage::Restore, Stage::Check, Stage::Swap];
const RECOVERED: [(&str, Recovered); 3] =
    [("nothing", Recovered::Nothing), ("put-back", Recovered::PutBack), ("finished", Recovered::Finished)];

/// Root's request to a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub task: Task,
    pub owner: Account,
    pub database: PathBuf,
    pub engine: String,
    pub settings: Settings,
    /// Root's own process number.
    pub parent: i32,
}

/// The outcome.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Report(Box<Report>),
    Recovered(Recovered),
    Unsealed(bool),
    Looked,
}

/// A message of a process.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    Stage(Stage),
    WhoHas(Inode, Vec<u8>),
    Answer(Result<Answer, ItemError>),
}

impl Link {
    /// Root's request.
    ///
    /// # Errors
    /// It is malformed, or the socket was closed.
    pub fn request(&mut self) -> io::Result<Request> {
        let words = self.words(None)?.ok_or_else(odd)?;
        request(&mut Words::new(words)).ok_or_else(odd)
    }

    /// Root's answer to the question which processes have a file open.
    ///
    /// # Errors
    /// It is malformed, root could not see them, or the socket was closed.
    pub fn holders(&mut self) -> io::Result<Vec<Holder>> {
        let words = self.words(None)?.ok_or_else(odd)?;
        let mut words = Words::new(words);
        if words.text().as_deref() != Some("holders") {
            return Err(io::Error::other(words.text().unwrap_or_default()));
        }
        let mut found = Vec::new();
        while let Some(pid) = words.number() {
            found.push(Holder { pid, name: words.text().ok_or_else(odd)? });
        }
        Ok(found)
    }

    /// The next message of the process; `None` after a timeout.
    ///
    /// # Errors
    /// The message is unknown, or the process has ended.
    pub fn next(&mut self, within: Duration) -> io::Result<Option<Line>> {
        let Some(words) = self.words(Some(within))? else { return Ok(None) };
        said(&mut Words::new(words)).map(Some).ok_or_else(odd)
    }
}

fn word_of<T: PartialEq + Copy>(all: &[(&'static str, T)], value: T) -> &'static str {
    all.iter().find(|(_, other)| *other == value).map_or("", |(word, _)| word)
}

fn value_of<T: Copy>(all: &[(&str, T)], word: &str) -> Option<T> {
    all.iter().find(|(other, _)| *other == word).map(|(_, value)| *value)
}

impl Request {
    pub fn of(task: Task, owner: &Account, database: &Path, engine: &str, settings: &Settings) -> Self {
        Self {
            task,
            owner: owner.clone(),
            database: database.to_owned(),
            engine: engine.to_owned(),
            settings: Settings { as_owner: None, ..settings.clone() },
            parent: rustix::process::getpid().as_raw_nonzero().get(),
        }
    }

    pub fn line(&self) -> String {
        let Account { uid, gid, groups } = &self.owner;
        let groups: Vec<String> = groups.iter().map(u32::to_string).collect();
        let mut words: Vec<OsString> = vec![
            word_of(&TASKS, self.task).into(),
            uid.to_string().into(),
            gid.to_string().into(),
            groups.join(",").into(),
            self.database.clone().into(),
            self.engine.clone().into(),
            maybe(self.settings.page_size_bytes).into(),
            self.settings.wait.as_secs().to_string().into(),
            self.settings.wait.subsec_nanos().to_string().into(),
            self.parent.to_string().into(),
        ];
        words.extend(self.settings.engine.iter().flat_map(|(key, value)| [key.into(), value.into()]));
        line(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>())
    }
}

fn request(words: &mut Words) -> Option<Request> {
    let task = value_of(&TASKS, &words.text()?)?;
    let (uid, gid) = (words.number()?, words.number()?);
    let groups = words.text()?;
    let groups = groups.split(',').filter(|group| !group.is_empty()).map(|group| group.parse().ok());
    let owner = Account { uid, gid, groups: groups.collect::<Option<_>>()? };
    let (database, engine) = (PathBuf::from(OsString::from_vec(words.bytes()?)), words.text()?);
    let page_size_bytes = words.maybe()?;
    let wait = Duration::from_secs(words.number()?).checked_add(Duration::from_nanos(words.number()?))?;
    let parent = words.number()?;
    let mut settings = Settings { page_size_bytes, wait, ..Settings::default() };
    while let Some(key) = words.text() {
        settings.engine.insert(key, words.text()?);
    }
    Some(Request { task, owner, database, engine, settings, parent })
}

/// The line of a stage.
pub fn stage_line(stage: Stage) -> String {
    line(&[b"stage", stage.word().as_bytes()])
}

/// The question which processes have a file open.
pub fn who_has_line(inode: Inode, name: &OsStr) -> String {
    line(&[b"who-has", inode.dev.to_string().as_bytes(), inode.ino.to_string().as_bytes(), name.as_bytes()])
}

/// The answer to it.
pub fn holders_line(found: &io::Result<Vec<Holder>>) -> String {
    let found = match found {
        Ok(found) => found,
        Err(error) => return line(&[b"unseen", error.to_string().as_bytes()]),
    };
    let numbers: Vec<String> = found.iter().map(|holder| holder.pid.to_string()).collect();
    let pairs = found.iter().zip(&numbers);
    let words = pairs.flat_map(|(holder, number)| [number.as_bytes(), holder.name.as_bytes()]);
    line(&[b"holders".as_slice()].into_iter().chain(words).collect::<Vec<_>>())
}

/// The outcome of the request.
pub fn answer_line(answer: &Result<Answer, ItemError>) -> String {
    match answer {
        Ok(Answer::Report(report)) => report_line(report),
        Ok(Answer::Recovered(recovered)) => line(&[b"recovered", word_of(&RECOVERED, *recovered).as_bytes()]),
        Ok(Answer::Unsealed(was_sealed)) => line(&[b"unsealed", was_sealed.to_string().as_bytes()]),
        Ok(Answer::Looked) => line(&[b"looked"]),
        Err(error) => {
            let (kind, text) = match error {
                ItemError::Skip(text) => ("skip", text.as_str()),
                ItemError::Failed(text) => ("failed", text.as_str()),
                ItemError::LeftBehind(text) => ("left-behind", text.as_str()),
                ItemError::Undecided(text) => ("undecided", text.as_str()),
                ItemError::Stopped => ("stopped", ""),
                ItemError::Abandoned => ("abandoned", ""),
            };
            line(&[b"error", kind.as_bytes(), text.as_bytes()])
        }
    }
}

fn report_line(report: &Report) -> String {
    let (kind, text) = match &report.outcome {
        Outcome::Done => ("done", ""),
        Outcome::DoneBefore => ("done-before", ""),
        Outcome::Skipped(text) => ("skipped", text.as_str()),
        Outcome::Failed(text) => ("failed", text.as_str()),
        Outcome::Stopped => ("stopped", ""),
    };
    let new = report.new;
    let numbers = [
        report.seconds.to_string(),
        report.bytes_before.to_string(),
        maybe(report.bytes_after),
        maybe(report.checked.map(|checked| checked.tables)),
        maybe(report.checked.map(|checked| checked.rows)),
        report.kept.is_some().to_string(),
        report.left_behind.to_string(),
        maybe(new.map(|new| new.inode.dev)),
        maybe(new.map(|new| new.inode.ino)),
        maybe(new.map(|new| new.size_bytes)),
        maybe(new.map(|new| new.mtime_ns)),
    ];
    let mut words =
        vec![b"report".as_slice(), report.path.as_os_str().as_bytes(), kind.as_bytes(), text.as_bytes()];
    words.extend(numbers.iter().map(|number| number.as_bytes()));
    words.extend(report.warnings.iter().map(|warning| warning.as_bytes()));
    line(&words)
}

/// The message of a process.
fn said(words: &mut Words) -> Option<Line> {
    let kind = words.text()?;
    let answer = match kind.as_str() {
        "stage" => {
            let word = words.text()?;
            return STAGES.into_iter().find(|stage| stage.word() == word).map(Line::Stage);
        }
        "who-has" => {
            let inode = Inode { dev: words.number()?, ino: words.number()? };
            return Some(Line::WhoHas(inode, words.bytes()?));
        }
        "error" => return error(words).map(|error| Line::Answer(Err(error))),
        "report" => Answer::Report(Box::new(report(words)?)),
        "recovered" => Answer::Recovered(value_of(&RECOVERED, &words.text()?)?),
        "unsealed" => Answer::Unsealed(words.number()?),
        "looked" => Answer::Looked,
        _ => return None,
    };
    Some(Line::Answer(Ok(answer)))
}

fn error(words: &mut Words) -> Option<ItemError> {
    let (kind, text) = (words.text()?, words.text()?);
    Some(match kind.as_str() {
        "skip" => ItemError::Skip(text),
        "failed" => ItemError::Failed(text),
        "left-behind" => ItemError::LeftBehind(text),
        "undecided" => ItemError::Undecided(text),
        "stopped" => ItemError::Stopped,
        "abandoned" => ItemError::Abandoned,
        _ => return None,
    })
}

fn report(words: &mut Words) -> Option<Report> {
    let path = PathBuf::from(OsString::from_vec(words.bytes()?));
    let (kind, text) = (words.text()?, words.text()?);
    let outcome = match kind.as_str() {
        "done" => Outcome::Done,
        "done-before" => Outcome::DoneBefore,
        "skipped" => Outcome::Skipped(text),
        "failed" => Outcome::Failed(text),
        "stopped" => Outcome::Stopped,
        _ => return None,
    };
    let mut report = Report::of(&path, outcome);
    report.seconds = words.number()?;
    report.bytes_before = words.number()?;
    report.bytes_after = words.maybe()?;
    let checked: (Option<u64>, Option<u64>) = (words.maybe()?, words.maybe()?);
    report.checked = checked.0.zip(checked.1).map(|(tables, rows)| Checked { tables, rows });
    report.kept = words.number::<bool>()?.then(|| kept_of(&path));
    report.left_behind = words.number()?;
    let inode: (Option<u64>, Option<u64>) = (words.maybe()?, words.maybe()?);
    let seen: (Option<u64>, Option<i128>) = (words.maybe()?, words.maybe()?);
    report.new = inode.0.zip(inode.1).zip(seen.0.zip(seen.1)).map(|((dev, ino), (size_bytes, mtime_ns))| {
        Identity { inode: Inode { dev, ino }, size_bytes, mtime_ns }
    });
    while let Some(warning) = words.text() {
        report.warnings.push(warning);
    }
    Some(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn pair() -> (Link, Link) {
        let (one, other) = UnixStream::pair().unwrap();
        (Link::new(one), Link::new(other))
    }

    #[test]
    fn everything_that_is_said_arrives() {
        let (mut root, mut process) = pair();
        let owner = Account { uid: 1000, gid: 100, groups: vec![7, 8] };
        let odd = Path::new(OsStr::from_bytes(b"/d/a b%\n'\xff"));
        let settings = Settings {
            page_size_bytes: Some(8192),
            wait: Duration::from_millis(1_500),
            engine: [("bin".to_owned(), "/a b".to_owned())].into(),
            as_owner: None,
        };
        for (_, task) in TASKS {
            let request = Request::of(task, &owner, odd, "sqlite", &settings);
            root.send(&request.line()).unwrap();
            assert_eq!(process.request().unwrap(), request);
        }
        let mut report = Report::of(odd, Outcome::Failed("why\nnot".to_owned()));
        report.bytes_after = Some(5);
        report.checked = Some(Checked { tables: 1, rows: 2 });
        report.kept = Some(kept_of(odd));
        report.new = Some(Identity { inode: Inode { dev: 1, ino: 2 }, size_bytes: 3, mtime_ns: -4 });
        report.warnings = vec![String::new(), "a b".to_owned()];
        for answer in [
            Ok(Answer::Report(Box::new(report))),
            Ok(Answer::Recovered(Recovered::PutBack)),
            Ok(Answer::Unsealed(true)),
            Ok(Answer::Looked),
            Err(ItemError::LeftBehind("x".to_owned())),
            Err(ItemError::Stopped),
        ] {
            process.send(&answer_line(&answer)).unwrap();
            assert_eq!(root.next(Duration::from_secs(9)).unwrap(), Some(Line::Answer(answer)));
        }
        for stage in STAGES {
            process.send(&stage_line(stage)).unwrap();
            assert_eq!(root.next(Duration::from_secs(9)).unwrap(), Some(Line::Stage(stage)));
        }
        let inode = Inode { dev: 3, ino: 4 };
        process.send(&who_has_line(inode, odd.file_name().unwrap())).unwrap();
        let asked = Line::WhoHas(inode, odd.file_name().unwrap().as_bytes().to_vec());
        assert_eq!(root.next(Duration::from_secs(9)).unwrap(), Some(asked));
        let found = vec![Holder { pid: 7, name: "a b".to_owned() }, Holder { pid: 8, name: String::new() }];
        root.send(&holders_line(&Ok(found.clone()))).unwrap();
        assert_eq!(process.holders().unwrap(), found);
        root.send(&holders_line(&Err(io::Error::other("no descriptor")))).unwrap();
        assert_eq!(process.holders().unwrap_err().to_string(), "no descriptor");
    }

    #[test]
    fn what_is_hostile_ends_the_talk_and_silence_does_not() {
        let (mut root, mut process) = pair();
        let short = Duration::from_millis(1);
        assert_eq!(root.next(short).unwrap(), None);
        process.send("looked").unwrap();
        assert_eq!(root.next(short).unwrap(), None, "a line that is not whole");
        process.send("%.\n").unwrap();
        assert_eq!(root.next(short).unwrap(), Some(Line::Answer(Ok(Answer::Looked))));
        for text in ["\n", "unknown%.\n", "stage%. x%.\n", "report%. a%.\n", "%zz%.\n", "\u{e9}\n"] {
            process.send(text).unwrap();
            assert!(root.next(short).is_err(), "{text:?}");
        }
        let writer = std::thread::spawn(move || process.send(&"a".repeat(2 << 20)).is_err());
        let ended = loop {
            match root.next(Duration::from_secs(9)) {
                Ok(None) => {}
                ended => break ended,
            }
        };
        assert!(ended.is_err(), "a line without an end");
        drop(root);
        assert!(writer.join().unwrap());
    }
}
