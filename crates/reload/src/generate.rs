//! A seeded list of databases of uneven sizes, as in a work list: for studies and for tests.
//!
//! Sizes are log-normal, as is known of the sizes of files (Downey, "The structural cause of
//! file size distributions", MASCOTS 2001; Douceur and Bolosky, "A Large-Scale Study of File-System
//! Contents", SIGMETRICS 1999). For the databases of one installation there are no published figures: the
//! width [`SIGMA`] is an assumption, narrower than that of files of all kinds.

use crate::firebird;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rusqlite::{Connection, params};
use std::path::{Path, PathBuf};

/// Standard deviation of the logarithm of a size. With 1.0 the largest of 40 typically has
/// eight times the median and an eighth of all bytes.
pub const SIGMA: f64 = 1.0;

/// Engine of the databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// One file made by the engine in this program.
    Sqlite,
    /// By Firebird's own programs, embedded.
    Firebird,
}

/// Why a database could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the database {}: {why}", .path.display())]
pub struct GenerateError {
    path: PathBuf,
    why: String,
}

impl GenerateError {
    fn of(path: &Path, why: impl std::fmt::Display) -> Self {
        Self { path: path.to_owned(), why: why.to_string() }
    }
}

/// Sizes in bytes of `count` databases with `total_bytes` together, in random order.
pub fn plan(count: usize, total_bytes: u64, seed: u64) -> Vec<u64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let weights: Vec<f64> = (0..count).map(|_| (SIGMA * normal(&mut random)).exp()).collect();
    let whole: f64 = weights.iter().sum();
    let mut sizes: Vec<u64> =
        weights.iter().map(|weight| (weight / whole * total_bytes as f64).floor() as u64).collect();
    let given: u64 = sizes.iter().sum();
    if let Some(largest) = sizes.iter_mut().max() {
        // Rounding of some 50 bits can also give a few bytes too many.
        *largest = largest.saturating_add(total_bytes).saturating_sub(given);
    }
    sizes
}

/// A standard normal number: Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    // From (0, 1], of which the logarithm is finite.
    let (first, second) = (1.0 - random.random::<f64>(), random.random::<f64>());
    (-2.0 * first.ln()).sqrt() * (std::f64::consts::TAU * second).cos()
}

/// Makes one database of each size in the folder, which must exist, and returns their paths in the same
/// order. A database has one table with an index, of at least that many bytes; an empty one of Firebird has
/// about a megabyte. The rows depend only on the seed.
///
/// # Errors
/// A database cannot be made, or its name is taken; those before it exist.
pub fn make(engine: Engine, folder: &Path, sizes: &[u64], seed: u64) -> Result<Vec<PathBuf>, GenerateError> {
    let width = sizes.len().to_string().len();
    let ending = match engine {
        Engine::Sqlite => "sqlite",
        Engine::Firebird => "fdb",
    };
    let one = |(number, &size): (usize, &u64)| {
        let path = folder.join(format!("base-{number:0width$}.{ending}"));
        if path.symlink_metadata().is_ok() {
            return Err(GenerateError::of(&path, "its name is taken"));
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(number as u64);
        match engine {
            Engine::Sqlite => {
                fill_sqlite(&path, size, &mut random).map_err(|why| GenerateError::of(&path, why))?
            }
            Engine::Firebird => {
                firebird::fill(&path, size, random.random()).map_err(|why| GenerateError::of(&path, why))?;
            }
        }
        Ok(path)
    };
    sizes.iter().enumerate().map(one).collect()
}

/// Estimated bytes of a row with its index entry; only the number of rows that are inserted at a time depends
/// on it.
const ROW_BYTES: u64 = 150;

fn fill_sqlite(path: &Path, size_bytes: u64, random: &mut ChaCha8Rng) -> rusqlite::Result<()> {
    let connection = Connection::open(path)?;
    // A half-made database after a crash is made again.
    connection.execute_batch(
        "pragma synchronous = off; pragma journal_mode = memory;
         create table items (id integer primary key, name text not null, note text, amount real, day integer);
         create index items_day on items (day);",
    )?;
    let pages = |name: &str| connection.query_row(&format!("pragma {name}"), [], |row| row.get::<_, i64>(0));
    loop {
        let bytes = (pages("page_count")? * pages("page_size")?).unsigned_abs();
        if bytes >= size_bytes {
            return connection.close().map_err(|(_, error)| error);
        }
        connection.execute_batch("begin")?;
        let mut insert = connection
            .prepare_cached("insert into items (name, note, amount, day) values (?1, ?2, ?3, ?4)")?;
        for _ in 0..((size_bytes - bytes) / ROW_BYTES).clamp(1, 100_000) {
            let name = text(random, 8..25);
            let note = text(random, 20..160);
            let day = random.random_range(0..10_000);
            insert.execute(params![name, note, random.random_range(0.0..10_000.0), day])?;
        }
        connection.execute_batch("commit")?;
    }
}

fn text(random: &mut ChaCha8Rng, length: std::ops::Range<usize>) -> String {
    let length = random.random_range(length);
    (0..length).map(|_| char::from(random.random_range(b'a'..=b'z'))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_sum_and_depend_on_the_seed_alone() {
        let sizes = plan(40, 1 << 30, 1);
        assert_eq!((sizes.len(), sizes.iter().sum::<u64>()), (40, 1 << 30));
        assert_eq!(sizes, plan(40, 1 << 30, 1));
        assert_ne!(sizes, plan(40, 1 << 30, 2));
        assert_eq!(plan(0, 5, 1), Vec::<u64>::new());
        assert_eq!(plan(1, 5, 1), [5]);
        assert_eq!(plan(3, 0, 1), [0, 0, 0]);
        assert_eq!(plan(7, u64::from(u32::MAX) << 20, 3).iter().sum::<u64>(), u64::from(u32::MAX) << 20);
    }

    #[test]
    fn sizes_are_log_normal_with_the_width_that_is_documented() {
        let sizes = plan(10_000, 1 << 50, 7);
        let logs: Vec<f64> = sizes.iter().map(|&size| (size as f64).ln()).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let moment =
            |power: i32| logs.iter().map(|log| (log - mean).powi(power)).sum::<f64>() / logs.len() as f64;
        let (deviation, skew) = (moment(2).sqrt(), moment(3) / moment(2).powf(1.5));
        // Standard errors at 10,000: 0.007 and 0.024.
        assert!((deviation - SIGMA).abs() < 0.03 && skew.abs() < 0.1, "{deviation} {skew}");
        let mut many: Vec<f64> = (0..400)
            .map(|seed| {
                let mut sizes = plan(40, 1 << 40, seed);
                sizes.sort_unstable();
                sizes[39] as f64 / sizes[20] as f64
            })
            .collect();
        many.sort_by(f64::total_cmp);
        assert!((7.0..11.0).contains(&many[200]), "largest of 40 over the median: {}", many[200]);
    }

    #[test]
    fn sqlite_databases_have_their_sizes_and_the_same_rows_again() {
        let folder = tempfile::tempdir().unwrap();
        let sizes = [1, 300_000, 2_000_000];
        let paths = make(Engine::Sqlite, folder.path(), &sizes, 5).unwrap();
        for (path, size) in paths.iter().zip(sizes) {
            let made = path.metadata().unwrap().len();
            assert!(
                made >= size && made <= size + size / 5 + 65_536,
                "{}: {made} for {size}",
                path.display()
            );
            let side = std::fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(side, 3, "no journal is left");
        }
        let sums = |path: &Path| {
            Connection::open(path)
                .unwrap()
                .query_row("select count(*), sum(amount), max(note) from items", [], |row| {
                    Ok((
                        row.get::<_, i64>(0)?,
                        row.get::<_, Option<f64>>(1)?,
                        row.get::<_, Option<String>>(2)?,
                    ))
                })
                .unwrap()
        };
        let other = tempfile::tempdir().unwrap();
        let again = make(Engine::Sqlite, other.path(), &sizes, 5).unwrap();
        assert_eq!(sums(&paths[2]), sums(&again[2]));
        assert_ne!(sums(&paths[2]).2, sums(&paths[1]).2);
        let taken = make(Engine::Sqlite, folder.path(), &sizes, 5).unwrap_err().to_string();
        assert!(taken.contains("base-0.sqlite") && taken.contains("taken"), "{taken}");
    }
}
