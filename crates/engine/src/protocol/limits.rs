//! How much a message may hold: a larger one is from a faulty worker, and would keep the runner, which decodes
//! and stores it, from its other work.
//!
//! Values are counted before anything is decoded, since serde keeps all values of a tagged message in memory
//! (`serde::__private::de::Content`) before any of them reaches its field.

use super::error::ProtocolError;
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use threadwise_machine::cpuset::MAX_CPUS;
use threadwise_study::QueryExecution;
use threadwise_study::load::MAX_SESSIONS;
use threadwise_study::worklist::MAX_ITEMS;

/// Most values in a message. The largest are answers of queries: 22 answers at scale factor 10 have 175,000
/// values, and 20 streams send as many each.
const PARTS: usize = 4 << 20;
/// Most notes in a message.
const NOTES: usize = 100;
/// Most counters or metrics of one session, one query, or the whole slice. PostgreSQL has some 250 waits.
const COUNTERS: usize = 256;
/// Most statements of a server.
const STATEMENTS: usize = 500_000;
/// Most executions of queries of a session in one slice.
const QUERIES: usize = 1000;

/// Refuses a line with more values than allowed. In an object or a list, each value but the first comes after a
/// comma, and the first one after a bracket.
pub(super) fn check_parts(line: &str) -> Result<(), ProtocolError> {
    let mut parts = 0_usize;
    let (mut in_text, mut escaped) = (false, false);
    for byte in line.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => parts += 1,
            _ => {}
        }
    }
    if parts > PARTS { Err(ProtocolError::TooMany { limit: PARTS }) } else { Ok(()) }
}

pub(super) fn notes<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    from.deserialize_seq(List { most: NOTES, what: "notes", element: PhantomData })
}

/// One entry a session.
pub(super) fn sessions<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(List { most: MAX_SESSIONS as usize, what: "sessions", element: PhantomData })
}

/// Threads of a server: one or two a session, and the server's own.
pub(super) fn threads<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(List { most: 4 * MAX_SESSIONS as usize, what: "threads", element: PhantomData })
}

pub(super) fn queries<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(List { most: QUERIES, what: "queries of a session", element: PhantomData })
}

/// Limits and points of a server.
pub(super) fn points<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(List { most: NOTES, what: "points of a server", element: PhantomData })
}

/// Statements of a server: more than servers keep (pg_stat_statements.max is 5,000 by default, a plan cache has some tens of
/// thousands).
pub(super) fn statements<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(List { most: STATEMENTS, what: "statements", element: PhantomData })
}

/// Logical CPUs of a server.
pub(super) fn server_cpus<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(u32, u32)>, D::Error> {
    from.deserialize_seq(List { most: MAX_CPUS as usize, what: "logical CPUs", element: PhantomData })
}

/// Rows by pieces of a window.
pub(super) fn pieces<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
    from.deserialize_seq(List {
        most: crate::worker::MAX_PIECES,
        what: "pieces of a window",
        element: PhantomData,
    })
}

pub(super) fn items<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(List { most: MAX_ITEMS as usize, what: "items", element: PhantomData })
}

pub(super) fn counters<'de, D: Deserializer<'de>, V: Deserialize<'de>>(
    from: D,
) -> Result<BTreeMap<String, V>, D::Error> {
    from.deserialize_map(Named(PhantomData))
}

/// Refuses an execution of a query with too many counters.
pub(super) fn check_counters(queries: &[QueryExecution]) -> Result<(), ProtocolError> {
    match queries.iter().find(|query| query.counters.len() > COUNTERS) {
        None => Ok(()),
        Some(query) => Err(ProtocolError::Value {
            what: format!("query {}", query.query),
            why: format!("more than {COUNTERS} counters"),
        }),
    }
}

/// A list of at most `most` elements.
struct List<T> {
    most: usize,
    what: &'static str,
    element: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {} {}", self.most, self.what)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = from.next_element()? {
            if list.len() == self.most {
                return Err(A::Error::custom(format_args!("more than {} {}", self.most, self.what)));
            }
            list.push(element);
        }
        Ok(list)
    }
}

/// Values by name, at most [`COUNTERS`].
struct Named<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for Named<V> {
    type Value = BTreeMap<String, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {COUNTERS} numbers by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<BTreeMap<String, V>, A::Error> {
        let mut named = BTreeMap::new();
        while let Some((name, value)) = from.next_entry()? {
            if named.len() == COUNTERS {
                return Err(A::Error::custom(format_args!("more than {COUNTERS} counters")));
            }
            named.insert(name, value);
        }
        Ok(named)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MAX_LINE_BYTES, Reply, decode};
    use super::*;

    fn ready(notes: usize) -> String {
        let notes = vec!["\"a, note [\\\" {\""; notes].join(",");
        format!("{{\"type\":\"ready\",\"tids\":[1],\"notes\":[{notes}]}}")
    }

    fn slice(counters: usize) -> String {
        let counters: Vec<String> = (0..counters).map(|number| format!("\"c{number}\":1")).collect();
        format!(
            "{{\"type\":\"slice\",\"sequence\":1,\"start_ns\":1,\"window_ns\":1,\"sessions\":[],\"counters\":{{{}}}}}",
            counters.join(",")
        )
    }

    #[test]
    fn notes_and_counters_have_a_number() {
        let why = |line: &str| decode::<Reply>(line).unwrap_err().to_string();
        assert!(matches!(decode(&ready(NOTES)), Ok(Reply::Ready { notes, .. }) if notes.len() == NOTES));
        assert!(why(&ready(NOTES + 1)).contains("more than 100 notes"), "{}", why(&ready(NOTES + 1)));
        assert!(matches!(decode(&slice(COUNTERS)), Ok(Reply::Slice { .. })));
        assert!(why(&slice(COUNTERS + 1)).contains("more than 256 counters"));
        // A name that comes twice is one counter, but the line has to end all the same.
        let same = vec!["\"c\":1"; 1000].join(",");
        assert!(decode::<Reply>(&slice(0).replace("{}", &format!("{{{same}}}"))).is_ok());
        let tids = "1,".repeat(MAX_SESSIONS as usize);
        assert!(why(&format!("{{\"type\":\"ready\",\"tids\":[{tids}1]}}")).contains("4096 sessions"));
    }

    #[test]
    fn what_stands_in_a_text_is_no_value() {
        let commas = ",[{\\\",".repeat(PARTS / 2);
        assert_eq!(check_parts(&format!("[\"{commas}\"]")), Ok(()));
        assert_eq!(check_parts(&"[1,".repeat(PARTS / 2)), Ok(()));
        let refused = Err(ProtocolError::TooMany { limit: PARTS });
        assert_eq!(check_parts(&format!("[\"\\\\\"{}]", ",1".repeat(PARTS))), refused);
    }

    #[test]
    fn the_largest_lines_are_decoded_or_refused() {
        // Which of them takes how long is no matter of a test; that all of them come to an end is.
        let lines = [
            format!("{{\"type\":\"ready\",\"tids\":[{}1]}}", "1,".repeat(MAX_LINE_BYTES / 2 - 100)),
            format!("{{\"type\":\"ready\",\"tids\":[{}1]}}", "1,".repeat(PARTS - 10)),
            format!("{{\"type\":\"done\",\"x\":[{}1]}}", "[],".repeat(PARTS / 2 - 10)),
            format!("{{\"type\":\"done\",\"x\":\"{}\"}}", "x".repeat(MAX_LINE_BYTES - 100)),
            format!("{{\"type\":\"done\",\"x\":{{{}\"a\":1}}}}", "\"a\":1,".repeat(PARTS - 10)),
            "[".repeat(MAX_LINE_BYTES),
        ];
        let taken = lines.map(|line| decode::<Reply>(&line).is_ok());
        assert_eq!(taken, [false, false, true, true, true, false]);
    }
}
