//! Tests of options.

use super::*;
use threadwise_study::OptionValue;

fn options(pairs: &[(&str, &str)]) -> Options {
    let value =
        |text: &str| text.parse().map_or_else(|_| OptionValue::Text(text.into()), OptionValue::Integer);
    pairs.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect()
}

#[test]
fn what_the_server_has_not_is_refused_by_name() {
    for (pairs, option, part) in [
        (&[("buckets", "8")][..], "buckets", "memory-optimised"),
        (&[("table", "unlogged")], "table", "always logged"),
        (&[("rows_per_tx", "0"), ("rows_per_session", "8")], "rows_per_tx", "memory-optimised"),
        (&[("storage", "ram")], "storage", "disk, memory-optimised"),
        (&[("storage", "memory-optimised"), ("buckets", "0")], "buckets", "from 1"),
    ] {
        let options = options(pairs);
        let spec = Insert::parse(&options, &MORE).unwrap();
        let message = buckets(&spec, &options, Loop::Server).unwrap_err().to_string();
        assert!(message.contains(&format!("'{option}'")) && message.contains(part), "{message}");
    }
}

#[test]
fn pauses_are_whole_milliseconds() {
    let spec = |us| LogicalIo::parse(&options(&[("think_time_us", us)])).unwrap();
    assert!(check_pause(&spec("3000")).is_ok());
    let message = check_pause(&spec("70")).unwrap_err().to_string();
    assert!(message.contains("think_time_us") && message.contains("multiple of 1000"), "{message}");
}

#[test]
fn what_tpch_cannot_have_is_refused_by_name() {
    let load = |pairs: &[(&str, &str)], engine_options: &[(&str, &str)]| LoadRequest {
        workload: Workload::Tpch,
        options: options(pairs),
        engine_options: options(engine_options),
        data_dir: "/".into(),
        treatment: "t".into(),
        sessions: 1,
        seed: 1,
    };
    let url = ("url", "sqlserver://me@db/shop");
    for (pairs, part) in [
        ([("storage", "memory"), ("scale", "1")], "own files"),
        ([("settings.maxdop", "3"), ("scale", "1")], "your own server"),
        ([("spill_dir", "/tmp"), ("scale", "1")], "tempdb"),
        ([("short", "2"), ("test", "throughput")], "affinity=keep"),
    ] {
        let message = parse_tpch(&load(&pairs, &[url, ("affinity", "set")])).unwrap_err().to_string();
        assert!(message.contains(&format!("option '{}'", pairs[0].0)) && message.contains(part), "{message}");
    }
    assert_eq!(parse_tpch(&load(&[("short", "2"), ("test", "throughput")], &[url])).unwrap().short, 2);
}
