//! `threadwise run transaction`: the file of statements, and the database that they may write to.

use super::args::TransactionArgs;
use crate::cli::RunArgs;
use crate::error::AppError;
use std::io::ErrorKind;
use threadwise_engine::EngineError;
use threadwise_machine::given;
use threadwise_machine::text::escaped;
use threadwise_study::transaction::{MAY_WRITE, SQL, written_to};
use threadwise_study::{OptionValue, Options, Study, Workload};

/// The preset for such a file.
pub const PRESET: &str = "transaction";

/// Workload options that the command line gives by these options.
///
/// # Errors
/// The file cannot be read, or is not text.
pub fn options(args: &TransactionArgs) -> Result<Options, AppError> {
    let mut options = Options::new();
    let text = |text: String| OptionValue::Text(text);
    if let Some(file) = &args.transaction {
        let fail = |why: String| AppError::Input(format!("--transaction {}: {why}", file.display()));
        let sql = given::text(file, given::TEXT_BYTES).map_err(|error| {
            fail(match error.kind() {
                ErrorKind::InvalidData => "is not text in UTF-8: is it a file of SQL?".to_owned(),
                _ => format!("cannot be read: {error}"),
            })
        })?;
        options.insert(SQL.to_owned(), text(sql));
    }
    options.extend(args.may_write.clone().map(|name| (MAY_WRITE.to_owned(), text(name))));
    Ok(options)
}

/// Refuses options of transactions for another workload.
///
/// # Errors
/// Some are given.
pub fn only_for_transactions(args: &TransactionArgs, workload: &Workload) -> Result<(), AppError> {
    let given = [("--transaction", args.transaction.is_some()), ("--may-write", args.may_write.is_some())];
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

/// Prefixes an error about a file's text with the name of the file.
pub fn as_typed(error: &EngineError, args: &TransactionArgs) -> Option<String> {
    let EngineError::Option { option, why } = error else { return None };
    match (option.as_str(), &args.transaction) {
        (SQL, Some(file)) => Some(format!("--transaction {}: {why}", file.display())),
        (SQL, None) => Some(why.clone()),
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
