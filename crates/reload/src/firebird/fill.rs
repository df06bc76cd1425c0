//! A Firebird database of a given size, with rows that depend only on a seed.
//!
//! Source: Firebird 3.0's language reference (EXECUTE BLOCK, HASH, LPAD). RAND() cannot be seeded, so the
//! rows are made from hashes of the seed and their number.

use super::tools::{Tool, ToolError, Tools, plain_path};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Estimated bytes of a row with its entries in two indices, before there is anything to measure.
const ROW_BYTES: u64 = 180;
/// Most rows of one transaction.
const MOST_ROWS: u64 = 200_000;

const TABLE: &str = "create table items (id integer not null primary key, name varchar(40), \
                     note varchar(200), amount double precision, on_day date);\n\
                     create index items_day on items (on_day);\ncommit;\n";

/// Makes a database of at least `size_bytes` bytes.
///
/// # Errors
/// The reason, in one line.
pub(crate) fn fill(path: &Path, size_bytes: u64, seed: u32) -> Result<(), String> {
    plain_path(path)?;
    let tools = Tools::find(&BTreeMap::new())?;
    let mut folder = path.as_os_str().to_owned();
    folder.push(".making");
    let folder = Path::new(&folder);
    fs::create_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let made = rows(&tools, folder, size_bytes, seed);
    let moved = made.and_then(|()| fs::rename(folder.join("new"), path).map_err(|error| error.to_string()));
    let cleared = fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()));
    moved.and(cleared)
}

fn rows(tools: &Tools, folder: &Path, size_bytes: u64, seed: u32) -> Result<(), String> {
    let said = |error: ToolError| match error {
        ToolError::Failed(why) => why,
        ToolError::Stopped => "stopped".to_owned(),
    };
    let run = |tool, args: &[&str]| tools.run(folder, tool, args, "fill", &|| false).map_err(said);
    let script = |text: &str, database: &[&str]| {
        fs::write(folder.join("fill.sql"), text).map_err(|error| error.to_string())?;
        run(Tool::Isql, &[&["-q", "-b", "-user", "SYSDBA", "-i", "./fill.sql"], database].concat())
    };
    let size =
        || fs::metadata(folder.join("new")).map(|entry| entry.len()).map_err(|error| error.to_string());
    script(&format!("create database './new' page_size 8192 default character set utf8;\n{TABLE}"), &[])?;
    // A half-made database after a crash is made again.
    run(Tool::Gfix, &["-write", "async", "-user", "SYSDBA", "./new"])?;
    let (empty, mut count, mut row_bytes) = (size()?, 0, ROW_BYTES);
    while size()? < size_bytes {
        let more = ((size_bytes - size()?) / row_bytes).clamp(100, MOST_ROWS);
        script(&insert(seed, count, count + more), &["./new"])?;
        count += more;
        row_bytes = ((size()? - empty) / count).max(ROW_BYTES / 3);
    }
    run(Tool::Gfix, &["-write", "sync", "-user", "SYSDBA", "./new"]).map(drop)
}

/// Inserts the rows of these numbers.
fn insert(seed: u32, from: u64, to: u64) -> String {
    format!(
        "set term ^;
execute block as
  declare i integer = {from};
  declare h bigint;
begin
  while (i < {to}) do
  begin
    h = abs(hash('{seed} ' || i));
    insert into items values (:i, 'name ' || :h, lpad('', 20 + mod(:h, 140), 'note ' || hash(:h || ' ') || ' '),
      mod(:h, 1000000) / 100.0, dateadd(mod(:h, 10000) day to date '2000-01-01'));
    i = i + 1;
  end
end^
commit^
"
    )
}
