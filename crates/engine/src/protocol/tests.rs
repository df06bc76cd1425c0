//! Round trips of messages, and hostile lines.

use super::*;
use std::io::Cursor;

fn load() -> LoadRequest {
    LoadRequest {
        workload: "logical-io".into(),
        options: Options::from([
            ("blocks".into(), OptionValue::Integer(8192)),
            ("hot_pct".into(), OptionValue::Number(12.5)),
            ("whole".into(), OptionValue::Number(2.0)),
            ("shared".into(), OptionValue::Flag(true)),
            ("data".into(), OptionValue::Text("l2 \"quoted\"\n".into())),
        ]),
        engine_options: Options::new(),
        data_dir: "/tmp/a b".into(),
        treatment: "same-core/l2".into(),
        sessions: 2,
        seed: u64::MAX,
    }
}

fn round_trip<M: Serialize + DeserializeOwned>(message: &M) -> M {
    let line = encode(message).unwrap();
    let read = read_line(&mut Cursor::new(&line)).unwrap().unwrap();
    decode(&read).unwrap()
}

#[test]
fn requests_and_the_load_come_back_unchanged() {
    let wire = WireLoad::try_from(&load()).unwrap();
    let request = Request::Prepare {
        protocol: VERSION,
        load: wire.clone(),
        sessions: vec![WireSession { cpus: "0-3,8".into() }],
        seed: 7,
        service: Some("4".into()),
        journal: Some("/x/journal".into()),
    };
    assert_eq!(round_trip(&request), request);
    assert_eq!(LoadRequest::from(wire), load());
    for request in [
        Request::Stop,
        Request::Statements {
            protocol: 1,
            engine_options: Options::new(),
            keys: vec!["0xAA".into()],
            wants_text: true,
        },
        Request::Server {
            protocol: VERSION,
            engine_options: load().engine_options,
            points: true,
            cpus: true,
        },
        Request::Go { sequence: 1, warmup_ns: 2, window_ns: 3, queries: Vec::new(), piece_ns: None },
    ] {
        assert_eq!(round_trip(&request), request);
    }
}

#[test]
fn replies_and_slices_come_back_unchanged() {
    let mut histogram = latency::histogram().unwrap();
    histogram.saturating_record(31_000);
    let slice = SessionSlice {
        steps: 1,
        rows: 64,
        answers_checked: 1,
        cpu_ns: 5,
        voluntary_switches: 1,
        involuntary_switches: 2,
        run_queue_wait_ns: Some(9),
        counters: BTreeMap::from([("logical_reads".into(), 131)]),
        latency: latency::to_bytes(&histogram).unwrap(),
        finished_ns: Some(49_000_000),
        ..SessionSlice::default()
    };
    let reply = Reply::Slice {
        sequence: 4,
        start_ns: 1 << 60,
        window_ns: 50_000_000,
        sessions: vec![slice.clone().into()],
        counters: BTreeMap::from([("wal_bytes".into(), 12)]),
    };
    let Reply::Slice { sessions, .. } = round_trip(&reply) else { unreachable!() };
    assert_eq!(sessions.into_iter().map(SessionSlice::try_from).collect::<Vec<_>>(), [Ok(slice)]);
    let minimal = r#"{"type":"slice","sequence":0,"start_ns":1,"window_ns":2,"sessions":[{"steps":0,"rows":0,"answers_checked":0,"answers_wrong":0,"cpu_ns":0}]}"#;
    assert!(matches!(decode(minimal), Ok(Reply::Slice { .. })));
}

#[test]
fn slices_that_contradict_themselves_are_refused() {
    let wrong_base64 = WireSessionSlice { latency: "*".into(), ..WireSessionSlice::default() };
    assert!(SessionSlice::try_from(wrong_base64).unwrap_err().to_string().contains("base64"));
    let no_histogram = WireSessionSlice { latency: "aGVsbG8=".into(), ..WireSessionSlice::default() };
    assert!(SessionSlice::try_from(no_histogram).unwrap_err().to_string().contains("V2"));
    let mut histogram = latency::histogram().unwrap();
    histogram.saturating_record(1);
    let one = STANDARD.encode(latency::to_bytes(&histogram).unwrap());
    let contradiction = WireSessionSlice { steps: 2, latency: one, ..WireSessionSlice::default() };
    assert!(SessionSlice::try_from(contradiction).unwrap_err().to_string().contains("1 latencies for 2"));
}

#[test]
fn a_query_has_a_bounded_number_of_counters() {
    let with = |number: u64| {
        let counters = (0..number).map(|at| (format!("c{at}"), at)).collect();
        let queries = vec![QueryExecution { query: 6, counters, ..QueryExecution::default() }];
        SessionSlice::try_from(WireSessionSlice { queries, ..WireSessionSlice::default() })
    };
    assert!(with(256).is_ok());
    assert_eq!(with(257).unwrap_err().to_string(), "query 6: more than 256 counters");
}

#[test]
fn lines_are_bounded_and_whole() {
    let read = |text: &str| read_line_within(&mut Cursor::new(text), 8);
    assert_eq!(read(""), Ok(None));
    assert_eq!(read("12345678\nrest"), Ok(Some("12345678".into())));
    assert_eq!(read("123456789\n"), Err(ProtocolError::TooLong { limit: 8 }));
    assert_eq!(read("123456789012345"), Err(ProtocolError::TooLong { limit: 8 }));
    assert_eq!(read("12345678"), Err(ProtocolError::CutOff { start: "12345678".into() }));
    let bytes = read_line_within(&mut Cursor::new(b"\xff\n"), 8).unwrap_err();
    assert!(bytes.to_string().contains("UTF-8"), "{bytes}");
}

#[test]
fn what_is_no_message_is_refused_with_its_beginning() {
    let cases = [
        ("", "EOF"),
        ("GET / HTTP/1.1", "GET / HTTP/1.1"),
        ("{}", "missing field `type`"),
        (r#"{"type":"fly"}"#, "expected one of `load`, `prepare`, `go`, `server`, `statements`, `stop`"),
        (r#"{"type":"go","sequence":-1,"warmup_ns":0,"window_ns":1}"#, "invalid value"),
        (r#"{"type":"go","sequence":1,"warmup_ns":0,"window_ns":1,"extra":1}"#, "unknown field"),
        (r#"{"type":"go","sequence":1,"warmup_ns":0}"#, "missing field"),
    ];
    for (line, part) in cases {
        let message = decode::<Request>(line).unwrap_err().to_string();
        assert!(message.contains(part) && !message.contains('\n'), "{line}: {message}");
    }
    let deep = "[".repeat(100_000);
    assert!(decode::<Request>(&deep).unwrap_err().to_string().len() < 300);
    assert_eq!(check_version(VERSION + 1), Err(ProtocolError::Version { theirs: VERSION + 1 }));
}

#[test]
fn numbers_that_json_lacks_are_refused() {
    let mut load = load();
    load.options.insert("hot_pct".into(), OptionValue::Number(f64::NAN));
    assert!(WireLoad::try_from(&load).unwrap_err().to_string().contains("'hot_pct'"));
}
