//! A workload of queries: the data set, the text of every stream's
//! queries, and the answers of a second engine to compare with; and whether an engine supports the
//! options, before any of it is made.
//!
//! Workers find the data below their data folder (docs/WORKER.md, "Queries"): `tpch` is the cached data
//! set, `queries/STREAM/qNN.sql` a stream's texts, `generator` the program that makes text files.

mod check;
mod cold;
mod questions;
mod referee;

pub use check::check_options;

use crate::RunnerError;
use crate::event::Event;
use crate::guard;
use crate::places::Folders;
use crate::settings::QuerySettings;
use questions::{Questions, failed, link};
use referee::References;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use threadwise_machine::CpuSet;
use threadwise_process::template;
use threadwise_study::{Slice, Study};
use threadwise_tpch::Dialect;
use threadwise_tpch::answers;
use threadwise_tpch::dataset::{self, Dataset, DatasetError, Key, Make};
use threadwise_tpch::options::{Cache, TpchOptions};

/// Data and answers of a study of queries.
#[derive(Debug)]
pub struct QueryData {
    /// For each treatment the data set whose files are dropped from caches before every execution; `None` if
    /// caches stay.
    cold: Vec<Option<PathBuf>>,
    references: References,
    /// Notes for the reader of a report, one line each.
    pub notes: Vec<String>,
}

/// Makes or finds the data, writes the queries' texts, and prepares the answers.
///
/// # Errors
/// [`RunnerError::Queries`] with what is missing and what to do; [`RunnerError::Stopped`].
pub fn prepare(
    study: &Study,
    settings: &QuerySettings,
    allowed: &CpuSet,
    folders: Folders<'_>,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(Event<'_>),
) -> Result<QueryData, RunnerError> {
    let options = study.treatments.iter().map(|treatment| TpchOptions::read(&treatment.options));
    let options: Vec<TpchOptions> = options.collect::<Result<_, _>>().map_err(failed)?;
    let Some(first) = options.first() else { return Err(failed("the study has no treatments")) };
    let dialect = study.properties().dialect.and_then(|name| Dialect::named(&name));
    let dialect =
        dialect.ok_or_else(|| failed(format!("there are no query texts for the engine {}", study.engine)))?;
    let mut notes = Vec::new();
    let data = dataset(first, settings, stop, &mut notes, observer)?;
    let questions = Questions::of(study, first)?;
    let mut sets: BTreeMap<usize, PathBuf> = BTreeMap::new();
    for treatments in study.instances() {
        let folder = treatments.first().and_then(|at| folders.instances.get(*at));
        let folder = folder.map_or(folders.data, PathBuf::as_path);
        link(&settings.generator, &folder.join("generator"))?;
        for stream in 0..questions.streams {
            questions.write(dialect, stream, &folder.join("queries").join(stream.to_string()))?;
        }
        let set = place(&data, folder, study, &treatments)?;
        sets.extend(treatments.into_iter().map(|at| (at, set.clone())));
    }
    let (references, unkept) =
        referee::answers(&questions, &data, settings, allowed, folders, stop, observer)?;
    notes.extend(unkept);
    let is_cold = |(at, one): (usize, &TpchOptions)| {
        (one.cache == Cache::Cold).then(|| sets.get(&at).unwrap_or(&data.folder).clone())
    };
    let cold: Vec<Option<PathBuf>> = options.iter().enumerate().map(is_cold).collect();
    if cold.iter().any(Option::is_some) {
        notes.push(cold::method().to_owned());
    }
    Ok(QueryData { cold, references, notes })
}

/// Puts the data set where an instance's workers find it: a copy on its device if the engine reads the files
/// itself, else a link. Returns the folder whose files are read.
fn place(data: &Dataset, folder: &Path, study: &Study, treatments: &[usize]) -> Result<PathBuf, RunnerError> {
    let name = folder.join("tpch");
    let device = treatments.first().and_then(|at| study.treatments.get(*at)?.instance.device.as_ref());
    if device.is_none() || !study.properties().reads_files {
        link(&data.folder, &name)?;
        return Ok(data.folder.clone());
    }
    let free_bytes = guard::read_free_bytes(folder);
    guard::check_disk(folder, data.bytes(), free_bytes)?;
    template::copy(&data.folder, &name, None).map_err(failed)?;
    template::sync(&name).map_err(failed)?;
    Ok(name)
}

/// Data sets up to this size are compared with their checksums before every study; of larger ones only
/// the sizes of files are checked. It is read once anyway, into the page cache.
const CHECKED_BYTES: u64 = 4_000_000_000;

/// The cached data set, made if it does not exist or is damaged.
fn dataset(
    options: &TpchOptions,
    settings: &QuerySettings,
    stop: &AtomicBool,
    notes: &mut Vec<String>,
    observer: &mut dyn FnMut(Event<'_>),
) -> Result<Dataset, RunnerError> {
    let key = options.key();
    let damage = match find_whole(&settings.cache_root, key, stop, observer) {
        Ok(Some(found)) => return Ok(found),
        Ok(None) => None,
        Err(DatasetError::Damaged { folder, why }) => {
            let damage = format!("the data set {} was found damaged ({why})", folder.display());
            // Without its manifest it counts as incomplete, even if all sizes are right.
            dataset::condemn(&folder).map_err(|error| unrepaired(&damage, &error))?;
            notes.push(format!("{damage} and was made again"));
            Some(damage)
        }
        Err(DatasetError::Stopped) => return Err(RunnerError::Stopped),
        Err(other) => return Err(failed(other)),
    };
    let make = Make {
        cache_root: &settings.cache_root,
        key,
        generator: &settings.generator,
        python: &settings.python,
        cluster_script: &settings.cluster_script,
        count_script: &settings.count_script,
    };
    let made = dataset::make(&make, &mut |share, what| observer(Event::Making { what, share }), stop);
    made.map_err(|error| match (error, damage) {
        (DatasetError::Stopped, _) => RunnerError::Stopped,
        (error, Some(damage)) => unrepaired(&damage, &error),
        (error, None) => failed(error),
    })
}

/// The error that prevents a repair must not hide the damage.
fn unrepaired(damage: &str, error: &DatasetError) -> RunnerError {
    failed(format!("{damage} and cannot be made again: {error}"))
}

fn find_whole(
    cache_root: &Path,
    key: Key,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(Event<'_>),
) -> Result<Option<Dataset>, DatasetError> {
    let Some(found) = dataset::find(cache_root, key)? else { return Ok(None) };
    if found.bytes() <= CHECKED_BYTES {
        let what = "comparing the data set with its checksums";
        dataset::verify(&found, &mut |share| observer(Event::Making { what, share }), stop)?;
    }
    Ok(Some(found))
}

impl QueryData {
    /// Before a slice of a treatment: empties caches if the treatment asks for that.
    ///
    /// # Errors
    /// A file of the data set cannot be opened any more.
    pub fn before(&self, treatment: usize) -> Result<(), String> {
        self.cold.get(treatment).and_then(Option::as_deref).map_or(Ok(()), cold::empty)
    }

    /// Compares every answer of a slice, counts compared and wrong ones, and drops the
    /// answers. Returns the first difference, in one line.
    pub fn check(&self, slice: &mut Slice) -> Option<String> {
        let mut first = None;
        for (stream, session) in slice.sessions.iter_mut().enumerate() {
            for execution in &mut session.queries {
                let wrong = self.wrong(stream as u32, execution.query, execution.answer.take());
                session.answers_checked += 1;
                session.answers_wrong += u64::from(wrong.is_some());
                first = first.or(wrong);
            }
        }
        first
    }

    fn wrong(&self, stream: u32, query: u8, answer: Option<threadwise_study::Answer>) -> Option<String> {
        let Some(answer) = answer else { return Some(format!("query {query}: the worker gave no answer")) };
        let Some(reference) = self.references.get(&(stream, query)) else {
            return Some(format!("query {query} of stream {stream} has no answer to compare with"));
        };
        answers::compare(query, reference, &answer).err().map(|difference| difference.to_string())
    }
}
