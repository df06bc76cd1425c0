//! `transaction`: the user's statements on the user's data, of which nothing is made and nothing is left.

use crate::bench::{Bench, assert_clear, slice, start};
use crate::model::Settings;
use threadwise_engine::{Engine, LoadRequest};
use threadwise_engine_sqlserver::Client;
use threadwise_study::OptionValue;
use threadwise_tds::Message;

const READS: &str =
    "-- :id 5..7\nSELECT name FROM customers WHERE id = :id;\nSELECT name FROM customers WHERE id = :id";
const WRITES: &str = "-- :id 5..7\nUPDATE customers SET name = 'x' WHERE id = :id";

fn load(bench: &Bench, sql: &str, may_write: Option<&str>, sessions: u32) -> LoadRequest {
    let mut load = bench.load("transaction", "", sessions);
    load.options.insert("sql".into(), OptionValue::Text(sql.into()));
    load.options.extend(may_write.map(|name| ("may_write".to_owned(), OptionValue::Text(name.into()))));
    load
}

#[test]
fn reads_are_transactions_that_are_rolled_back() {
    let bench = Bench::new(Settings::default());
    let load = load(&bench, READS, None, 2);
    let (keeper, notes, running) = bench.begin(&load);
    assert!(notes[0].contains("their answers are read and not checked"), "{notes:?}");
    let slices = slice(&bench, running.as_ref(), &load, 100_000_000).done();
    running.finish().unwrap();
    drop(running);
    keeper.end().unwrap();
    let done: u64 = slices.iter().map(|slice| slice.rows).sum();
    {
        let state = bench.state();
        // One is the trial, one of each session its warm-up; some may have ended outside of the window.
        let ended = state.ended.len() as u64;
        assert!(ended >= done + 3, "{done} {ended}");
        let all: Vec<String> = (5..=7).map(|id| format!("SELECT {id}, SELECT {id}, ROLLBACK")).collect();
        assert!(state.ended.iter().all(|one| all.contains(one)), "{:?}", state.ended);
        assert!(state.transactions.is_empty());
    }
    assert!(
        slices
            .iter()
            .all(|slice| slice.latency.is_empty() == (slice.steps == 0) && slice.steps == slice.rows)
    );
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn only_the_named_database_is_written_to() {
    let bench = Bench::new(Settings::default());
    let writes = load(&bench, WRITES, Some("shop"), 1);
    let (keeper, notes, running) = bench.begin(&writes);
    assert!(notes.iter().any(|note| note.contains("wrote to the database 'shop'")), "{notes:?}");
    slice(&bench, running.as_ref(), &writes, 50_000_000).done();
    drop(running);
    keeper.end().unwrap();
    assert!(bench.state().ended[0].ends_with("ROLLBACK"), "the trial");
    assert!(
        bench.state().ended[1..].iter().all(|one| one.starts_with("UPDATE") && one.ends_with(", COMMIT"))
    );
    let ended = bench.state().ended.len();

    let other = load(&bench, &WRITES.replace("customers", "[Other]..customers"), Some("shop"), 1);
    let message = Client.load(&other).unwrap_err().to_string();
    assert!(message.contains("line 2 names the database 'other'"), "{message}");
    let message = Client.check(&load(&bench, WRITES, Some("stock"), 1)).unwrap_err().to_string();
    assert!(message.contains("'shop', not 'stock'"), "{message}");
    let message = Client.check(&load(&bench, WRITES, None, 1)).unwrap_err().to_string();
    assert!(message.contains("--may-write DATABASE"), "{message}");
    assert_eq!(bench.state().ended.len(), ended);
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn a_fault_names_its_line() {
    let deadlock = Message::new(1205, "Transaction (Process ID 52) was deadlocked.").class(13);
    let bench = Bench::new(Settings { fails: vec![("SELECT name FROM", deadlock)], ..Settings::default() });
    let load = load(&bench, READS, None, 1);
    let message = Client.load(&load).unwrap_err().to_string();
    assert_clear(&message);
    assert!(message.contains("execute line 2") && message.contains("error 1205"), "{message}");
    let running = Client.start(&start(&load)).unwrap();
    let message = slice(&bench, running.as_ref(), &load, 50_000_000).error().to_string();
    assert!(message.contains("execute line 2"), "{message}");
    drop(running);
    bench.assert_over();
    bench.assert_clean();
}

#[test]
fn a_mix_is_transactions_of_their_own() {
    let bench = Bench::new(Settings::default());
    let mix = "-- :transaction find\n-- :city from SELECT city FROM customers\n-- :big from SELECT big FROM \
               customers\nSELECT n FROM customers WHERE city = :city AND big = :big;\n\
               -- :transaction once weight 2\n-- :id 5..7\nSELECT name FROM customers WHERE id = :id;\n\
               -- :transaction twice\n\\set id 9 + 0\nSELECT name FROM customers WHERE id = :id;\nBEGIN;\n\
               SELECT name FROM customers WHERE id = :id;\nSELECT name FROM customers WHERE id = :id;\nEND;\n";
    let load = load(&bench, mix, None, 1);
    let (keeper, _, running) = bench.begin(&load);
    let slices = slice(&bench, running.as_ref(), &load, 100_000_000).done();
    running.finish().unwrap();
    drop(running);
    keeper.end().unwrap();
    let counted: u64 = ["script/find", "script/once", "script/twice"]
        .iter()
        .filter_map(|name| slices[0].counters.get(*name))
        .sum();
    assert_eq!(counted, slices[0].steps, "{:?}", slices[0].counters);
    {
        let state = bench.state();
        let mut all: Vec<String> = (5..=7).map(|id| format!("SELECT {id}, ROLLBACK")).collect();
        all.extend(["SELECT 9, ROLLBACK".to_owned(), "SELECT 9, SELECT 9, ROLLBACK".to_owned()]);
        for (city, big) in [("Ulm", 5), ("Ulm", 1_i64 << 40), ("Bonn", 5), ("Bonn", 1 << 40)] {
            all.push(format!("FIND {city} {big}, ROLLBACK"));
        }
        // The queries of the values, of the load and of the session, come before any transaction of the mix.
        all.push("ROLLBACK".to_owned());
        assert!(state.ended.iter().all(|one| all.contains(one)), "{:?}", state.ended);
        assert!(state.ended[..2] == ["ROLLBACK", "ROLLBACK"] && state.ended[2].starts_with("FIND"));
        assert!(state.ended.contains(&all[3]) && state.ended.contains(&all[4]), "{:?}", state.ended);
        assert!(state.transactions.is_empty());
    }
    bench.assert_over();
    bench.assert_clean();
}
