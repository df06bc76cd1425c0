//! `manifest.txt`: the parts of a data set. It is written last, so that a folder with a complete one
//! is a complete data set.

use super::{Cluster, Key, TABLES, Table};
use crate::sealed;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// Its name in the data set's folder.
pub const FILE: &str = "manifest.txt";

const FORM: &str = "threadwise tpch data 1";

/// Contents of the manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    pub key: Key,
    pub generator: String,
    pub tables: Vec<Table>,
}

/// Writes it into a folder.
pub fn write(folder: &Path, manifest: &Manifest) -> io::Result<()> {
    let Manifest { key, generator, tables } = manifest;
    let mut text =
        format!("{FORM}\nscale {}\ncluster {}\ngenerator {generator}\n", key.scale, key.cluster.name());
    for Table { name, rows, bytes, sha256 } in tables {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "table {name} rows {rows} bytes {bytes} sha256 {sha256}");
    }
    sealed::write(&folder.join(FILE), &text)
}

/// Reads it; `None` if there is no complete one.
pub fn read(folder: &Path) -> io::Result<Option<Manifest>> {
    Ok(sealed::read(&folder.join(FILE))?.and_then(|text| parse(&text)))
}

fn parse(text: &str) -> Option<Manifest> {
    let mut lines = text.lines();
    if lines.next()? != FORM {
        return None;
    }
    let scale = lines.next()?.strip_prefix("scale ")?.parse().ok()?;
    let cluster = Cluster::named(lines.next()?.strip_prefix("cluster ")?)?;
    let generator = lines.next()?.strip_prefix("generator ")?.to_owned();
    let tables = lines.map(table).collect::<Option<Vec<_>>>()?;
    let names = tables.iter().map(|table| table.name);
    names.eq(TABLES).then_some(Manifest { key: Key { scale, cluster }, generator, tables })
}

fn table(line: &str) -> Option<Table> {
    let words: Vec<&str> = line.split(' ').collect();
    let ["table", name, "rows", rows, "bytes", bytes, "sha256", sha256] = words.as_slice() else {
        return None;
    };
    let name = TABLES.into_iter().find(|table| table == name)?;
    let (rows, bytes) = (rows.parse().ok()?, bytes.parse().ok()?);
    Some(Table { name, rows, bytes, sha256: (*sha256).to_owned() })
}
