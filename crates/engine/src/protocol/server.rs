//! What a worker says of the user's server, as it goes over the wire.

use serde::{Deserialize, Serialize};
use threadwise_machine::text::one_line;

use crate::Point;
use crate::connections::Limit;

/// Most characters of a name and of a line.
const CHARS: (usize, usize) = (100, 500);

/// A limit of connections (mirrors `Limit`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireLimit {
    /// The setting and what it is of.
    pub name: String,
    /// The most connections.
    pub most: u32,
    /// Of those, the ones that only superusers get.
    #[serde(default)]
    pub set_aside: u32,
    /// Connections that count against it now, without the one that asked.
    pub in_use: u32,
}

/// Something that a study may need of a server (mirrors `Point`).
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

#[cfg(test)]
mod tests {
    use super::*;

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
