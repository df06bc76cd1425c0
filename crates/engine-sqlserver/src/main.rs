//! The worker program of the engine sqlserver, as threadwise starts it (docs/WORKER.md).
//!
//! Exit codes: 0 done, 1 something failed, which its last reply says.

// It talks to a terminal when it is started by hand.
#![allow(clippy::print_stderr)]

use std::io::{BufReader, stdin};
use std::process::ExitCode;
use threadwise_engine::Engine;
use threadwise_engine::worker::{self, WorkerError};
use threadwise_engine_sqlserver::{Client, hear_messages};

fn main() -> ExitCode {
    hear_messages();
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("threadwise-engine-sqlserver: {error}");
            ExitCode::FAILURE
        }
    }
}

fn work() -> Result<(), WorkerError> {
    let replies = worker::reply_from_environment()?;
    worker::run(&[&Client], Client.name(), BufReader::new(stdin().lock()), replies)
}
