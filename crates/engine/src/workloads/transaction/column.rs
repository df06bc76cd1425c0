//! Values of a column, of a query or of a CSV file, from which parameters are drawn.
//!
//! A text that is stored holds the path of a file, how many values it had, and its SHA-256, but none of its values: a
//! file that has changed since is refused. CSV is that of RFC 4180.

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use threadwise_machine::given;

use super::statement::{SourceLine, Statement};
use super::value::BindValue;

/// A list of values.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum List {
    /// The first column of a query of the user.
    Query(Statement),
    /// A column of a CSV file.
    Csv(CsvColumn),
}

/// A column of a CSV file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CsvColumn {
    /// Where it is declared.
    pub place: SourceLine,
    /// The file.
    pub path: PathBuf,
    /// The column.
    pub column: Column,
    /// Whether whole numbers are taken as text too.
    pub as_text: bool,
    /// Facts about the file when the study was made.
    pub pinned: Option<Pinned>,
}

/// How a column is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Column {
    /// By its number, from 1; the first line of the file has values.
    Number(usize),
    /// By its name in the first line of the file.
    Name(String),
}

/// Facts about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pinned {
    /// Number of values.
    pub values: usize,
    /// SHA-256 of the file, hexadecimal.
    pub sha256: String,
}

/// Values of a column, as they are read one after another, up to a bound.
#[derive(Debug, Default)]
pub struct ColumnValues {
    values: Vec<BindValue>,
    bytes: u64,
}

impl ColumnValues {
    /// The whole number, if there is one value and it is one.
    pub fn only_number(&self) -> Option<i64> {
        match self.values.as_slice() {
            [BindValue::Whole(number)] => Some(*number),
            [BindValue::Text(text)] => text.trim().parse().ok(),
            _ => None,
        }
    }

    /// Most values of a column.
    pub const MOST_VALUES: usize = 1_000_000;

    /// Most bytes of a column, and of a CSV file.
    pub const MOST_BYTES: u64 = 64 << 20;

    /// Adds a value; `None` is a NULL, or of a type that is neither a whole number nor text.
    ///
    /// # Errors
    /// It is NULL, has a zero byte, or there are too many.
    pub fn add(&mut self, value: Option<BindValue>) -> Result<(), String> {
        let value = value.ok_or(
            "a value is NULL, or neither a whole number nor text: leave such rows out, or CAST the column to one of \
             these types",
        )?;
        if let BindValue::Text(text) = &value {
            if text.contains('\0') {
                return Err("a value has a zero byte, which no parameter can have".into());
            }
            self.bytes += text.len() as u64;
        }
        if self.values.len() >= ColumnValues::MOST_VALUES || self.bytes > ColumnValues::MOST_BYTES {
            return Err(format!(
                "it has more than {} values or {} MiB: take fewer, such as with WHERE",
                Self::MOST_VALUES,
                ColumnValues::MOST_BYTES >> 20
            ));
        }
        self.values.push(value);
        Ok(())
    }

    /// The values in a fixed order, since a server may give them in any: whole numbers first, then texts.
    ///
    /// # Errors
    /// There are none.
    fn sorted(mut self) -> Result<Arc<[BindValue]>, String> {
        let key = |value: &BindValue| match value {
            BindValue::Whole(number) => (0, *number, Arc::from("")),
            BindValue::Real(number) => (1, 0, Arc::from(number.to_string())),
            BindValue::Text(text) => (2, 0, Arc::clone(text)),
        };
        self.values.sort_by_cached_key(key);
        match self.values.is_empty() {
            true => Err("it has no values".into()),
            false => Ok(self.values.into()),
        }
    }
}

/// The values of all lists of a mix. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Lists(Vec<Arc<[BindValue]>>);

impl Lists {
    /// Reads all lists: files here, queries by `query`.
    ///
    /// # Errors
    /// A file that cannot be read or has changed, or what `query` refuses, with the place of the list.
    pub(super) fn read<E>(
        lists: &[List],
        mut query: impl FnMut(&Statement) -> Result<ColumnValues, E>,
        refuse: impl Fn(String) -> E,
    ) -> Result<Self, E> {
        let one = |list: &List| match list {
            List::Query(statement) => {
                query(statement)?.sorted().map_err(|why| refuse(format!("{}: {why}", statement.place)))
            }
            List::Csv(csv) => csv.values().map_err(|why| refuse(format!("{}: {why}", csv.place))),
        };
        lists.iter().map(one).collect::<Result<_, E>>().map(Self)
    }

    /// The values of a list; none of one that was not read.
    pub(super) fn of(&self, list: usize) -> &[BindValue] {
        self.0.get(list).map_or(&[], |values| values)
    }
}

/// The lists of a treatment, which its first session reads, so that all sessions share one copy.
#[derive(Debug, Default)]
pub struct SharedLists(Mutex<Option<Lists>>);

impl SharedLists {
    /// The lists, which `read` reads if no session has read them.
    ///
    /// # Errors
    /// Those of `read`; the next session tries again.
    pub fn get_or_read<E>(&self, read: impl FnOnce() -> Result<Lists, E>) -> Result<Lists, E> {
        // A panic elsewhere has failed the run already, and left what is here as it was.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(lists) => Ok(lists.clone()),
            None => Ok(known.insert(read()?).clone()),
        }
    }
}

impl CsvColumn {
    /// Its values, in the order of the file.
    ///
    /// # Errors
    /// It cannot be read, has no such column, or has changed.
    pub(super) fn values(&self) -> Result<Arc<[BindValue]>, String> {
        let (values, found) = self.read(&self.path)?;
        match &self.pinned {
            Some(pinned) if *pinned != found => Err(format!(
                "{} has changed since the study was made: put the file back, or begin a new study",
                self.path.display()
            )),
            _ => Ok(values),
        }
    }

    /// The values, and facts to pin the file by.
    fn read(&self, path: &Path) -> Result<(Arc<[BindValue]>, Pinned), String> {
        let shown = path.display();
        let bytes = given::bytes(path, ColumnValues::MOST_BYTES)
            .map_err(|error| format!("{shown} cannot be read: {error}"))?;
        let sha256 = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let texts = self.texts(&bytes).map_err(|why| format!("{shown}: {why}"))?;
        let whole: Option<Vec<i64>> =
            texts.iter().map(|text| whole(text).filter(|_| !self.as_text)).collect();
        let mut values = ColumnValues::default();
        let typed: Box<dyn Iterator<Item = BindValue>> = match whole {
            Some(numbers) => Box::new(numbers.into_iter().map(BindValue::Whole)),
            None => Box::new(texts.iter().map(|text| BindValue::Text(text.as_str().into()))),
        };
        typed.map(Some).try_for_each(|value| values.add(value)).map_err(|why| format!("{shown}: {why}"))?;
        match values.values.len() {
            0 => Err(format!("{shown} has no values in its {}", self.column.shown())),
            count => Ok((values.values.into(), Pinned { values: count, sha256 })),
        }
    }

    fn texts(&self, bytes: &[u8]) -> Result<Vec<String>, String> {
        // A mark of the byte order is no part of the first name.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
        let mut records = reader.records();
        let mut next = || records.next().transpose().map_err(|error| format!("it is not CSV: {error}"));
        let at = match &self.column {
            Column::Number(number) => number - 1,
            Column::Name(name) => {
                let first = next()?.ok_or("it is empty")?;
                first.iter().position(|column| column.trim() == name).ok_or_else(|| {
                    let names = first.iter().take(20).collect::<Vec<_>>().join(", ");
                    format!("its first line has no column '{name}'; it has {names}")
                })?
            }
        };
        let mut texts = Vec::new();
        while let Some(record) = next()? {
            let line = record.position().map_or(0, csv::Position::line);
            let text = record.get(at).ok_or_else(|| {
                format!("line {line} has {} columns, and no {}", record.len(), self.column.shown())
            })?;
            texts.push(text.to_owned());
            if texts.len() > ColumnValues::MOST_VALUES {
                return Err(format!("it has more than {} lines", ColumnValues::MOST_VALUES));
            }
        }
        Ok(texts)
    }

    /// What is written after its declaration, so that a changed file is noticed.
    ///
    /// # Errors
    /// It cannot be read, has no such column, or has changed since it was pinned.
    pub(super) fn pin(&self, path: &Path) -> Result<Pinned, String> {
        let (_, found) = self.read(path)?;
        match &self.pinned {
            Some(pinned) if *pinned != found => {
                Self { path: path.to_owned(), ..self.clone() }.values().map(|_| found)
            }
            _ => Ok(found),
        }
    }
}

impl Column {
    /// In words.
    fn shown(&self) -> String {
        match self {
            Self::Number(number) => format!("column {number}"),
            Self::Name(name) => format!("column '{name}'"),
        }
    }
}

/// A whole number, if a text is one as it would be written: a postal code that begins with 0 is text.
fn whole(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().filter(|number| number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(folder: &Path, text: &str, column: Column, as_text: bool) -> CsvColumn {
        let path = folder.join("c.csv");
        std::fs::write(&path, text).unwrap();
        let place = SourceLine { file: None, line: 3 };
        CsvColumn { place, path, column, as_text, pinned: None }
    }

    #[test]
    fn a_column_has_whole_numbers_or_texts() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str, name: Column, as_text| column(folder.path(), text, name, as_text).values();
        let text = |text: &str| BindValue::Text(text.into());
        let first = || Column::Number(1);
        assert_eq!(read("3,a\n-5,b\n", first(), false).unwrap()[..], [3, -5].map(BindValue::Whole));
        assert_eq!(read("3,a\n-5,b\n", first(), true).unwrap()[..], [text("3"), text("-5")]);
        assert_eq!(read("3\n05", first(), false).unwrap()[..], [text("3"), text("05")]);
        let named = Column::Name("city".into());
        let cities = "\u{feff}city,n\r\n\"Bad, \"\"Ems\"\"\",1\r\nUlm,2\r\n";
        assert_eq!(read(cities, named.clone(), false).unwrap()[..], [text("Bad, \"Ems\""), text("Ulm")]);
        for (text, name, part) in [
            ("", first(), "c.csv has no values in its column 1"),
            ("a\n", Column::Number(2), "c.csv: line 1 has 1 columns, and no column 2"),
            ("town,n\nUlm,1", named.clone(), "no column 'city'; it has town, n"),
            ("city\n", named, "no values"),
            ("a\0b\n", first(), "zero byte"),
            ("\u{fffd}", Column::Number(9), "line 1 has 1 columns"),
        ] {
            let why = read(text, name, false).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
        let not_text = column(folder.path(), "", first(), false);
        std::fs::write(&not_text.path, b"\xff\xfe\n").unwrap();
        let why = not_text.values().unwrap_err();
        assert!(why.contains("c.csv: it is not CSV") && why.contains("UTF-8"), "{why}");
        let gone =
            CsvColumn { path: folder.path().join("none.csv"), ..column(folder.path(), "1", first(), false) };
        assert!(gone.values().unwrap_err().contains("none.csv cannot be read"));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_columns_or_refused(
            text in "[a-c0-9,;\"'\r\n\u{feff} ü-]{0,40}", number in 1_usize..4, by_name: bool
        ) {
            let folder = std::env::temp_dir();
            let name = if by_name { Column::Name("a".into()) } else { Column::Number(number) };
            let place = SourceLine { file: None, line: 1 };
            let csv = CsvColumn { place, path: folder, column: name, as_text: false, pinned: None };
            match csv.texts(text.as_bytes()) {
                Ok(texts) => proptest::prop_assert!(texts.len() <= text.len() + 1),
                Err(why) => proptest::prop_assert!(!why.is_empty()),
            }
        }
    }

    #[test]
    fn a_changed_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut csv = column(folder.path(), "1\n2\n", Column::Number(1), false);
        csv.pinned = Some(csv.pin(&csv.path.clone()).unwrap());
        assert!(csv.values().is_ok() && csv.pin(&csv.path.clone()).is_ok());
        std::fs::write(&csv.path, "1\n3\n").unwrap();
        assert!(csv.values().unwrap_err().contains("has changed since the study was made"));
        assert!(csv.pin(&csv.path.clone()).is_err());
    }

    #[test]
    fn values_of_a_query_are_bounded_and_sorted() {
        let mut values = ColumnValues::default();
        for value in ["b", "a", "b"] {
            values.add(Some(BindValue::Text(value.into()))).unwrap();
        }
        values.add(Some(BindValue::Whole(7))).unwrap();
        assert!(values.add(None).unwrap_err().contains("NULL"));
        let all = values.sorted().unwrap();
        assert!(all[0] == BindValue::Whole(7) && all[1] == BindValue::Text("a".into()) && all.len() == 4);
        assert!(ColumnValues::default().sorted().unwrap_err().contains("no values"));
        let mut values = ColumnValues::default();
        let many = (0..=ColumnValues::MOST_VALUES).try_for_each(|_| values.add(Some(BindValue::Whole(1))));
        assert!(many.unwrap_err().contains("more than 1000000"));
        let mut values = ColumnValues::default();
        let text: Arc<str> = "x".repeat(1 << 20).into();
        let large = (0..=64).try_for_each(|_| values.add(Some(BindValue::Text(Arc::clone(&text)))));
        assert!(large.unwrap_err().contains("64 MiB"));
    }
}
