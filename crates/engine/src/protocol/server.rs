//! A worker's description of the user's server, as it is sent.

use serde::{Deserialize, Serialize};
use threadwise_machine::text::one_line;

use super::{ProtocolError, limits};
use crate::Point;
use crate::connections::Limit;
use crate::server_cpus::{ServerCpu, ServerCpus};
use threadwise_machine::CpuSet;

/// Most characters of a name and of a line.
const CHARS: (usize, usize) = (100, 500);

/// A limit of connections (mirrors `Limit`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireLimit {
    /// The setting and what it applies to.
    pub name: String,
    /// The most connections.
    pub most: u32,
    /// Of those, the ones reserved for superusers.
    #[serde(default)]
    pub set_aside: u32,
    /// Connections that count against it now, without the one that reads this.
    pub in_use: u32,
}

/// A feature that a study may need of a server (mirrors `Point`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WirePoint {
    /// What it is.
    pub name: String,
    /// Whether it works.
    pub works: bool,
    /// One line.
    pub says: String,
}

impl From<Limit> for WireLimit {
    fn from(limit: Limit) -> Self {
        Self { name: limit.name, most: limit.most, set_aside: limit.set_aside, in_use: limit.in_use }
    }
}

impl From<WireLimit> for Limit {
    fn from(wire: WireLimit) -> Self {
        let name = one_line(&wire.name, CHARS.0);
        Self { name, most: wire.most, set_aside: wire.set_aside, in_use: wire.in_use }
    }
}

impl From<Point> for WirePoint {
    fn from(point: Point) -> Self {
        Self { name: point.name, works: point.works, says: point.says }
    }
}

impl From<WirePoint> for Point {
    fn from(wire: WirePoint) -> Self {
        Self { name: one_line(&wire.name, CHARS.0), works: wire.works, says: one_line(&wire.says, CHARS.1) }
    }
}

/// The logical CPUs of a server that is bound as a whole (mirrors `ServerCpus`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireServerCpus {
    /// Number and memory node of each.
    #[serde(deserialize_with = "limits::server_cpus")]
    pub cpus: Vec<(u32, u32)>,
    /// Those in use, as a list such as `0-3,8`.
    pub online: String,
    /// Whether the server chooses them.
    pub is_auto: bool,
    /// Why the login may not bind the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// Number of sessions of other clients.
    pub others: u32,
    /// The first of these, one line each.
    #[serde(default, deserialize_with = "limits::points")]
    pub who: Vec<String>,
}

impl From<ServerCpus> for WireServerCpus {
    fn from(server: ServerCpus) -> Self {
        Self {
            cpus: server.cpus.iter().map(|one| (one.cpu, one.node)).collect(),
            online: server.online.to_string(),
            is_auto: server.is_auto,
            why_not: server.why_not,
            others: server.others,
            who: server.who,
        }
    }
}

impl TryFrom<WireServerCpus> for ServerCpus {
    type Error = ProtocolError;

    fn try_from(wire: WireServerCpus) -> Result<Self, ProtocolError> {
        let online = CpuSet::parse_list(&wire.online)
            .map_err(|cause| ProtocolError::Value { what: "online".to_owned(), why: cause.to_string() })?;
        Ok(Self {
            cpus: wire.cpus.into_iter().map(|(cpu, node)| ServerCpu { cpu, node }).collect(),
            online,
            is_auto: wire.is_auto,
            why_not: wire.why_not.map(|why| one_line(&why, CHARS.1)),
            others: wire.others,
            who: wire.who.iter().map(|who| one_line(who, CHARS.0)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logical_cpus_of_a_server_come_back_unchanged() {
        let server = ServerCpus {
            cpus: vec![ServerCpu { cpu: 0, node: 0 }, ServerCpu { cpu: 1, node: 4 }],
            online: CpuSet::parse_list("1").unwrap(),
            is_auto: false,
            why_not: Some("no right".into()),
            others: 2,
            who: vec!["ann".into()],
        };
        let wire = WireServerCpus::from(server.clone());
        assert_eq!(ServerCpus::try_from(wire.clone()).unwrap(), server);
        let bad = WireServerCpus { online: "x".into(), ..wire };
        assert!(ServerCpus::try_from(bad).unwrap_err().to_string().contains("online"));
    }

    #[test]
    fn what_a_worker_says_is_one_line_without_controls() {
        let wire = WirePoint { name: "a\u{1b}[2J".into(), works: true, says: "x\ny".repeat(400) };
        let point = Point::from(wire);
        assert!(!point.name.contains('\u{1b}') && !point.says.contains('\n'), "{point:?}");
        assert!(point.says.chars().count() <= 501, "{}", point.says.len());
        let limit = Limit { name: "max".into(), most: 9, set_aside: 1, in_use: 2 };
        assert_eq!(Limit::from(WireLimit::from(limit.clone())), limit);
    }
}
