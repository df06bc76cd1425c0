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
    transaction.statements.iter().map(|statement| statement.text(|at| format!("${}", at + 1))).collect()
}

#[test]
fn a_file_has_parameters_and_statements() {
    let sql = "-- What a page of the shop reads.\n-- :id 1..150000\n--  :near -5 .. 5\n\n\
               SELECT name FROM c WHERE id = :id;\n-- the second\nSELECT :near::int + :id, ':id', \":id\" -- :id;\n;\n;";
    let transaction = read(sql, POSTGRES).unwrap();
    let names: Vec<_> =
        transaction.parameters.iter().map(|one| (one.name.as_str(), one.low, one.high)).collect();
    assert_eq!(names, [("id", 1, 150_000), ("near", -5, 5)]);
    assert_eq!(
        texts(&transaction),
        ["SELECT name FROM c WHERE id = $1", "SELECT $2::int + $1, ':id', \":id\""]
    );
    let at: Vec<_> = transaction.statements.iter().map(|one| (one.line, one.parameters())).collect();
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
        ("SELECT\n:b", "line 2: the head of the file has no range for :b"),
        ("SELECT 1;\nCOMMIT", "line 2: COMMIT: threadwise begins and ends"),
        ("\\set id 5", "psql"),
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
        assert_eq!(read(&format!("SELECT {text} FROM t"), None).unwrap().statements.len(), 1, "{text}");
    }
}

#[test]
fn draws_are_seeded_per_session_and_fill_their_ranges() {
    let sql = "-- :a 1..3\n-- :b -9223372036854775808..9223372036854775807\n-- :c 7..7\nSELECT :a, :b, :c";
    let transaction = read(sql, POSTGRES).unwrap();
    let take = |seed, session| {
        let mut draws = Draws::new(&transaction, seed, session);
        (0..3000).map(|_| draws.draw()).collect::<Vec<_>>()
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

proptest! {
    #[test]
    fn any_text_is_read_or_refused_and_nothing_of_it_is_lost(
        text in "[-a-zA-Z:;'\"$/*#\\\\\\[\\]`0-9. \nü]{0,60}", flags in any::<[bool; 6]>()
    ) {
        let [backslashes, dollars, nested_comments, hash_comments, brackets, packages] = flags;
        let quoting = Quoting { backslashes, dollars, nested_comments, hash_comments, brackets, packages };
        if let Ok(tokens) = lexer::tokens(&text, quoting) {
            let together: String = tokens.iter().map(|token| token.text).collect();
            prop_assert_eq!(&together, &text);
        }
        let message = match read(&text, quoting) {
            Ok(transaction) => {
                prop_assert!(!transaction.statements.is_empty());
                String::new()
            }
            Err(message) => message,
        };
        prop_assert!(!message.contains('\n') || text.contains('\n'));
    }
}
