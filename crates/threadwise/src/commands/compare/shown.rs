//! Forms of what was compared: the screen, JSON, Markdown, and the page.

use super::CompareArgs;
use crate::commands::screen;
use crate::error::AppError;
use crate::output;
use threadwise_report::{Document, html, markdown};

/// Prints a document in the form that was asked for, and writes its page.
///
/// # Errors
/// Standard output or the page cannot be written.
pub fn show(args: &CompareArgs, document: &Document, json: impl FnOnce() -> String) -> Result<(), AppError> {
    let text = match args.format {
        Some(_) => markdown::markdown(document),
        None if args.json => format!("{}\n", json()),
        None => screen::shown(document, args.all),
    };
    deliver(args, document, &text)
}

/// Prints a text, and writes the page of its document.
///
/// # Errors
/// As [`show`].
pub fn deliver(args: &CompareArgs, document: &Document, text: &str) -> Result<(), AppError> {
    let path = args.html.as_deref();
    output::deliver(output::print(text), path, None, || html::render(document).map_err(AppError::failed))?;
    output::name_page(path.filter(|_| !args.json && args.format.is_none()))
}
