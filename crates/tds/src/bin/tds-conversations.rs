//! Starts a responder with the fixed conversations, for clients in other languages.
//!
//! Source: the commands are this crate's own. It prints `port N`, then answers lines on its standard input until that
//! ends: `errors` with `errors N` and N lines, `open` with `open N`, `requests` with `requests N` and N
//! lines, `kill` with `killed`. Arguments: `--encryption refused|allowed|required|strict`, `--packet-size BYTES`.

use std::io::{BufRead, Write};
use std::process::ExitCode;
use threadwise_tds::{Encryption, Options, Responder, conversations};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            // If this fails too, there is no other place for the error.
            let _ = writeln!(std::io::stderr(), "tds-conversations: {cause}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let options = options(std::env::args().skip(1))?;
    let responder = Responder::start(options, conversations::script()).map_err(|cause| cause.to_string())?;
    say(&format!("port {}", responder.address().port()))?;
    for line in std::io::stdin().lock().lines() {
        match line.map_err(|cause| cause.to_string())?.as_str() {
            "errors" => {
                let errors = responder.errors();
                say(&format!("errors {}", errors.len()))?;
                errors.iter().try_for_each(|error| say(&format!("{} {}", error.connection, error.what)))?;
            }
            "open" => say(&format!("open {}", responder.connections_open()))?,
            "requests" => {
                let requests = responder.requests();
                say(&format!("requests {}", requests.len()))?;
                requests.iter().try_for_each(|received| say(&format!("{received:?}")))?;
            }
            "kill" => {
                responder.kill();
                say("killed")?;
            }
            line => return Err(format!("not a command: {line}")),
        }
    }
    Ok(())
}

fn say(line: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|cause| cause.to_string())
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options::default();
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        match (name.as_str(), value.as_str()) {
            ("--encryption", "refused") => options.encryption = Encryption::Refused,
            ("--encryption", "allowed") => options.encryption = Encryption::Allowed,
            ("--encryption", "required") => options.encryption = Encryption::Required,
            ("--encryption", "strict") => options.encryption = Encryption::Strict,
            ("--packet-size", bytes) => {
                options.packet_size = bytes.parse().map_err(|_| format!("not a packet size: {bytes}"))?;
            }
            _ => return Err(format!("unknown argument: {name} {value}")),
        }
    }
    Ok(options)
}
