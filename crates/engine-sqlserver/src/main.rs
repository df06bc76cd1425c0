//! The worker program of the engine sqlserver, as threadwise starts it (docs/WORKER.md).
//!
//! With `affinity-watchdog` as its first argument it is the watchdog of a server's CPU affinity, which it starts
//! itself.
//!
//! Exit codes: 0 done, 1 something failed, which its last reply reports.

// Started by hand, it prints to a terminal.
#![allow(clippy::print_stderr)]

use std::io::{BufReader, stdin};
use std::process::ExitCode;
use threadwise_engine::Engine;
use threadwise_engine::worker::{self, WorkerError};
use threadwise_engine_sqlserver::{Client, WATCHDOG, hear_messages, watch};

fn main() -> ExitCode {
    hear_messages();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.split_first() {
        Some((first, rest)) if first == WATCHDOG => watch(rest, &mut stdin()).map_err(WorkerError::from),
        _ => work(),
    };
    match done {
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
