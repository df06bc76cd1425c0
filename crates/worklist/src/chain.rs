//! The chains, which are data: `chains/*.toml`, one file each. A chain says what its items are, which
//! programs it needs, and which commands are done for one item.

use crate::plan::Step;
use serde::Deserialize;

/// Name and text of each chain, in the order in which they are shown.
const CHAINS: [(&str, &str); 5] = [
    ("sqlite", include_str!("../chains/sqlite.toml")),
    ("firebird", include_str!("../chains/firebird.toml")),
    ("postgres", include_str!("../chains/postgres.toml")),
    ("mariadb", include_str!("../chains/mariadb.toml")),
    ("noop", include_str!("../chains/noop.toml")),
];

/// Name of a chain that is the user's own command.
pub const OWN: &str = "command";

/// What the items of a chain are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Files of SQLite.
    Sqlite,
    /// Files of Firebird.
    Firebird,
    /// Databases of a private PostgreSQL.
    Postgres,
    /// Databases of a private MariaDB.
    Mariadb,
    /// Lines of text.
    Text,
}

/// One chain.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// Its name.
    pub name: String,
    /// One line for people: what is done for one item.
    pub about: String,
    /// What its items are.
    pub items: Kind,
    /// Programs that have to be there; a step's first word `{gbak}` is the path of `gbak`.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Its commands, in order.
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
    /// File that the chain must leave, not empty.
    pub result: Option<String>,
}
