//! `threadwise completions` and `threadwise man`: generated from the command line's definition.

use crate::cli::{Cli, CompletionsArgs};
use crate::error::AppError;
use crate::output;
use clap::CommandFactory;

/// Prints the completion script of one shell.
pub fn completions(args: &CompletionsArgs) -> Result<(), AppError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "threadwise", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// Prints the manual page, subcommands included.
pub fn man() -> Result<(), AppError> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(AppError::failed)?;
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        clap_mangen::Man::new(subcommand.clone()).render(&mut page).map_err(AppError::failed)?;
    }
    output::print(&String::from_utf8_lossy(&page))
}
