//! Files of statements: what they mean, and what is refused.

use super::*;
use proptest::prelude::*;

const POSTGRES: Quoting = Quoting {
    dollars: true,
    nested_comments: true,
    backslashes: false,
    hash_comments: false,
    brackets: false,
    packages: false,
};
const MARIADB: Quoting = Quoting {
    backslashes: true,
    hash_comments: true,
    dollars: false,
    nested_comments: false,
    brackets: false,
    packages: false,
};

fn options(sql: &str, may_write: Option<&str>) -> Options {
    let text = |name: &str, value: &str| (name.to_owned(), OptionValue::Text(value.to_owned()));
    std::iter::once(text(SQL, sql)).chain(may_write.map(|name| text(MAY_WRITE, name))).collect()
}

fn read(sql: &str, quoting: Quoting) -> Result<Transaction, String> {
    Transaction::parse(&options(sql, None), quoting, "").map_err(|error| error.to_string())
}

fn texts(transaction: &Transaction) -> Vec<String> {
    transaction.statements().map(|statement| statement.text(|at| format!("${}", at + 1))).collect()
}

#[test]
fn a_file_has_parameters_and_statements() {
    let sql = "-- What a page of the shop reads.\n-- :id 1..150000\n--  :near -5 .. 5\n\n\
               SELECT name FROM c WHERE id = :id;\n-- the second\nSELECT :near::int + :id, ':id', \":id\" -- :id;\n;\n;";
    let transaction = read(sql, POSTGRES).unwrap();
    let names: Vec<_> =
        transaction.scripts[0].parameters.iter().map(|one| (one.name.as_str(), one.range())).collect();
    assert_eq!(names, [("id", Some([1, 150_000])), ("near", Some([-5, 5]))]);
    assert_eq!(
        texts(&transaction),
        ["SELECT name FROM c WHERE id = $1", "SELECT $2::int + $1, ':id', \":id\""]
    );
    let at: Vec<_> = transaction.statements().map(|one| (one.place.line, one.parameters())).collect();
    assert_eq!(at, [(5, vec![0]), (7, vec![1, 0])]);
    assert!(transaction.is_read_only() && transaction.notes().len() == 1);
}

#[test]
fn texts_and_comments_end_where_the_engine_ends_them() {
    let one = |sql: &str, quoting: Quoting| read(sql, quoting).map(|found| texts(&found));
    for sql in [
        "SELECT 'it''s; :x'",
        "SELECT $a$; ' $b$ :x$a$",
        "SELECT E'\\'; :x'",
        "SELECT /* a /* ; */ :x */ 1",
        "SELECT a[1:2]",
    ] {
        assert_eq!(one(sql, POSTGRES).unwrap(), [sql]);
    }
    for sql in ["SELECT '\\'; :x'", "SELECT 5--3", "SELECT `a;:x`", "SELECT @a := 1"] {
        assert_eq!(one(sql, MARIADB).unwrap(), [sql]);
    }
    // A backslash is a character to the standard.
    assert_eq!(one("SELECT '\\'; SELECT 2", Quoting::default()).unwrap(), ["SELECT '\\'", "SELECT 2"]);
    assert_eq!(one("SELECT 1 # ; :x\n", MARIADB).unwrap(), ["SELECT 1"]);
    let brackets = Quoting { brackets: true, ..Quoting::default() };
    assert_eq!(one("SELECT [a;b]", brackets).unwrap(), ["SELECT [a;b]"]);
    assert_eq!(one("/*+ IndexScan(c) */ SELECT 1", POSTGRES).unwrap(), ["/*+ IndexScan(c) */ SELECT 1"]);
}

#[test]
fn what_is_no_file_of_statements_is_refused_with_its_line() {
    for (sql, part) in [
        ("", "no statement"),
        ("-- :id 1..5\n", "no statement"),
        ("\n\nSELECT 'x", "line 3: a quoted text or name begins there"),
        ("SELECT /* x", "a comment begins there"),
        ("SELECT $a$ x", "a text between dollars"),
        ("-- :id 5..1\nSELECT :id", "line 1: ':id 5..1' is not a parameter"),
        ("-- :id\nSELECT :id", "line 1: ':id' is not a parameter"),
        ("-- :id 1..99999999999999999999\nSELECT :id", "is not a parameter"),
        ("-- :a 1..2\n-- :a 1..2\nSELECT :a", "line 2: the parameter :a is declared twice"),
        ("-- :a 1..2\nSELECT 1", "no statement uses the parameter :a"),
        ("SELECT\n:b", "line 2: the head has no values for :b"),
        ("SELECT 1;\nCOMMIT", "line 2: COMMIT: threadwise begins and ends"),
        ("\\d t", "line 1: \\d is not a command of pgbench"),
        ("DROP TABLE t", "begins with 'DROP'"),
        ("SET x = 1", "begins with 'SET'"),
        ("COPY t TO PROGRAM 'x'", "begins with 'COPY'"),
        ("5", "begins with '5'"),
        ("+ SELECT 1", "begins with '+'"),
        ("SELECT 1\0", "zero byte"),
        ("SELECT a INTO b FROM c", "INTO creates a table or a file"),
    ] {
        let message = read(sql, POSTGRES).unwrap_err();
        assert!(message.contains(part), "{sql}: {message}");
    }
    assert!(read("SELECT 1 INTO OUTFILE '/x'", MARIADB).unwrap_err().contains("INTO"));
    assert!(read("SELECT 1 /*!50000 , 2 */", MARIADB).unwrap_err().contains("executed"));
    assert!(read("SELECT 1 /*M! , 2 */", MARIADB).unwrap_err().contains("executed"));
    let many = "SELECT 1;".repeat(101);
    assert!(read(&many, POSTGRES).unwrap_err().contains("101 statements"));
    assert!(read(&"x".repeat(70_000), POSTGRES).unwrap_err().contains("70000 bytes"));
    let none = Transaction::parse(&Options::new(), POSTGRES, "").unwrap_err().to_string();
    assert!(none.contains("--transaction FILE.sql"), "{none}");
}

#[test]
fn what_writes_or_locks_needs_the_name_of_the_database() {
    for (sql, why) in [
        ("INSERT INTO t VALUES (1)", "INSERT writes"),
        ("replace into t values (1)", "REPLACE writes"),
        ("WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d", "DELETE writes"),
        ("SELECT * FROM t FOR UPDATE", "FOR UPDATE locks rows"),
        ("SELECT * FROM t FOR /* x */ SHARE", "FOR SHARE locks rows"),
        ("SELECT * FROM t LOCK IN SHARE MODE", "LOCK IN locks rows"),
        ("(SELECT 1); merge into t using s on true when matched then do nothing", "MERGE writes"),
    ] {
        let message = read(sql, POSTGRES).unwrap_err();
        assert!(message.contains(why) && message.contains("--may-write DATABASE"), "{sql}: {message}");
        let named = Transaction::parse(&options(sql, Some("shop")), POSTGRES, "").unwrap();
        assert!(!named.is_read_only() && named.expect_database("shop").is_ok());
        let other = named.expect_database("shop2").unwrap_err().to_string();
        assert!(other.contains("'shop2', not 'shop'"), "{other}");
    }
    // Quoted, a word is a name.
    for sql in ["SELECT \"update\", 'DELETE', replace('a', 'b', 'c') FROM t", "SELECT lock, share FROM t"] {
        assert!(read(sql, POSTGRES).is_ok(), "{sql}");
    }
    assert!(read("SELECT `insert` FROM t", MARIADB).is_ok());
    assert!(read("TABLE t", POSTGRES).unwrap().expect_database("any").is_ok());
}

#[test]
fn packages_are_called_without_parentheses_and_links_lead_elsewhere() {
    let packages = Quoting { packages: true, ..Quoting::default() };
    let list = "[always]\ndbms_lock.* takes a lock\n[without --may-write]\n*.nextval counts";
    let read = |sql: &str, may_write| Transaction::parse(&options(sql, may_write), packages, list);
    for (sql, why) in [
        ("SELECT 1 FROM dual;\nSELECT SYS.DBMS_LOCK.f FROM dual", "line 2: f() takes a lock"),
        ("SELECT dbms_lock . \"F\" FROM dual", "takes a lock"),
        ("SELECT s.nextval FROM dual", "nextval() counts"),
        ("SELECT x FROM t@far", "with @ is in another database"),
        ("SELECT q'[a]b' FROM dual", "does not end"),
    ] {
        let message = read(sql, None).unwrap_err().to_string();
        assert!(message.contains(why), "{sql}: {message}");
    }
    assert!(read("SELECT s.nextval FROM dual", Some("shop")).is_ok());
    for text in ["q'[s.nextval; it's]'", "Nq'!a@b;!'", "'a@b'", "t.q, q", "q'(dbms_lock.f)'"] {
        assert_eq!(read(&format!("SELECT {text} FROM t"), None).unwrap().statements().count(), 1, "{text}");
    }
}

fn draws(transaction: &Transaction, seed: u64, session: u32) -> Draws {
    Draws::new(transaction, &Lists::default(), seed, session)
}

fn whole(value: &BindValue) -> i64 {
    match value {
        BindValue::Whole(number) => *number,
        other => panic!("{other:?}"),
    }
}

#[test]
fn draws_are_seeded_per_session_and_fill_their_ranges() {
    let sql = "-- :a 1..3\n-- :b -9223372036854775808..9223372036854775807\n-- :c 7..7\nSELECT :a, :b, :c";
    let transaction = read(sql, POSTGRES).unwrap();
    let take = |seed, session| {
        let mut draws = draws(&transaction, seed, session);
        let values = |drawn: Drawn| drawn.values.iter().map(whole).collect::<Vec<_>>();
        (0..3000).map(|_| values(draws.draw().unwrap())).collect::<Vec<_>>()
    };
    let drawn = take(1, 0);
    assert_eq!(drawn, take(1, 0));
    assert!(drawn != take(1, 1) && drawn != take(2, 0));
    for value in 1..=3 {
        let count = drawn.iter().filter(|values| values[0] == value).count();
        assert!((900..1100).contains(&count), "{count}");
    }
    assert!(drawn.iter().all(|values| values[2] == 7));
    let below = drawn.iter().filter(|values| values[1] < 0).count();
    assert!((1400..1600).contains(&below), "{below}");
}

const MIX: &str = "-- Two pages.\n-- :transaction pay weight 3\n-- :id 1..1000 zipf 1.2\n-- :think 5..20 ms\n\
                   SELECT 1 WHERE 1 = :id;\n\n-- :transaction look weight 7\n-- :id 5..5\nSELECT ':transaction x';\n\
                   SELECT :id\n";

#[test]
fn a_mix_has_transactions_by_weight() {
    let mix = read(MIX, POSTGRES).unwrap();
    let scripts: Vec<_> = mix.scripts.iter().map(|one| (one.name.as_str(), one.weight)).collect();
    assert_eq!(scripts, [("pay", 3), ("look", 7)]);
    assert!(mix.has_think_time() && !read("SELECT 1", POSTGRES).unwrap().has_think_time());
    assert_eq!((mix.scripts[0].round_trips(), mix.scripts[1].round_trips()), (3, 4));
    let mut draws = draws(&mix, 1, 0);
    let drawn: Vec<Drawn> = (0..10_000).map(|_| draws.draw().unwrap()).collect();
    let pays: Vec<&Drawn> = drawn.iter().filter(|one| one.script == 0).collect();
    assert!((2800..3200).contains(&pays.len()), "{}", pays.len());
    assert!(pays.iter().all(|one| (5_000_000..=20_000_000).contains(&one.think_ns)));
    assert!(drawn.iter().all(|one| one.script == 0 || (one.think_ns == 0 && whole(&one.values[0]) == 5)));
    let firsts = pays.iter().filter(|one| whole(&one.values[0]) == 1).count();
    // Of the 1,000 ranks with exponent 1.2 the first has about 23%.
    assert!((600..800).contains(&firsts), "{firsts}");
}

#[test]
fn what_is_no_mix_is_refused_with_its_place() {
    for (sql, part) in [
        ("SELECT 1;\n-- :transaction a\nSELECT 1", "line 1: statements stand before the first line"),
        ("-- :id 1..2\n-- :transaction a\nSELECT :id", "line 1: it stands before the first line"),
        ("-- :transaction a\n-- :transaction b\nSELECT 1", "line 1: it has no statement"),
        (
            "-- :transaction a\nSELECT 1;\n-- :transaction a\nSELECT 1",
            "line 3: two transactions are called a",
        ),
        ("-- :transaction a weight x\nSELECT 1", "line 1: ':transaction a weight x' is not a transaction"),
        (
            "-- :transaction a\nSELECT :id;\n-- :transaction b\n-- :id 1..2\nSELECT :id",
            "line 2: the head has no",
        ),
        ("-- :think 1 ms\n-- :think 2 ms\nSELECT 1", "line 2: a second think time"),
        (
            "-- :define scale 1\nSELECT 1",
            "no pgbench script uses --define scale: a parameter has its values in the head, such as -- :scale 1..1000",
        ),
        ("-- :p1 FILL IN (integer)\nSELECT :p1", "line 1: the values of :p1 (integer) are not filled in yet"),
        (
            "-- :c from DELETE FROM t RETURNING 1\nSELECT :c",
            "line 1: DELETE writes, and a query of values only",
        ),
        ("-- :c from DROP TABLE t\nSELECT :c", "line 1: a statement begins with 'DROP'"),
        ("-- :c from SELECT 1; SELECT 2\nSELECT :c", "one query gives a column"),
        ("-- :c from SELECT :d\nSELECT :c", "a query of values has no parameters"),
        ("-- :file a.sql\n-- :file b.sql\nSELECT 1", "a.sql line 1: it has no statement"),
        ("SELECT 1;\n-- :file a.sql\nSELECT 1", "line 1: statements stand before"),
        ("-- :file a.sql\nSELECT 'x\n-- :file b.sql\nSELECT 'y'", "a.sql line 1: a quoted text"),
        ("-- :file a.sql weight 0\nSELECT 1", "line 1: write -- :file NAME, or -- :file NAME weight 1"),
    ] {
        let message = read(sql, POSTGRES).unwrap_err();
        assert!(message.contains(part), "{sql}: {message}");
    }
    let many: String = (0..101).map(|at| format!("-- :transaction t{at}\nSELECT 1;\n")).collect();
    assert!(read(&many, POSTGRES).unwrap_err().contains("more than 100 transactions"));
    let writes = "-- :file a.sql\nSELECT 1\n-- :file b.sql\n\nDELETE FROM t";
    assert!(read(writes, POSTGRES).unwrap_err().contains("b.sql line 2: DELETE writes"));
}

#[test]
fn files_become_one_text() {
    let file = |name, weight, text| MixFile { name, weight, text };
    let alone = file("a.sql", None, "SELECT 1");
    assert_eq!(join(&[alone], &[]).unwrap(), "SELECT 1");
    let scale = [("scale".to_owned(), "10".to_owned())];
    let pgbench = file("tpcb.sql", Some(3), "\\set a random(1, 2 * :scale)\nSELECT :a;\n");
    let text = join(&[pgbench, file("x/tpcb.sql", None, "-- :b 1..2\nSELECT :b")], &scale).unwrap();
    let mix = read(&text, POSTGRES).unwrap();
    let scripts: Vec<_> = mix.scripts.iter().map(|one| (one.name.as_str(), one.weight)).collect();
    assert_eq!(scripts, [("tpcb", 3), ("tpcb-2", 1)]);
    assert_eq!(mix.statements().next().unwrap().place.to_string(), "tpcb.sql line 2");
    // A text that was joined is one file.
    assert_eq!(join(&[file("m.sql", None, &text)], &[]).unwrap(), text);
    for (files, defines, part) in [
        (vec![file("m.sql", Some(2), text.as_str())], vec![], "m.sql: it is a text of several files already"),
        (vec![file("a.sql", Some(0), "SELECT 1")], vec![], "a.sql: a weight is a whole number from 1"),
        (vec![alone], vec![("scale", "x")], "--define scale=x is not a name and a number"),
        (vec![alone], vec![("s", "1\n2")], "is not a name and a number"),
    ] {
        let defines: Vec<_> =
            defines.into_iter().map(|(name, number)| (name.to_owned(), number.to_owned())).collect();
        let why = join(&files, &defines).unwrap_err();
        assert!(why.contains(part), "{why}");
    }
    let weighted = join(&[file("m.sql", Some(2), MIX)], &[]).unwrap();
    assert!(read(&weighted, POSTGRES).unwrap_err().contains("weights of their own"));
}

#[test]
fn values_come_from_queries_and_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("c.csv"), "city,n\nUlm,1\nBonn,2\n").unwrap();
    let sql = "-- :n from SELECT n FROM t;\n-- :city in c.csv column city zipf 3\nSELECT :n, :city";
    let pinned = pin_files(sql, folder.path()).unwrap();
    let line = pinned.lines().nth(1).unwrap();
    assert!(line.contains("/c.csv column \"city\" zipf 3 (2 values, sha256 "), "{line}");
    assert_eq!(pin_files(&pinned, std::path::Path::new("/")).unwrap(), pinned);
    let mix = read(&pinned, POSTGRES).unwrap();
    assert!(mix.has_lists() && mix.queries().count() == 1);
    let query = |statement: &Statement| {
        assert_eq!(statement.text(|_| String::new()), "SELECT n FROM t");
        let mut values = ColumnValues::default();
        [9, 8].into_iter().try_for_each(|number| values.add(Some(BindValue::Whole(number)))).unwrap();
        Ok(values)
    };
    let lists = mix.read_lists(query).unwrap();
    let mut draws = Draws::new(&mix, &lists, 1, 0);
    let drawn: Vec<Vec<BindValue>> = (0..2000).map(|_| draws.draw().unwrap().values).collect();
    assert!(drawn.iter().all(|values| [8, 9].contains(&whole(&values[0]))));
    let ulms = drawn.iter().filter(|values| values[1] == BindValue::Text("Ulm".into())).count();
    // 1 of 1 + 1/8.
    assert!((1700..1850).contains(&ulms), "{ulms}");
    let none = mix.read_lists(|_| Ok(ColumnValues::default())).unwrap_err().to_string();
    assert!(none.contains("line 1: it has no values"), "{none}");
    std::fs::write(folder.path().join("c.csv"), "city,n\nUlm,1\nBonn,3\n").unwrap();
    let changed = mix.read_lists(query).unwrap_err().to_string();
    assert!(
        changed.contains("line 2") && changed.contains("has changed since the study was made"),
        "{changed}"
    );
    assert!(pin_files(&pinned, folder.path()).unwrap_err().contains("line 2"));
    assert!(
        pin_files("-- :c in none.csv column 1", folder.path()).unwrap_err().contains("none.csv cannot be")
    );
}

#[test]
fn only_lines_of_a_head_are_pinned() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("c.csv"), "1\n2\n").unwrap();
    let line = "-- :c in c.csv column 1\n";
    let missing = "  -- :c in none.csv column 1\n";
    // In a comment and in a string of a statement.
    for body in [format!("SELECT 1\n{missing}FROM t;\n"), format!("SELECT '\n{line}';\n")] {
        assert_eq!(pin_files(&body, folder.path()).unwrap(), body);
        for head in ["-- :think 1 ms\n\n", "-- :transaction a weight 2\n", "-- :file a.sql\n"] {
            let text = format!("{body}{head}{line}{body}");
            let pinned = pin_files(&text, folder.path()).unwrap();
            let count = pinned.matches("(2 values, sha256 ").count();
            // A head begins a text, a file or a transaction.
            assert_eq!(count, usize::from(!head.contains("think")), "{pinned}");
            assert!(pinned.starts_with(&body) && pinned.ends_with(&body), "{pinned}");
        }
    }
    let head = format!("-- a comment\n\n{line}-- :think 1 ms\n  {line}SELECT :c");
    assert_eq!(pin_files(&head, folder.path()).unwrap().matches("sha256").count(), 2);
}

/// The built-in scripts, as the documentation of pgbench has them.
const TPCB_LIKE: &str = "\\set aid random(1, 100000 * :scale)\n\\set bid random(1, 1 * :scale)\n\
\\set tid random(1, 10 * :scale)\n\\set delta random(-5000, 5000)\nBEGIN;\n\
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n\
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n\
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n\
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n\
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n\
END;\n";
const SELECT_ONLY: &str =
    "\\set aid random(1, 100000 * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";

fn pgbench(script: &str) -> Result<Transaction, String> {
    let text = format!("-- :define scale 10\n-- :file s.sql\n{script}");
    Transaction::parse(&options(&text, Some("bench")), POSTGRES, "").map_err(|error| error.to_string())
}

#[test]
fn scripts_of_pgbench_mean_what_they_mean_to_pgbench() {
    let tpcb = pgbench(TPCB_LIKE).unwrap();
    let script = &tpcb.scripts[0];
    assert_eq!((script.name.as_str(), script.statements.len(), script.steps.len()), ("s", 5, 7));
    assert!(script.steps[0] == Step::Begin && script.steps[6] == Step::End);
    let insert = script.statements[4].text(|at| format!(":{}", script.parameters[at].name));
    assert!(insert.ends_with("VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP)"), "{insert}");
    let mut draws = draws(&tpcb, 1, 4);
    for _ in 0..500 {
        let values = draws.draw().unwrap().values;
        let value =
            |name: &str| whole(&values[script.parameters.iter().position(|one| one.name == name).unwrap()]);
        assert!((1..=1_000_000).contains(&value("aid")) && (1..=10).contains(&value("bid")));
        assert!((1..=100).contains(&value("tid")) && (-5000..=5000).contains(&value("delta")));
        assert_eq!((value("client_id"), value("scale")), (4, 10));
    }
    let select = pgbench(SELECT_ONLY).unwrap();
    assert_eq!(select.scripts[0].steps, [Step::Begin, Step::Statement(0), Step::End]);
    // Outside of BEGIN each statement is a transaction; a later \set counts from there on; a comment is a comment.
    let several = pgbench(
        "-- :aid is an account\n\\set x 1\nSELECT :x; select 2\n\\set x :x + \\\n 1\n\\sleep :x ms\nbegin;\nSELECT \
         :x;\nend transaction;\n",
    )
    .unwrap();
    let script = &several.scripts[0];
    let begins = script.steps.iter().filter(|step| **step == Step::Begin).count();
    assert_eq!((begins, script.statements.len(), script.round_trips()), (3, 3, 9));
    let values = Draws::new(&several, &Lists::default(), 1, 0).draw().unwrap().values;
    let of = |at: usize| whole(&values[script.statements[at].parameters()[0]]);
    assert_eq!((of(0), of(2)), (1, 2));
    let sleep = script.steps.iter().find_map(|step| match step {
        Step::Sleep(sleep) => Some(sleep.length_ns(&values)),
        _ => None,
    });
    assert_eq!(sleep, Some(Ok(2_000_000)));
}

#[test]
fn what_pgbench_has_and_this_has_not_is_refused_by_name() {
    for (script, part) in [
        (
            "\\setshell x echo 1\nSELECT 1",
            "s.sql line 1: \\setshell of pgbench is not taken: no program is run",
        ),
        ("\\shell rm x 'y\nSELECT 'a'", "s.sql line 2: a quoted text"),
        ("\\startpipeline\nSELECT 1;\n\\endpipeline", "\\startpipeline of pgbench is not taken"),
        ("SELECT 1;\n\\endpipeline", "line 2: \\endpipeline"),
        ("\\set x 1\nSELECT 1 AS y \\gset\nSELECT :y", "line 2: \\gset of pgbench is not taken"),
        ("SELECT 1 AS y\n\\aset", "line 2: \\aset"),
        ("\\if 1\nSELECT 1;\n\\endif", "line 1: \\if of pgbench is not taken"),
        ("\\foo\nSELECT 1", "line 1: \\foo is not a command of pgbench that is taken"),
        ("\\set\nSELECT 1", "\\set needs a name"),
        ("\\set x\nSELECT 1", "there is no expression"),
        ("\\set x hash(1)\nSELECT 1", "line 1: 'hash' is not taken"),
        (
            "\\set x :other\nSELECT 1",
            "the variable :other has no value: give it one with --define other=NUMBER",
        ),
        ("\\set x 1\nSELECT :other", "line 2: the variable :other has no value"),
        ("\\set x 1\n", "it has no statement"),
        ("\\set x 1\nBEGIN;\nSELECT 1;", "line 2: BEGIN has no END"),
        ("\\set x 1\nBEGIN;\nBEGIN;\nSELECT 1;\nEND;", "line 3: BEGIN inside"),
        ("\\set x 1\nSELECT 1;\nEND;", "line 3: END without BEGIN"),
        ("\\set x 1\nBEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT 1;\nEND;", "write BEGIN alone"),
        ("\\set x 1\nROLLBACK;", "ROLLBACK: threadwise begins and ends"),
        ("\\set x 1\nVACUUM t;", "begins with 'VACUUM'"),
        ("\\sleep\nSELECT 1", "\\sleep needs"),
        ("\\sleep 5 h\nSELECT 1", "\\sleep needs"),
        ("\\sleep 5 ms x\nSELECT 1", "\\sleep needs"),
        ("\\sleep 61\nSELECT 1", "at most 60 s"),
    ] {
        let why = pgbench(script).unwrap_err();
        assert!(why.contains(part), "{script}: {why}");
    }
    // Only when it runs is it known.
    let mut draws = draws(&pgbench("\\set x 1 / (:client_id - :client_id)\nSELECT :x").unwrap(), 1, 0);
    assert!(draws.draw().unwrap_err().to_string().contains("s.sql line 1: division by zero"));
    let reads = Transaction::parse(&options(TPCB_LIKE, None), POSTGRES, "").unwrap_err().to_string();
    assert!(reads.contains("--define scale=NUMBER"), "{reads}");
    let reads = format!("-- :define scale 1\n{TPCB_LIKE}");
    let reads = Transaction::parse(&options(&reads, None), POSTGRES, "").unwrap_err().to_string();
    assert!(reads.contains("line 7: UPDATE writes") && reads.contains("--may-write DATABASE"), "{reads}");
}

#[test]
fn a_draft_has_what_can_be_taken_and_says_why_not() {
    use draft::{Rules, TopStatement, write};
    let top = |text: &str, calls, types: Result<&[&str], &str>| TopStatement {
        text: text.to_owned(),
        calls,
        total_ms: 250.0,
        types: types.map(|types| types.iter().map(|one| (*one).to_owned()).collect()).map_err(str::to_owned),
    };
    let all = [
        top("SELECT a, '$2', \"b;\" FROM t WHERE id = $1 AND $1 > $2::int;", 5, Ok(&["bigint", "integer"])),
        top("UPDATE t SET a = $1\nWHERE b", 3, Ok(&["integer"])),
        top("COMMIT", 3, Ok(&[])),
        top("SELECT interval $1", 2, Err("syntax error\nat $1")),
        top("SELECT count(*) FROM t", 7, Ok(&[])),
        top("SELECT pg_reload_conf()", 7, Ok(&[])),
        top("SELECT a[$1:$2] || $3 FROM t", 1, Ok(&["integer", "integer", "text"])),
        top("SELECT $1$2", 1, Ok(&["integer", "integer"])),
    ];
    let list = "[always]\npg_reload_conf makes it read its configuration";
    let rules = |may_write| Rules { quoting: POSTGRES, outlive_rollback: list, may_write };
    let draft = write("pg_stat_statements", &all, 1000.0, rules(false));
    for part in [
        "-- :transaction statement-1 weight 5\n-- 25.0% of the time, 5 calls, 50.000 ms each\n\
         -- :p1 FILL IN (bigint)\n-- :p2 FILL IN (integer)\n\
         SELECT a, '$2', \"b;\" FROM t WHERE id = :p1 AND :p1 > :p2::int;\n",
        "UPDATE writes; --may-write DATABASE takes it too\n-- | UPDATE t SET a = $1\n-- | WHERE b\n",
        "COMMIT: threadwise begins",
        "the server does not prepare it: syntax error at $1\n-- | SELECT interval $1\n",
        "weight 7\n-- 25.0% of the time, 7 calls, 35.714 ms each\nSELECT count(*) FROM t;\n",
        "pg_reload_conf() makes it read",
        "SELECT a[:p1: :p2] || :p3 FROM t;\n",
        "its parameters cannot be written as names\n-- | SELECT $1$2\n",
    ] {
        assert!(draft.contains(part), "{part}\n{draft}");
    }
    let unfilled = read(&draft, POSTGRES).unwrap_err();
    assert!(unfilled.contains("line 7: the values of :p1 (bigint) are not filled in yet"), "{unfilled}");
    let filled = draft.replace("FILL IN (bigint)", "1..10").replace("FILL IN (integer)", "1..10 zipf 1.2");
    let filled = filled.replace("FILL IN (text)", "from SELECT a FROM t");
    let mix = read(&filled, POSTGRES).unwrap();
    let scripts: Vec<_> = mix.scripts.iter().map(|one| (one.name.as_str(), one.weight)).collect();
    assert_eq!(scripts, [("statement-1", 5), ("statement-5", 7), ("statement-7", 1)]);
    let writes = write("pg_stat_statements", &all, 1000.0, rules(true));
    assert!(writes.contains("UPDATE t SET a = :p1\nWHERE b;\n"), "{writes}");
    let often = [top("SELECT 1", 4_000_000_000, Ok(&[])), top("SELECT 2", 10, Ok(&[]))];
    let draft = write("x", &often, 1000.0, rules(false));
    assert!(
        draft.contains("statement-1 weight 1000000\n") && draft.contains("statement-2 weight 1\n"),
        "{draft}"
    );
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_and_nothing_of_it_is_lost(
        text in "(-- :(transaction|define|think|file|a) )?[-a-zA-Z:;'\"$/*#\\\\\\[\\]`0-9. \nü]{0,60}", flags in any::<[bool; 6]>()
    ) {
        let [backslashes, dollars, nested_comments, hash_comments, brackets, packages] = flags;
        let quoting = Quoting { backslashes, dollars, nested_comments, hash_comments, brackets, packages };
        if let Ok(tokens) = lexer::tokens(&text, quoting) {
            let together: String = tokens.iter().map(|token| token.text).collect();
            prop_assert_eq!(&together, &text);
        }
        let message = match read(&text, quoting) {
            Ok(transaction) => {
                prop_assert!(transaction.statements().count() > 0);
                String::new()
            }
            Err(message) => message,
        };
        prop_assert!(!message.contains('\n') || text.contains('\n'));
    }

    #[test]
    fn a_draft_of_any_statements_has_only_what_was_taken(
        texts in proptest::collection::vec("(SELECT |UPDATE t SET )?[-a-z:;'\"$/*1-3 ,()\r\n]{0,40}", 1..4),
        may_write: bool
    ) {
        use draft::{Rules, TopStatement, write};
        let one = |text: &String| TopStatement {
            text: text.clone(),
            calls: 3,
            total_ms: 1.0,
            types: Ok(vec!["integer".to_owned()]),
        };
        let top: Vec<TopStatement> = texts.iter().map(one).collect();
        let draft = write("x", &top, 3.0, Rules { quoting: POSTGRES, outlive_rollback: "", may_write });
        let sections = draft.lines().filter(|line| line.starts_with("-- :transaction statement-")).count();
        let filled: Vec<String> =
            draft.lines().map(|line| line.split(" FILL IN").next().unwrap_or("").to_owned()).collect();
        let filled = filled.iter().map(|line| match line.strip_prefix("-- :p") {
            Some(number) if number.bytes().all(|byte| byte.is_ascii_digit()) => format!("{line} 1..2\n"),
            _ => format!("{line}\n"),
        });
        let named = may_write.then_some("shop");
        let parsed = Transaction::parse(&options(&filled.collect::<String>(), named), POSTGRES, "");
        match parsed {
            Ok(mix) => prop_assert_eq!(mix.scripts.len(), sections),
            Err(why) => prop_assert!(sections == 0, "{}\n{}", why, draft),
        }
    }
}
