//! `observe` and `compare` of its files, without a server: what is refused, and every form of the answer. Real servers:
//! `lab_servers/observe.rs`.

use crate::harness::{Lab, Said, said};
use crate::scripted::{self, PASSWORD};
use serde_json::Value;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use threadwise_observed::{Count, Gap, Interval, StatementText, States, Unseen};
use threadwise_store::{About, ObservedStore};
use threadwise_tds::{Column, Length, Message, Reply, Responder, Type, Value as Cell};

/// A file of hours in two states by turns, in which the first of four statements takes half longer in the second state
/// and the second one half as long; times scatter by 2%.
fn write(lab: &Lab, episodes: i64) {
    let about = About { engine: "postgres".to_owned(), server: "db".to_owned(), ..About::default() };
    let (mut store, _) = ObservedStore::create_or_continue(&lab.path().join("o.threadwise"), &about).unwrap();
    let texts: Vec<StatementText> = (0..4).map(text).collect();
    for hour in 0..episodes * 2 {
        let is_on = (hour / 2) % 2 == 1;
        let start_unix_ms = 1_767_225_600_000 + hour * 3_600_000;
        let count = |id: i64| {
            let factor = [1.5, 0.5, 1.0, 1.0][id as usize];
            let scatter = 1.0 + 0.02 * ((hour * 7 + id * 13) % 5 - 2) as f64 / 2.0;
            let mean_ns = 1e6 * scatter * if is_on { factor } else { 1.0 };
            Count { statement: format!("s{id}"), calls: 1000, time_ns: (1000.0 * mean_ns) as u64, rows: 1 }
        };
        let interval = Interval {
            start_unix_ms,
            end_unix_ms: start_unix_ms + 3_600_000,
            length_ns: 3_600_000_000_000,
            gap: (hour == 3).then_some(Gap::Restart),
            states: States { smt: Some(if is_on { "on" } else { "off" }.to_owned()), ..States::default() },
            counts: if hour == 3 { Vec::new() } else { (0..4).map(count).collect() },
            ..Interval::default()
        };
        store.append(&interval, &texts).unwrap();
    }
}

fn text(id: i64) -> StatementText {
    StatementText {
        key: format!("s{id}"),
        database: Some("shop".to_owned()),
        text: Some(format!("SELECT a{id} FROM `t` WHERE b = $1\u{1b}[31m")),
        ..StatementText::default()
    }
}

#[test]
fn every_form_of_the_answer_has_what_changed() {
    let lab = Lab::new();
    write(&lab, 24);
    let screen = lab.ok(&["compare", "o.threadwise", "--by", "smt"]).stdout;
    for words in ["SMT on over SMT off", "1 of 4 statements is slower with SMT on", "#1", "TRUST", "--all"] {
        assert!(screen.contains(words), "{words}\n{screen}");
    }
    assert!(!screen.contains('\u{1b}'), "{screen}");
    let all = lab.ok(&["compare", "o.threadwise", "--by", "smt", "--all"]).stdout;
    assert!(all.contains("1 without figures: restart") && all.contains("Holm"), "{all}");
    let json = lab.ok(&["compare", "o.threadwise", "--by", "smt", "--json"]).stdout;
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((found["version"].as_u64(), found["unit"].as_str()), (Some(1), Some("change of state")));
    let one = |number: u64| {
        let all = found["statements"].as_array().unwrap();
        all.iter().find(|one| one["number"] == number).unwrap().clone()
    };
    for (number, factor, answer) in [(1, 1.5, "larger"), (2, 0.5, "smaller"), (3, 1.0, "equivalent")] {
        let one = one(number);
        assert!((one["value"].as_f64().unwrap() - factor).abs() < 0.02 && one["answer"] == answer, "{one:#}");
    }
    lab.ok(&["compare", "o.threadwise", "--by", "smt", "--html", "page.html"]);
    let page = std::fs::read_to_string(lab.path().join("page.html")).unwrap();
    assert!(page.contains("SELECT a0 FROM") && !page.contains('\u{1b}'));
}

#[test]
fn one_change_says_that_it_is_confounded() {
    let lab = Lab::new();
    write(&lab, 24);
    for args in [["--since", "yesterday"], ["--since", "2026-01-01T23:00Z"]] {
        let said = lab.ok(&["compare", "o.threadwise", args[0], args[1], "--all"]).stdout;
        assert!(said.contains("confounded with all else that changed that day"), "{said}");
    }
}

#[test]
fn bad_input_is_refused_before_anything_is_made() {
    let lab = Lab::new();
    write(&lab, 2);
    let url = "postgres://watch@127.0.0.1:1/shop";
    for (args, code, words) in [
        (vec!["observe", "--engine", "sqlite"], 2, "address of your server"),
        (vec!["observe", "--engine", "postgres://a:secret@h/x"], 2, "must not contain a password"),
        (vec!["observe", "--engine", url, "--interval", "10ms"], 2, "1s to 1h"),
        (vec!["observe", "--engine", url, "--state", "two words"], 2, "not a word for a state"),
        (vec!["observe", "--engine", url, "--state", "a", "--state-file", "f"], 2, "--state"),
        (vec!["observe", "--engine", url, "--state-file", "absent"], 2, "absent"),
        (vec!["observe", "--engine", url, "--live", "--json"], 2, "--live"),
        (vec!["observe", "--engine", url], 1, "connection refused"),
        (vec!["observe", "--engine", "oracle://a@127.0.0.1:1/x"], 3, "has no statistics"),
        (vec!["compare", "o.threadwise"], 2, "--by STATE or --since TIME"),
        (vec!["compare", "o.threadwise", "o.threadwise", "--by", "smt"], 2, "one file"),
        (vec!["compare", "absent", "--by", "smt"], 2, "there is no file"),
        (vec!["compare", "o.threadwise", "--by", "state"], 2, "--state NAME"),
        (vec!["compare", "o.threadwise", "--by", "neighbours"], 2, "observe --neighbours"),
        (vec!["compare", "o.threadwise", "--by", "clock"], 2, "unknown in all intervals"),
        (vec!["compare", "o.threadwise", "--since", "noon"], 2, "not a moment"),
        (vec!["compare", "o.threadwise", "--since", "2020-01-01"], 2, "one side of the moment"),
        (
            vec!["compare", "o.threadwise", "--by", "smt", "--between", "on", "away"],
            2,
            "no interval in SMT away",
        ),
        (vec!["compare", "o.threadwise", "--between", "on", "off"], 2, "--by"),
        (vec!["report", "o.threadwise"], 2, "threadwise compare o.threadwise --by smt"),
    ] {
        let said = lab.run(&args);
        assert!(
            said.code == Some(code) && said.stderr.contains(words),
            "{args:?} {:?}\n{}",
            said.code,
            said.stderr
        );
        assert_eq!(said.stderr.trim().lines().count(), 1, "{args:?}\n{}", said.stderr);
        assert!(!said.stderr.contains("secret"), "{}", said.stderr);
    }
    assert_eq!(lab.files(), ["o.threadwise"]);
}

#[test]
fn a_study_is_not_a_file_of_observed_statements() {
    let lab = Lab::new();
    lab.simulated("s.threadwise", &["--no-html", "--blocks=2"]);
    let said = lab.run(&["compare", "s.threadwise", "--by", "smt"]);
    assert!(said.code == Some(2) && said.stderr.contains("threadwise report"), "{}", said.stderr);
}

/// A scripted SQL Server with two statements whose calls grow from look to look; from the fifth look on (the first one
/// checks rights) it has been started again.
fn server() -> Responder {
    scripted::server(answers())
}

/// Answers of that server.
fn answers() -> impl Fn(&str) -> Vec<Reply> {
    let text = Type::NVarChar(Length::Limit(300));
    let rows = move |columns: &[Type], rows: Vec<Vec<Cell>>| {
        let columns = columns.iter().map(|kind| Column::new("c", *kind)).collect();
        vec![Reply::Rows { columns, rows }]
    };
    let looks = AtomicI64::new(0);
    move |sql: &str| match sql {
        _ if sql.contains("sqlserver_start_time") => {
            let look = looks.fetch_add(1, Ordering::SeqCst);
            let start = Cell::Int(1_700_000_000 + if look < 4 { 0 } else { 500 });
            let first = vec![Cell::Null, Cell::Null, start, Cell::Int(0), Cell::Int(0)];
            let plan = |key: &str, calls: i64, us: i64| {
                vec![
                    Cell::text(key),
                    Cell::text("p"),
                    Cell::Int(calls),
                    Cell::Int(calls * us),
                    Cell::Int(calls),
                ]
            };
            let all =
                vec![first, plan("0xAA", 100 + look * 10, 200), plan("0xBB", 7, 5), plan("0xCC", look, 1)];
            rows(&[text, text, Type::BigInt, Type::BigInt, Type::BigInt], all)
        }
        _ if sql.contains("dm_exec_sql_text") => {
            let row = |key: &str, is_ours| vec![Cell::text(key), Cell::text("shop"), Cell::Int(is_ours)];
            rows(&[text, text, Type::Int], vec![row("0xAA", 0), row("0xCC", 1)])
        }
        _ if sql.contains("query_store_query") => {
            let words = "(@p int)SELECT a FROM t WHERE b = @p AND c = 'secret4711'";
            rows(&[text; 3], vec![["0xAA", "shop", words].map(Cell::text).to_vec()])
        }
        _ => vec![Reply::Error(Message::new(102, "not in the script"))],
    }
}

fn observe(lab: &Lab, server: &Responder, more: &[&str]) -> Said {
    let address = format!("sqlserver://me@{}/shop", server.address());
    let mut words = vec!["observe", "--engine", &address, "--engine-option", "tls=trust", "--interval", "1s"];
    words.extend(["--output", "s.threadwise", "--state", "blue"]);
    words.extend(more);
    said(lab.command(&words).env("SQLCMDPASSWORD", PASSWORD).output().unwrap())
}

#[test]
fn a_scripted_server_is_observed_with_its_restart_and_without_literals() {
    let (lab, server) = (Lab::new(), server());
    let seen = observe(&lab, &server, &["--count", "4", "--json"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    let lines: Vec<Value> = seen.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let gaps: Vec<Option<&str>> = lines.iter().map(|line| line["gap"].as_str()).collect();
    assert_eq!(gaps, [None, None, Some("restart"), None]);
    let first = &lines[0]["statements"][0];
    assert_eq!((first["statement"].as_str(), first["calls"].as_u64()), (Some("0xAA"), Some(10)));
    assert_eq!(first["time_ns"], 10 * 200_000);
    assert_eq!(first["text"], "(@p int)SELECT a FROM t WHERE b = @p AND c = ?");
    assert_eq!(
        (&lines[0]["states"]["state"], lines[0]["statements"].as_array().unwrap().len()),
        (&"blue".into(), 2)
    );
    assert!(lines.iter().all(|line| line["neighbours"].is_null()), "{}", seen.stdout);
    // It goes on in the same file, with the texts that it knows.
    let again = observe(&lab, &server, &["--count", "1"]);
    assert!(again.code == Some(0) && again.stderr.contains("it has 4 intervals"), "{}", again.stderr);
    assert!(again.stdout.contains("state blue"), "{}", again.stdout);
    let bytes = std::fs::read(lab.path().join("s.threadwise")).unwrap();
    let stored = String::from_utf8_lossy(&bytes);
    assert!(stored.contains("AND c = ?") && !stored.contains("secret4711") && !stored.contains(PASSWORD));
    let other = observe(&lab, &server, &["--count", "1", "--no-text"]);
    assert!(other.code == Some(2) && other.stderr.contains("--no-text"), "{}", other.stderr);
    assert_eq!((server.connections_open(), server.errors().len()), (0, 0), "{:?}", server.errors());
    assert_eq!(lab.leftovers(), [] as [String; 0]);
}

/// What is known of neighbours depends on the machine, but never both a share and a reason.
#[test]
fn neighbours_have_a_share_or_a_reason_in_every_form() {
    let (lab, server) = (Lab::new(), server());
    let seen = observe(&lab, &server, &["--count", "2", "--neighbours", "--json"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(seen.stderr.contains("neighbours"), "{}", seen.stderr);
    let store = ObservedStore::open(&lab.path().join("s.threadwise")).unwrap();
    let stored = store.intervals().unwrap();
    assert_eq!(stored.len(), 2);
    for (line, stored) in seen.stdout.lines().zip(stored) {
        let shown = serde_json::from_str::<Value>(line).unwrap()["neighbours"].clone();
        let stored = stored.neighbours.unwrap();
        assert_eq!(shown["looks"].as_u64(), Some(stored.looks()), "{shown}");
        assert_eq!(shown["share"].as_f64(), stored.share(), "{shown}");
        assert_eq!(shown["unknown"].as_str(), stored.unknown().map(Unseen::word), "{shown}");
        assert_eq!(shown["share"].is_null(), shown["unknown"].is_string(), "{shown}");
    }
}

#[test]
fn a_login_without_rights_is_refused_with_the_right_that_it_needs() {
    let (lab, server) = (Lab::new(), scripted::server(|_| scripted::no_right()));
    let refused = observe(&lab, &server, &["--count", "1"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("GRANT VIEW SERVER STATE"), "{}", refused.stderr);
    assert!(!refused.stderr.contains(PASSWORD));
    assert_eq!(lab.files(), [] as [String; 0]);
}

#[test]
fn metrics_are_written_for_a_collector_and_only_over_its_own_file() {
    let (lab, server) = (Lab::new(), server());
    let seen = observe(&lab, &server, &["--count", "1", "--textfile", "o.prom"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    let text = std::fs::read_to_string(lab.path().join("o.prom")).unwrap();
    for line in [
        "threadwise_observe_up 1",
        "threadwise_observe_intervals_total 1",
        "threadwise_statement_calls_total{statement=\"0xAA\",database=\"shop\",user=\"\"} 10",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    std::fs::write(lab.path().join("theirs.prom"), "x 1\n").unwrap();
    let refused = observe(&lab, &server, &["--count", "1", "--textfile", "theirs.prom"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("threadwise observe"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(lab.path().join("theirs.prom")).unwrap(), "x 1\n");
}

/// The file is read when the server is asked again: by then the missed look is in it.
#[test]
fn metrics_say_that_the_server_does_not_answer() {
    let lab = Lab::new();
    let file = lab.path().join("o.prom");
    let (answer, asked) = (answers(), AtomicI64::new(0));
    let while_away = Arc::new(Mutex::new(None));
    let seen_away = Arc::clone(&while_away);
    let server = scripted::server(move |sql| {
        if !sql.contains("sqlserver_start_time") {
            return answer(sql);
        }
        match asked.fetch_add(1, Ordering::SeqCst) {
            3 => vec![Reply::Error(Message::new(701, "There is insufficient system memory."))],
            number => {
                if number == 4 {
                    *seen_away.lock().unwrap() = std::fs::read_to_string(&file).ok();
                }
                answer(sql)
            }
        }
    });
    let seen = observe(&lab, &server, &["--count", "2", "--textfile", "o.prom"]);
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    assert!(seen.stderr.contains("trying again") && seen.stderr.contains("answers again"), "{}", seen.stderr);
    let away = while_away.lock().unwrap().clone().unwrap();
    let has = |text: &str, line: &str| text.lines().any(|found| found == line);
    assert!(has(&away, "threadwise_observe_up 0"), "{away}");
    assert!(has(&away, "threadwise_observe_intervals_total 1"), "{away}");
    let back = std::fs::read_to_string(lab.path().join("o.prom")).unwrap();
    assert!(has(&back, "threadwise_observe_up 1"), "{back}");
}
