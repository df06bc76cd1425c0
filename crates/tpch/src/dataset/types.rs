//! The data, and the files of a data set.

use std::fmt;

/// The tables; each is a file `NAME.parquet`.
pub const TABLES: [&str; 8] =
    ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"];

/// Order of the rows of `lineitem`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cluster {
    /// As the generator makes it: by order key.
    OrderKey,
    /// By ship date, order key, line number.
    ShipDate,
}

impl Cluster {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::OrderKey, Self::ShipDate];

    /// Its name as an option.
    pub fn name(self) -> &'static str {
        match self {
            Self::OrderKey => "orderkey",
            Self::ShipDate => "shipdate",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cluster| cluster.name() == name)
    }
}

/// Identifies the data.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Key {
    /// Scale factor.
    pub scale: f64,
    /// Order of `lineitem`.
    pub cluster: Cluster,
}

impl Key {
    /// Name of its folder: `sf1`, `sf0.1`, `sf1-shipdate`.
    pub fn folder_name(&self) -> String {
        match self.cluster {
            Cluster::OrderKey => format!("sf{}", self.scale),
            Cluster::ShipDate => format!("sf{}-shipdate", self.scale),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.folder_name())
    }
}

/// A table's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The table.
    pub name: &'static str,
    /// Its rows.
    pub rows: u64,
    /// Size of its file.
    pub bytes: u64,
    /// SHA-256 of its file, lower-case hexadecimal.
    pub sha256: String,
}
