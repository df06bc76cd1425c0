//! Contents of a journal: the server, its affinity before, and the affinities that threadwise set.
//!
//! One key and its value a line: `server NAME`, `first AUTO` or `first 0-3`, `set 0-1` (before each change), `says
//! TEXT`, and the owners that every journal has.

use threadwise_process::journal::{LASTING, Locked, says_line};

use super::Setting;

/// Longest part of a server's name in the name of its journal, characters.
const NAME_CHARS: usize = 60;

/// The lines of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recorded {
    /// The server's name.
    pub server: String,
    /// The affinity before the first change.
    pub first: Setting,
    /// The affinities that threadwise set.
    pub set: Vec<Setting>,
}

/// The kind of a server's journals.
pub(super) fn kind(server: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    format!("{LASTING}{}", server.chars().take(NAME_CHARS).map(plain).collect::<String>())
}

/// A name as stored in the journal, which is ASCII without control characters.
pub(super) fn written_name(server: &str) -> String {
    server.chars().map(|c| if c.is_ascii_graphic() { c } else { '?' }).collect()
}

/// The first lines of a journal. `address` is the server's address in messages.
pub(super) fn lines(server: &str, first: &Setting, address: &str) -> String {
    let says = says_line(&format!(
        "the server at {address} still has the CPU affinity of a study that was killed (it was {} before); the next \
         study there puts it back, or its owner by {}",
        first.word(),
        first.statement()
    ));
    format!("server {}\nfirst {}\n{says}", written_name(server), first.word())
}

/// The line before a change.
pub(super) fn set_line(setting: &Setting) -> String {
    format!("set {}\n", setting.word())
}

/// Whether complete lines of a journal record a change. A journal whose study was killed while it was being made
/// records none.
pub(super) fn has_changed(lines: &str) -> bool {
    lines.lines().any(|line| line.starts_with("set "))
}

impl Recorded {
    /// Reads a journal.
    ///
    /// # Errors
    /// A damaged or missing line.
    pub(super) fn of(journal: &Locked) -> Result<Self, String> {
        Self::parse(journal.whole()).map_err(|why| {
            format!("journal {}: {why}; set the affinity by hand and remove it", journal.path().display())
        })
    }

    fn parse(lines: &str) -> Result<Self, String> {
        let (mut server, mut first, mut set) = (None, None, Vec::new());
        let value = |word: &str| Setting::of_word(word).ok_or_else(|| format!("'{word}' is not an affinity"));
        for line in lines.lines().filter(|line| !Locked::is_owner(line)) {
            match line.split_once(' ') {
                Some(("server", name)) => server = Some(name.to_owned()),
                Some(("first", word)) => first = Some(value(word)?),
                Some(("set", word)) => set.push(value(word)?),
                Some(("says", _)) => {}
                _ => return Err(format!("'{line}' is not a line of a journal")),
            }
        }
        Ok(Self {
            server: server.ok_or("it does not name the server")?,
            first: first.ok_or("it does not name the affinity before the study")?,
            set,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_machine::CpuSet;

    #[test]
    fn lines_read_back_and_damage_is_an_error() {
        let chosen = |list: &str| Setting::Chosen(CpuSet::parse_list(list).unwrap());
        let text =
            lines("HÖST\\A 1", &chosen("0-3"), "db:1433") + &set_line(&chosen("0,2")) + "owner b 1 7 9\n";
        let recorded = Recorded::parse(&text).unwrap();
        assert_eq!(recorded.server, written_name("HÖST\\A 1"));
        assert_eq!((recorded.first, recorded.set), (chosen("0-3"), vec![chosen("0,2")]));
        assert!(text.contains("at db:1433 still has") && text.contains("CPU = 0 TO 3"), "{text}");
        assert!(has_changed(&text) && !has_changed(&lines("a", &chosen("0"), "db:1433")));
        assert_eq!(kind("DB.Host\\A"), "server-db_host_a");
        for bad in ["server a\n", "first AUTO\n", "server a\nfirst x\n", "server a\nfirst AUTO\nsat 1\n"] {
            assert!(Recorded::parse(bad).is_err(), "{bad}");
        }
    }
}
