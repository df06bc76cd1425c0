//! The affinity as a value: read from the server, as a statement, and as a word of the journal.

use threadwise_engine::server_cpus::ServerCpu;
use threadwise_machine::CpuSet;

use super::cpu;
use crate::client::connect::Connection;
use crate::client::error::advice;
use crate::client::observe::why_not;
use crate::client::statements::{fill, whole};

/// The server's affinity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Setting {
    /// The server chooses; these are its logical CPUs.
    Auto(CpuSet),
    /// Set to these.
    Chosen(CpuSet),
}

/// The journal's word for [`Setting::Auto`].
const AUTO: &str = "AUTO";

impl Setting {
    /// The logical CPUs.
    pub(crate) fn cpus(&self) -> &CpuSet {
        match self {
            Self::Auto(cpus) | Self::Chosen(cpus) => cpus,
        }
    }

    /// Whether both have the same effect.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Auto(_), Self::Auto(_)) => true,
            (Self::Chosen(one), Self::Chosen(other)) => one == other,
            _ => false,
        }
    }

    /// The statement that sets it.
    pub(super) fn statement(&self) -> String {
        let list = match self {
            Self::Auto(_) => AUTO.to_owned(),
            // `0-3,8` is written `0 TO 3, 8`.
            Self::Chosen(cpus) => cpus.to_string().replace('-', " TO ").replace(',', ", "),
        };
        fill(include_str!("../../sql/set_affinity.sql"), &[("list", &list)]).trim_end().to_owned()
    }

    /// The journal's word for it.
    pub(super) fn word(&self) -> String {
        match self {
            Self::Auto(_) => AUTO.to_owned(),
            Self::Chosen(cpus) => cpus.to_string(),
        }
    }

    /// Parses a word of the journal; `None` for another word.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        match word {
            AUTO => Some(Self::Auto(CpuSet::new())),
            list => CpuSet::parse_list(list).ok().filter(|cpus| !cpus.is_empty()).map(Self::Chosen),
        }
    }
}

/// The current affinity, and all logical CPUs that the server could use.
///
/// # Errors
/// Why it cannot be read, in one line that names the right.
pub(super) fn read(connection: &mut Connection) -> Result<(Setting, Vec<ServerCpu>), String> {
    let rows = connection.rows(include_str!("../../sql/affinity.sql")).map_err(|cause| why_not(&cause))?;
    let cpus: Option<Vec<ServerCpu>> = rows.iter().map(cpu).collect();
    let cpus = cpus.filter(|cpus| !cpus.is_empty()).ok_or("sys.dm_os_schedulers names no logical CPU")?;
    let is = |row, at| whole(row, at) == Some(1);
    let online = rows.iter().zip(&cpus).filter(|(row, _)| is(row, 2)).map(|(_, cpu)| cpu.cpu).collect();
    let is_auto = rows.iter().all(|row| is(row, 3));
    Ok((if is_auto { Setting::Auto(online) } else { Setting::Chosen(online) }, cpus))
}

/// Does something while no other session of threadwise in this database changes the affinity. The server may still be
/// making a change that a killed process has sent, and would make it after it was put back: this waits for its end.
///
/// # Errors
/// Another session has its turn for ten seconds; or that of what was to be done; in one line.
pub(super) fn in_turn<T>(
    connection: &mut Connection,
    change: impl FnOnce(&mut Connection) -> Result<T, String>,
) -> Result<T, String> {
    let rows =
        connection.rows(include_str!("../../sql/affinity_turn.sql")).map_err(|cause| advice(&cause))?;
    if rows.first().and_then(|row| whole(row, 0)) != Some(1) {
        return Err("another session of threadwise is still changing the affinity".to_owned());
    }
    let changed = change(connection);
    // The end of the session ends its turn, too.
    let _ = connection.run(include_str!("../../sql/affinity_turn_over.sql"));
    changed
}

/// Sets the affinity and reads it back.
///
/// # Errors
/// The server refuses, or has another value afterwards; in one line.
pub(super) fn put(connection: &mut Connection, wanted: &Setting) -> Result<(), String> {
    connection.run(&wanted.statement()).map_err(|cause| advice(&cause))?;
    let (now, _) = read(connection)?;
    match now.is_like(wanted) {
        true => Ok(()),
        false => Err(format!("it was set to CPU = {} and reads back as {}", wanted.word(), now.word())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_statements() {
        let set = |list: &str| CpuSet::parse_list(list).unwrap();
        let chosen = Setting::Chosen(set("0-3,8,10-11"));
        assert_eq!(
            chosen.statement(),
            "ALTER SERVER CONFIGURATION SET PROCESS AFFINITY CPU = 0 TO 3, 8, 10 TO 11"
        );
        assert_eq!(Setting::of_word(&chosen.word()), Some(chosen.clone()));
        let auto = Setting::of_word("AUTO").unwrap();
        assert!(auto.is_like(&Setting::Auto(set("0-7"))) && !auto.is_like(&chosen));
        assert!(auto.statement().ends_with("CPU = AUTO"));
        for bad in ["", "auto", "x", "3-1"] {
            assert_eq!(Setting::of_word(bad), None, "{bad}");
        }
    }
}
