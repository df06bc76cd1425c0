//! What is refused before anything is touched, and what a run is to do.

use super::run;
use super::*;
use crate::plan::{Item, Span};
use std::path::{Path, PathBuf};
use threadwise_study::OptionValue;
use threadwise_study::worklist::Order;

fn request(folder: &Path, pairs: &[(&str, OptionValue)]) -> LoadRequest {
    LoadRequest {
        workload: Workload::WorkList,
        options: pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        engine_options: Options::new(),
        data_dir: folder.to_owned(),
        treatment: "x".into(),
        sessions: 2,
        seed: 7,
    }
}

fn text(text: impl AsRef<Path>) -> OptionValue {
    OptionValue::Text(text.as_ref().display().to_string())
}

fn refused(pairs: &[(&str, OptionValue)]) -> String {
    match Worklist.check(&request(Path::new("/nowhere"), pairs)) {
        Ok(()) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn bad_input_is_refused_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list");
    std::fs::write(&list, "list\n").unwrap();
    assert_eq!(refused(&[]), "");
    assert!(refused(&[("recipe", text("oracle"))]).contains("sqlite, firebird"));
    assert!(refused(&[("page_size", OptionValue::Integer(8192))]).contains("Firebird's"));
    assert!(refused(&[("list", text(&list))]).contains("is not a database of SQLite"));
    assert!(refused(&[("list", text("/no/such/list"))]).contains("/no/such/list"));
    let refusal = |command: &str| refused(&[("command", text(command)), ("list", text(&list))]);
    assert_eq!(refusal("true {item}"), "");
    assert!(refusal("true {gbak}").contains("{gbak} is not a placeholder"));
    assert!(refusal("no-such-program-here {item}").contains("no-such-program-here"));
    let with = |name: &str, value: &str| {
        let mut request = request(folder.path(), &[]);
        request.engine_options = Options::from([(name.to_owned(), text(value))]);
        Worklist.check(&request).unwrap_err().to_string()
    };
    assert!(with("url", "x").contains("bin=FOLDER"));
    assert!(with("bin", "relative").contains("absolute"));
    let other = LoadRequest { workload: "insert".into(), ..request(folder.path(), &[]) };
    assert!(Worklist.check(&other).unwrap_err().to_string().contains("cannot do 'insert'"));
}

#[test]
fn databases_of_a_server_cannot_be_listed() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list");
    std::fs::write(&list, "base\n").unwrap();
    let said = refused(&[("recipe", text("postgres")), ("list", text(&list))]);
    assert!(said.contains("private server") || said.contains("Debian: postgresql"), "{said}");
}

#[test]
fn a_made_list_is_made_once_and_shared_by_treatments() {
    let folder = tempfile::tempdir().unwrap();
    let made = [("files", OptionValue::Integer(5)), ("total_mib", OptionValue::Integer(1))];
    let first = request(folder.path(), &made);
    let loaded = Worklist.load(&first).unwrap();
    assert!(loaded.notes[0].starts_with("work list: 5 items, 1."), "{:?}", loaded.notes);
    let homes = || -> Vec<PathBuf> {
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let [home] = homes().try_into().unwrap();
    let before: Vec<_> = crate::cold::files_below(&home).unwrap();
    assert_eq!(before.len(), 6, "five items and the list: {before:?}");
    let order = ("order", text("shuffled"));
    let second = LoadRequest {
        treatment: "y".into(),
        sessions: 9,
        ..request(folder.path(), &[made[0].clone(), made[1].clone(), order])
    };
    assert_eq!(Worklist.load(&second).unwrap(), loaded);
    assert_eq!(homes().len(), 1);
    let more = request(folder.path(), &[("files", OptionValue::Integer(6)), made[1].clone()]);
    Worklist.load(&more).unwrap();
    assert_eq!(homes().len(), 2);
}

#[test]
fn a_users_files_are_copied_under_plain_names_and_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let data = tempfile::tempdir().unwrap();
    let odd = ["it's \"one\".db", "new\nline.db", "spa ce {item}.db", "-dash.db", "ä%s:$x.db"];
    let mut listed = Vec::new();
    for (number, name) in odd.iter().enumerate() {
        let path = folder.path().join(name);
        let made = rusqlite::Connection::open(&path).unwrap();
        made.execute_batch(&format!("create table t (x); insert into t values ({number})")).unwrap();
        drop(made);
        listed.push(path);
    }
    let before: Vec<Vec<u8>> = listed.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let list = folder.path().join("list");
    let lines: String = listed.iter().map(|path| format!("{}\0", path.display())).collect();
    std::fs::write(&list, lines).unwrap();
    let request = request(data.path(), &[("list", text(&list))]);
    Worklist.check(&request).unwrap();
    let loaded = Worklist.load(&request).unwrap();
    assert!(loaded.notes.iter().any(|note| note.contains("copies of your files")), "{:?}", loaded.notes);
    let asked = Asked::read(&request).unwrap();
    let found = list::found(&list::home(&request, &asked.options, Kind::Sqlite)).unwrap();
    for (number, item) in found.items.iter().enumerate() {
        let copy = Path::new(&item.text);
        assert!(
            copy.starts_with(data.path()) && copy.file_name().unwrap().to_str().unwrap().starts_with("item-")
        );
        let value: i64 = rusqlite::Connection::open(copy)
            .unwrap()
            .query_row("select x from t", [], |row| row.get(0))
            .unwrap();
        assert_eq!((value as usize, item.name.replace('\u{fffd}', "\n").as_str()), (number, odd[number]));
        assert_eq!(std::fs::read(&listed[number]).unwrap(), before[number]);
    }
}

fn items(sizes: &[u64]) -> Vec<Item> {
    let item = |(at, &size_bytes): (usize, &u64)| Item {
        name: format!("i{at}"),
        text: at.to_string(),
        size_bytes,
        earlier: 0,
    };
    sizes.iter().enumerate().map(item).collect()
}

#[test]
fn orders_are_as_asked_and_drawn_from_the_blocks_seed() {
    let items = items(&[3, 9, 5, 5]);
    assert_eq!(run::order(&items, Order::Given, 1), [0, 1, 2, 3]);
    assert_eq!(run::order(&items, Order::Largest, 1), [1, 2, 3, 0]);
    let drawn = |seed| run::order(&items, Order::Shuffled, seed);
    assert_eq!(drawn(1), drawn(1));
    assert!((2..20).any(|seed| drawn(seed) != drawn(1)));
    let kept: Vec<usize> = (0..40).map(|run| run::kept(4, 7, run)).collect();
    assert!((0..4).all(|item| kept.contains(&item)) && kept.iter().all(|&item| item < 4));
    assert_eq!(run::kept(4, 7, 3), run::kept(4, 7, 3));
}

#[test]
fn spans_are_measured_from_the_windows_start_and_faults_by_name() {
    let items = items(&[1; 5]);
    let span = |index: usize, fault: Option<&str>| Span {
        index,
        job: 1,
        start_ns: 100 + index as u64,
        end_ns: 110 + index as u64,
        fault: fault.map(str::to_owned),
    };
    let whole: Vec<Span> = (0..5).rev().map(|index| span(index, None)).collect();
    assert_eq!(run::fault(&items, &whole), None);
    let item_spans = run::item_spans(&items, &whole, 90);
    assert_eq!((item_spans[2].index, item_spans[2].name.as_str(), item_spans[2].job), (2, "i2", 1));
    assert_eq!((item_spans[2].started_ns, item_spans[2].elapsed_ns), (12, 10));
    let failed: Vec<Span> = (0..5).map(|index| span(index, (index > 0).then_some("backup: no"))).collect();
    let error = run::fault(&items, &failed).unwrap();
    assert_eq!(error.kind(), "item");
    assert_eq!(
        error.to_string(),
        "4 of 5 items failed: i1: backup: no; i2: backup: no; i3: backup: no; and 1 more"
    );
    assert_eq!(run::fault(&items, &whole[..2]).unwrap().to_string(), "2 of 5 items were finished");
}
