//! One file per subcommand.

pub mod completions;
pub mod export;
pub mod list;
pub mod report;
pub mod run;
pub mod topology;
pub mod worker;
