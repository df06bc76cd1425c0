//! Transactions of a user's own statements on a copy of the user's database file.
#![allow(clippy::unwrap_used)] // Helpers of tests, not a library.

use crate::support::{Ran, folder, living, named, options, request, run, start_request, text, whole, work};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use tempfile::TempDir;
use threadwise_engine::{Engine, EngineError, LoadRequest, latency};
use threadwise_engine_firebird::Firebird;
use threadwise_study::SessionSlice;
use threadwise_study::transaction::{MAY_WRITE, SQL};

const SCRIPT: &str =
    "create table c (id int not null primary key, name varchar(40) character set win1252, n bigint);
create sequence s;
commit;
set term ^;
execute block as declare i int = 1; begin
  while (i <= 1000) do begin insert into c values (:i, 'name ' || :i, 0); i = i + 1; end
end^
create function bump(which int) returns int as begin update c set n = n + 1 where id = :which; return 1; end^
create function elsewhere(base varchar(200)) returns int as begin
  execute statement 'update c set n = n + 1' on external data source base as user 'SYSDBA'; return 1; end^
set term ;^
commit;
update c set name = _utf8 'Müller' where id = 5;
update c set name = 'two' || ascii_char(10) || 'Statement, of old' where id = 6;
commit;";

const READS: &str = "-- What a page of the shop reads.
-- :id 1..1000
-- :near -5..5
select name, n from c where id = :id;
select count(*), ':id', 'it''s -- ;' from c where id between :id-:near and :id + 9 -- ; :id
;
with few as (select first 20 * from c order by id) select * from few /* it's */";

/// The user's folder with the database in it.
struct Shop {
    folder: TempDir,
    data: TempDir,
}

impl Shop {
    fn open(clauses: &str) -> Self {
        let shop = Self { folder: folder(), data: folder() };
        let create = format!("create database '{}' {clauses};\n{SCRIPT}\n", shop.path().display());
        shop.isql(None, &create);
        shop
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("shop.fdb")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("FIREBIRD_LOCK", self.folder.path()).env("LC_ALL", "C.UTF-8");
        command.current_dir(self.folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    fn isql(&self, database: Option<&Path>, script: &str) {
        let mut isql = self.command("isql-fb");
        let mut child =
            isql.args(["-q", "-b", "-ch", "UTF8", "-user", "SYSDBA"]).args(database).spawn().unwrap();
        child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    fn gfix(&self, args: &[&str]) {
        let mut gfix = self.command("gfix");
        assert!(gfix.args(args).args(["-user", "SYSDBA"]).arg(self.path()).status().unwrap().success());
    }

    /// Another user's session that has it open until the value is dropped.
    fn user(&self) -> User {
        let mut isql = self.command("isql-fb");
        let mut child = isql.args(["-q", "-user", "SYSDBA"]).arg(self.path()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"select 'ready' from rdb$database;\n").unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut lines = output.by_ref().lines().map_while(Result::ok);
        assert!(lines.any(|line| line.trim() == "ready"));
        // Its output stays open: isql writes a line more.
        User(child, output)
    }

    fn request(&self, sql: &str, may_write: Option<&Path>) -> LoadRequest {
        let mut load = request(self.data.path(), "transaction", 2, &[(SQL, text(sql))]);
        let named = |path: &Path| (MAY_WRITE.to_owned(), text(path.to_str().unwrap()));
        load.options.extend(may_write.map(named));
        load.engine_options = options(&[("database", text(self.path().to_str().unwrap()))]);
        load
    }

    fn measure(&self, sql: &str, may_write: Option<&Path>) -> Result<Ran, EngineError> {
        run(&self.request(sql, may_write), 2, 400)
    }

    fn refusal(&self, sql: &str, may_write: Option<&Path>) -> String {
        self.measure(sql, may_write).unwrap_err().to_string()
    }

    /// What isql says to a question beside a treatment's sessions.
    fn ask(&self, sql: &str) -> String {
        let home = named(self.data.path(), "firebird-run-").pop().unwrap();
        let mut isql = self.command("isql-fb");
        isql.args(["-q", "-user", "SYSDBA", "./data.fdb"]).current_dir(home.join("data"));
        isql.env("FIREBIRD", home.join("root")).env("FIREBIRD_LOCK", home.join("locks"));
        let mut child = isql.spawn().unwrap();
        child.stdin.take().unwrap().write_all(format!("set heading off;\n{sql};\n").as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().trim().to_owned()
    }
}

struct User(Child, #[allow(dead_code)] BufReader<ChildStdout>);

impl Drop for User {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
#[ignore = "laboratory: servers"]
fn statements_that_read_are_measured_on_a_copy() {
    let shop = Shop::open("page_size 4096");
    // It would come before what the sessions are to have.
    shop.gfix(&["-buffers", "60"]);
    let before = std::fs::read(shop.path()).unwrap();
    let loaded = Firebird.load(&shop.request(READS, None)).unwrap();
    assert!(loaded.notes.iter().any(|note| note.contains("not checked")), "{:?}", loaded.notes);
    let own_cache = |bytes: &[u8]| u32::from_ne_bytes(bytes[68..72].try_into().unwrap());
    let template = named(shop.data.path(), "firebird-template-").pop().unwrap().join("data/data.fdb");
    assert_eq!((own_cache(&before), own_cache(&std::fs::read(template).unwrap())), (60, 0));
    // Twice: the second run takes the copy that the first one left in order.
    for _ in 0..2 {
        let ran = shop.measure(READS, None).unwrap();
        assert_eq!(ran.finished, Ok(()));
        for slice in ran.slices.iter().flat_map(|(sessions, _)| sessions) {
            assert!(slice.steps > 0 && slice.rows == slice.steps && slice.answers_checked == 0, "{slice:?}");
            assert_eq!(latency::steps(&slice.latency), Ok(slice.steps));
            assert!(slice.cpu_ns > 0 && slice.counters["client_cpu_ns"] > 0, "{slice:?}");
            assert!(slice.counters["logical_reads"] > 20 * slice.steps, "{slice:?}");
        }
        let names: Vec<&str> = ran.placed.iter().map(|placed| placed.name.as_str()).collect();
        assert!(names.starts_with(&["session 0", "session 1"]), "{names:?}");
        for part in ["a copy of the database file", "latencies include isql"] {
            assert!(ran.notes.iter().any(|note| note.contains(part)), "{part}: {:?}", ran.notes);
        }
        assert!(!ran.notes.iter().any(|note| note.contains("read from the file")), "{:?}", ran.notes);
        assert!(living(shop.data.path()).is_empty());
    }
    assert_eq!(named(shop.data.path(), "firebird-run-").len(), 1);
    // Statements in UTF-8 find what another character set holds; texts of several lines are no errors.
    for sql in ["select 1 / count(*) from c where name = 'Müller'", "select name from c where id in (5, 6)"]
    {
        assert!(shop.measure(sql, None).unwrap().slices[0].0[0].steps > 0);
    }
    let mut small = shop.request(READS, None);
    small.engine_options.extend(options(&[("cache_pages", whole(50))]));
    small.treatment = "small".into();
    let ran = run(&small, 1, 400).unwrap();
    assert!(ran.notes.iter().any(|note| note.contains("cache has 50 pages")), "{:?}", ran.notes);
    assert_eq!(std::fs::read(shop.path()).unwrap(), before);
}

#[test]
#[ignore = "laboratory: servers"]
fn nothing_is_written_unless_the_file_was_named_and_then_only_to_a_copy() {
    let shop = Shop::open("page_size 8192");
    let before = std::fs::read(shop.path()).unwrap();
    let update = "-- :id 1..1000\nupdate c set n = n + 1 where id = :id";
    let message = shop.refusal(update, None);
    assert!(message.contains("UPDATE writes"), "{message}");
    // Words do not show it; the engine does.
    let message = shop.refusal("-- :id 1..5\n\nselect bump(:id) from rdb$database", None);
    assert!(message.contains("line 3") && message.contains("read-only transaction"), "{message}");
    assert!(message.contains("--may-write"), "{message}");
    let other = shop.folder.path().join("other.fdb");
    let message = shop.refusal(update, Some(&other));
    assert!(message.contains("not '") && message.contains("nothing was written"), "{message}");
    // A procedure reaches no other database, not even where it may write.
    for base in [shop.path().display().to_string(), format!("localhost:{}", shop.path().display())] {
        let sql = format!("select elsewhere('{base}') from rdb$database");
        let message = shop.refusal(&sql, Some(&shop.path()));
        assert!(message.contains("line 1"), "{message}");
        assert!(message.contains("not allowed by server") || message.contains("unavailable"), "{message}");
    }

    let path = shop.path();
    let load = shop.request(&format!("{update};\nselect bump(:id) from rdb$database"), Some(&path));
    // Two sessions may change the same row, which ends in an update conflict: each has a transaction of its own.
    let load = LoadRequest { sessions: 1, ..load };
    Firebird.load(&load).unwrap();
    let start = start_request(&load);
    let mut written = 0;
    let ran = work(Firebird.start(&start).unwrap(), &start, 2, 150, |slice| {
        if slice == 1 {
            written = shop.ask("select sum(n) from c").parse().unwrap();
        }
    })
    .unwrap();
    let steps: i64 = ran.slices.iter().map(|(sessions, _)| sessions[0].steps as i64).sum();
    // Those outside of the window are done as well.
    assert!(steps > 0 && written >= 2 * steps && written % 2 == 0, "{written} by {steps}");
    assert!(ran.slices[0].0[0].counters["pages_written"] > 0, "{:?}", ran.slices);
    assert!(ran.notes.iter().any(|note| note.contains("written to, not the file itself")), "{:?}", ran.notes);
    assert_eq!(ran.finished, Ok(()));
    assert!(named(shop.data.path(), "firebird-run-").is_empty(), "a copy that was written to is left");
    assert_eq!(std::fs::read(shop.path()).unwrap(), before);
}

#[test]
#[ignore = "laboratory: servers"]
fn what_is_wrong_with_a_statement_is_told_with_its_line_before_anything_is_measured() {
    let shop = Shop::open("page_size 8192");
    let marker = shop.folder.path().join("hacked");
    let shell = format!("select 1 from c; shell touch {}", marker.display());
    for (sql, parts) in [
        ("select 1 from c;\n\nselect * from nowhere", ["line 3", "NOWHERE"]),
        ("select 1 from c;\nvalues (1)", ["line 2", "Token unknown"]),
        ("select 1 from c;\nselect 1 / n from c order by id", ["line 2", "divide by zero"]),
        ("/* x */ select 1 from c", ["line 1", "begin with a word of SQL"]),
        // isql and the engine take the q for the beginning of a text that has no end.
        ("select 1 from c;\nselect q'{a' from c;\nselect 2 from c", ["line 2", "isql ended"]),
        (&shell, ["line 1", "begins with 'SHELL'"]),
    ] {
        let message = shop.refusal(sql, None);
        assert!(parts.iter().all(|part| message.contains(part)), "{sql}: {message}");
        assert!(!message.contains('\n') && !message.contains("Current memory"), "{message}");
        assert!(living(shop.data.path()).is_empty(), "{sql}");
    }
    // More text, and a longer answer, than a pipe takes at once.
    let long = format!("select '{}' from c;\n", "x".repeat(9000)).repeat(3);
    let long = format!("{long}{}", "select * from c;\n".repeat(50));
    assert!(run(&shop.request(&long, None), 1, 2000).unwrap().slices[0].0[0].steps > 0);
    assert!(!marker.exists());
}

#[test]
#[ignore = "laboratory: servers"]
fn a_file_that_cannot_be_copied_or_measured_is_refused_with_the_reason() {
    let shop = Shop::open("page_size 8192");
    let read = "select count(*) from c";
    let user = shop.user();
    let message = shop.refusal(read, None);
    assert!(message.contains("shop.fdb") && message.contains("has it open"), "{message}");
    drop(user);
    shop.isql(Some(&shop.path()), "create shadow 1 './shop.shd';\ncommit;\n");
    let message = shop.refusal(read, None);
    assert!(message.contains("a shadow, a second file or a difference file"), "{message}");
    std::fs::write(shop.path(), "a text").unwrap();
    assert!(shop.refusal(read, None).contains("not a database of Firebird"));
    assert!(named(shop.data.path(), "firebird-").is_empty(), "something of a refused load is left");
    let mut without = shop.request(read, None);
    without.engine_options.clear();
    let message = Firebird.check(&without).unwrap_err().to_string();
    assert!(message.contains("--engine-option database=/path/to/file.fdb"), "{message}");
    let mut other = request(shop.data.path(), "insert", 1, &[]);
    other.engine_options = options(&[("database", text("/x.fdb"))]);
    let message = Firebird.check(&other).unwrap_err().to_string();
    assert!(message.contains("database") && message.contains("leave it out"), "{message}");
}

#[test]
#[ignore = "laboratory: servers"]
fn a_transaction_that_fails_while_it_is_measured_ends_the_run_with_its_words() {
    let shop = Shop::open("page_size 8192");
    let load = shop.request("select 1 from rdb$database;\nselect 10 / (n + 1) from c where id = 1", None);
    Firebird.load(&load).unwrap();
    let start = start_request(&load);
    let error = work(Firebird.start(&start).unwrap(), &start, 20, 100, |slice| {
        if slice == 0 {
            shop.ask("update c set n = -1; commit");
        }
    })
    .unwrap_err();
    assert!(error.to_string().contains("line 2") && error.to_string().contains("divide by zero."), "{error}");
    assert!(living(shop.data.path()).is_empty() && named(shop.data.path(), "firebird-run-").is_empty());
}

#[test]
#[ignore = "laboratory: servers"]
fn a_mix_draws_values_from_the_copy_and_counts_its_transactions() {
    let shop = Shop::open("page_size 8192");
    let before = std::fs::read(shop.path()).unwrap();
    let csv = shop.folder.path().join("names.csv");
    std::fs::write(&csv, "name\nname 7\nit's\nMüller\n").unwrap();
    let mix = format!(
        "-- :transaction one weight 2\n-- :name from select name from c where id between 10 and 12\n-- :id in {} column \
         name\nselect 1 / count(*) from c where name = :name;\nselect n from c where name = :id;\n\
         -- :transaction two\n\\set id random(1, 5) * 2.0\nselect n from c where id = :id;\n\\sleep 1 ms\nBEGIN;\n\
         select n from c where id < :id;\nEND;\n",
        csv.display()
    );
    // On a busy machine a window may pass without CPU time: another one will do.
    let count = |slice: &SessionSlice, name: &str| {
        slice.counters.get(&format!("script/{name}")).copied().unwrap_or(0)
    };
    let mut tries = (0..40).map(|_| shop.measure(&mix, None).unwrap().slices.remove(0).0.remove(0));
    let slice = tries.find(|slice| count(slice, "one") > 0 && count(slice, "two") > 0).unwrap();
    assert_eq!(count(&slice, "one") + count(&slice, "two"), slice.steps, "{slice:?}");
    for (sql, part) in [
        ("-- :n from select n from nowhere\nselect :n from c", "line 1"),
        ("-- :n from select n from c where id < 0\nselect :n from c", "line 1: it has no values"),
        ("-- :n from select null from c\nselect :n from c", "is NULL"),
        ("-- :n from select '^' || '^shell' from c\nselect :n from c", "has '^^' or a control character"),
        ("\\set a 1\nselect 1 from c where id = 1;\nselect 1 / 0 from c;", "execute line 3"),
    ] {
        let why = shop.refusal(sql, None);
        assert!(why.contains(part), "{sql}: {why}");
    }
    assert!(living(shop.data.path()).is_empty());
    assert_eq!(std::fs::read(shop.path()).unwrap(), before);
}
