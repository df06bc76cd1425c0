//! Two databases of Firebird compared outside of a reload, as a work list compares an item with its result.

use crate::lab_servers::firebird::support::place;
use std::collections::BTreeMap;
use threadwise_reload::firebird::same_rows;

/// A value of every kind that a column of Firebird 3 can have, in one row; empty ones in the other; more
/// columns than a text of 8,191 letters could name.
fn script() -> String {
    let many: String = (0..120).map(|n| format!(", a_column_with_a_long_name_{n} integer")).collect();
    format!(
        "create table \"odd \"\"table\"\"\" (id integer not null primary key, s smallint, b bigint,
           n numeric(18, 4), f float, d double precision, c char(10), v varchar(40) character set win1252,
           o char(4) character set octets, t blob sub_type text, r blob sub_type binary, flag boolean,
           on_day date, at_time time, stamp timestamp, doubled computed by (id * 2), grid integer [1:3]{many});
         create table empty_one (x integer);
         create view seen as select id from \"odd \"\"table\"\"\";
         commit;
         insert into \"odd \"\"table\"\"\" (id, s, b, n, f, d, c, v, o, t, r, flag, on_day, at_time, stamp)
           values (1, -5, 9223372036854775807, -1.5, 0.1, 1e300, 'ch', 'größer', x'00ff0001', 'text', x'00ff',
             true, date '2000-02-29', time '23:59:59', timestamp '2001-01-01 00:00:00');
         insert into \"odd \"\"table\"\"\" (id) values (2);
         commit;"
    )
}

const PLAIN: &str = "create table plain (id integer, v varchar(20)); commit;
    insert into plain values (1, 'text'); insert into plain values (2, null); commit;";

/// What changes one value of the tables of [`script`], and what changes it back.
const CHANGES: [(&str, &str); 4] = [
    ("b = 0 where id = 2", "b = null where id = 2"),
    ("o = x'00ff0002' where id = 1", "o = x'00ff0001' where id = 1"),
    ("r = x'00fe' where id = 1", "r = x'00ff' where id = 1"),
    ("t = 'texd' where id = 1", "t = 'text' where id = 1"),
];

#[test]
#[ignore = "laboratory: servers"]
fn a_restored_copy_is_the_same_until_one_value_differs() {
    let place = place();
    let folder = place.path("");
    let same = || same_rows(&folder, "old", "new", &BTreeMap::new());
    for (owner, script, table, changes) in [
        ("SYSDBA", script(), r#""odd ""table""""#, &CHANGES[..]),
        // Whoever restores owns the new one.
        ("\"Mike the 2nd\"", script(), r#""odd ""table""""#, &CHANGES[..1]),
        ("MIKE", PLAIN.to_owned(), "plain", &[("v = 'texd' where id = 1", "v = 'text' where id = 1")][..]),
    ] {
        place.create("old", owner, "default character set utf8", &script);
        if table == "plain" {
            place.tool("gfix", &["-sql_dialect", "1", "-user", "SYSDBA", "old"]);
        }
        place.tool("gbak", &["-b", "-t", "-user", "SYSDBA", "old", "backup"]);
        place.tool("gbak", &["-c", "-user", "SYSDBA", "backup", "new"]);
        assert_eq!(same().unwrap_or_else(|error| panic!("{owner}: {error}")).rows, 2, "{owner}");
        let change = |set: &str| {
            place.sql(&folder.join("new"), &format!("update {table} set {set}; commit;")).unwrap();
        };
        for (one, back) in changes {
            change(one);
            let error = same().unwrap_err().to_string();
            assert!(error.contains("differs: `contents"), "{owner} {one}: {error}");
            change(back);
        }
        same().unwrap_or_else(|error| panic!("{owner}, changed back: {error}"));
        for name in ["old", "new", "backup"] {
            std::fs::remove_file(folder.join(name)).unwrap();
        }
    }
}
