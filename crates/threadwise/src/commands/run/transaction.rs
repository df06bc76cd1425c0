//! `threadwise run transaction`: the files of statements, the database that they may write to, and the draft of a file.

use super::args::{TransactionArgs, TransactionFile};
use crate::cli::RunArgs;
use crate::engines;
use crate::error::AppError;
use crate::output;
use std::io::ErrorKind;
use std::path::Path;
use threadwise_engine::EngineError;
use threadwise_engine::workloads::transaction::draft::DraftRequest;
use threadwise_engine::workloads::transaction::{MixFile, join, pin_files};
use threadwise_machine::given;
use threadwise_machine::text::escaped;
use threadwise_study::load::option_value;
use threadwise_study::transaction::{MAY_WRITE, SQL, written_to};
use threadwise_study::{OptionValue, Options, Study, Workload};

/// The preset for such a file.
pub const PRESET: &str = "transaction";

/// Statements of a draft, without --top.
const DRAFTED: u32 = 10;

/// Workload options that the command line gives by these options.
///
/// # Errors
/// A file cannot be read, is not text, or cannot be in a mix.
pub fn options(args: &TransactionArgs) -> Result<Options, AppError> {
    let mut options = Options::new();
    let text = |text: String| OptionValue::Text(text);
    if !args.transaction.is_empty() {
        let texts = args.transaction.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<String> = args.transaction.iter().map(name).collect();
        let files: Vec<MixFile<'_>> = args
            .transaction
            .iter()
            .zip(names.iter().zip(&texts))
            .map(|(file, (name, text))| MixFile { name, weight: file.weight, text })
            .collect();
        let sql =
            join(&files, &args.define).map_err(|why| AppError::Input(format!("--transaction: {why}")))?;
        options.insert(SQL.to_owned(), text(sql));
    }
    options.extend(args.may_write.clone().map(|name| (MAY_WRITE.to_owned(), text(name))));
    Ok(options)
}

/// The name of a file in a mix.
fn name(file: &TransactionFile) -> String {
    file.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The text of a file, in which files of values have their absolute paths and hashes.
fn read(file: &TransactionFile) -> Result<String, AppError> {
    let path = &file.path;
    let fail = |why: String| AppError::Input(format!("--transaction {}: {why}", path.display()));
    let sql = given::text(path, given::TEXT_BYTES).map_err(|error| {
        fail(match error.kind() {
            ErrorKind::InvalidData => "is not text in UTF-8: is it a file of SQL?".to_owned(),
            _ => format!("cannot be read: {error}"),
        })
    })?;
    let path = std::path::absolute(path).map_err(|error| fail(format!("cannot be read: {error}")))?;
    pin_files(&sql, path.parent().unwrap_or(Path::new("/"))).map_err(fail)
}

/// Pins the files of values that a study definition names, whose relative paths begin in its folder.
///
/// # Errors
/// A file cannot be read, or has changed since it was pinned.
pub fn pin(study: &mut Study, definition: Option<&str>) -> Result<(), AppError> {
    if study.workload != Workload::Transaction {
        return Ok(());
    }
    let definition = definition.filter(|name| name.ends_with(".toml")).unwrap_or(".");
    let path = std::path::absolute(definition).map_err(AppError::input)?;
    let folder = if definition == "." { &path } else { path.parent().unwrap_or(&path) };
    for treatment in &mut study.treatments {
        if let Some(OptionValue::Text(sql)) = treatment.options.get_mut(SQL) {
            *sql = pin_files(sql, folder).map_err(|why| AppError::Input(format!("{SQL}: {why}")))?;
        }
    }
    Ok(())
}

/// Refuses to continue a study whose files of values have changed.
///
/// # Errors
/// The file.
pub fn has_its_files(study: &Study) -> Result<(), AppError> {
    pin(&mut study.clone(), None)
}

/// Prints a draft of transactions from the server's statistics.
///
/// # Errors
/// There is no server or no such statistics, or they cannot be read.
pub fn draft(source: &str, args: &RunArgs) -> Result<(), AppError> {
    let known = || {
        let with = engines::all().iter().filter(|engine| !engine.statement_sources().is_empty());
        let sources =
            with.map(|engine| format!("{} of {}", engine.statement_sources().join(", "), engine.name()));
        sources.collect::<Vec<_>>().join(", ")
    };
    let refuse = |why: String| AppError::Input(format!("--transactions-from {source}: {why}"));
    let Some(address) = &args.engine else {
        return Err(refuse(format!(
            "it reads the statistics of your server ({}): give --engine URL",
            known()
        )));
    };
    let (name, mut engine_options) = engines::named(address)?;
    let engine = engines::find(&name).filter(|engine| engine.statement_sources().contains(&source));
    let engine = engine.ok_or_else(|| {
        let shown = address.split_once("://").map_or(address.as_str(), |(scheme, _)| scheme);
        refuse(format!("it is not a source of {shown}; there is {}", known()))
    })?;
    let given = args.engine_option.iter().map(|(key, value)| (key.clone(), option_value(value)));
    engine_options.extend(given);
    let top = args.transactions.top.unwrap_or(DRAFTED) as usize;
    let request = DraftRequest { source, top, may_write: args.transactions.may_write.as_deref() };
    let draft = engine.draft(&engine_options, &request).map_err(|error| {
        as_typed(&error, &args.transactions).map_or_else(|| AppError::engine(&error), AppError::Input)
    })?;
    output::print(&draft)
}

/// Refuses options of transactions for another workload.
///
/// # Errors
/// Some are given.
pub fn only_for_transactions(args: &TransactionArgs, workload: &Workload) -> Result<(), AppError> {
    let given = [("--transaction", !args.transaction.is_empty()), ("--may-write", args.may_write.is_some())];
    match given.into_iter().find(|(_, is_given)| *is_given && *workload != Workload::Transaction) {
        Some((option, _)) => Err(AppError::Input(format!(
            "{option} is for studies of transactions, and this study's workload is {workload}: \
             threadwise run transaction --transaction FILE.sql"
        ))),
        None => Ok(()),
    }
}

/// Refuses to write to a database that this start's command line does not name: a study definition or a result file
/// must not decide that.
///
/// # Errors
/// The database.
pub fn allowed(study: &Study, args: &RunArgs) -> Result<(), AppError> {
    let named = args.transactions.may_write.as_deref();
    match written_to(study).into_iter().find(|name| named != Some(name)) {
        Some(name) => Err(AppError::Input(format!(
            "the transactions of this study write to the database '{0}' repeatedly: read them, and allow them with \
             --may-write '{0}'",
            escaped(&name)
        ))),
        None => Ok(()),
    }
}

/// Prefixes an error about a file's text with the name of the file; in a text of several the error has it.
pub fn as_typed(error: &EngineError, args: &TransactionArgs) -> Option<String> {
    let EngineError::Option { option, why } = error else { return None };
    match (option.as_str(), args.transaction.as_slice()) {
        (SQL, [TransactionFile { path, weight: None }]) if args.define.is_empty() => {
            Some(format!("--transaction {}: {why}", path.display()))
        }
        (SQL, []) => Some(why.clone()),
        (SQL, _) => Some(format!("--transaction: {why}")),
        (MAY_WRITE, _) => Some(format!("--may-write: {why}")),
        _ => None,
    }
}

/// The transactions as shown before anything is done.
pub fn shown(study: &Study) -> String {
    if study.workload != Workload::Transaction {
        return String::new();
    }
    match written_to(study).as_slice() {
        [] => "Transactions are read-only; their answers are not checked\n".to_owned(),
        names => format!(
            "Transactions WRITE to the database {}; their answers are not checked\n",
            escaped(&names.join(", "))
        ),
    }
}
