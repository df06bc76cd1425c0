//! The options of `tpch` that the server supports.

use threadwise_engine::workloads::options::refuse;
use threadwise_engine::workloads::tpch::{read, refuse_given};
use threadwise_engine::{EngineError, LoadRequest};
use threadwise_study::tpch::Test;
use threadwise_tpch::options::{Cache, TpchOptions};

/// Bytes of tables and indexes at scale factor 1; estimated from the published 140 GB at 100.
pub(crate) const BYTES_PER_SCALE: u64 = 1_400_000_000;

/// The limit of MAXDOP.
const MAX_DOP: u32 = 32_767;

/// Options that the server does not support, and why.
const UNFOLLOWED: [(&str, &str); 8] = [
    ("storage", "SQL Server keeps tables in its own files; leave it out"),
    ("batch_rows", "the size of a batch is the server's own; leave it out"),
    ("memory_limit_mb", "the memory of a query is the server's own (max server memory, Resource Governor)"),
    ("spill_dir", "it spills into tempdb"),
    ("spill_limit_mb", "it spills into tempdb, whose files bound that"),
    ("jit", "it has no such setting; leave it out"),
    ("hold_plan", "it has no such setting; leave it out"),
    ("short", "this engine has no short queries beside the streams yet; leave it out"),
];

/// Reads and checks the options.
///
/// # Errors
/// The first option that is unknown, impossible, or not supported by the server.
pub(crate) fn parse(load: &LoadRequest) -> Result<TpchOptions, EngineError> {
    let options = read(&load.options)?;
    refuse_given(&load.options, &UNFOLLOWED)?;
    if let Some(name) = options.settings.keys().next() {
        let why = "threadwise does not change the settings of your own server: leave it out";
        return Err(refuse(&format!("settings.{name}"), why.into()));
    }
    if options.cache == Cache::Cold && options.test == Test::Throughput {
        let why =
            "'cold' is for test=power: emptying the server's cache would stop the other streams' queries";
        return Err(refuse("cache", why.into()));
    }
    if options.dop.is_some_and(|dop| dop > MAX_DOP) {
        return Err(refuse("dop", format!("MAXDOP is at most {MAX_DOP}")));
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadwise_study::OptionValue;

    #[test]
    fn what_the_server_cannot_follow_is_refused_by_name() {
        let word = |text: &str| OptionValue::Text(text.into());
        for (option, value, part) in [
            ("storage", word("memory"), "own files"),
            ("short", OptionValue::Integer(2), "short"),
            ("settings.maxdop", OptionValue::Integer(3), "your own server"),
            ("jit", OptionValue::Flag(true), "no such setting"),
            ("scale", OptionValue::Integer(0), "is allowed"),
        ] {
            let mut options = threadwise_study::Options::from([(option.to_owned(), value)]);
            if option == "short" {
                options.insert("test".into(), word("throughput"));
            }
            let load = LoadRequest {
                workload: "tpch".into(),
                options,
                engine_options: threadwise_study::Options::new(),
                data_dir: "/".into(),
                treatment: "t".into(),
                sessions: 1,
                seed: 1,
            };
            let message = parse(&load).unwrap_err().to_string();
            assert!(message.contains(&format!("option '{option}'")) && message.contains(part), "{message}");
        }
    }
}
