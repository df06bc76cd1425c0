-- c1 is the rowid itself, so the table is one B-tree in key order: a clustered key and no second index.
-- SQLite has neither timestamp nor char(111): microseconds since 1970, and a text of 111 characters.
CREATE TABLE facts (
    version   INTEGER NOT NULL,
    seed_rows INTEGER NOT NULL,
    seed      INTEGER NOT NULL,
    key_sum   INTEGER NOT NULL
);
CREATE TABLE inserts (
    c1 INTEGER PRIMARY KEY,
    c2 INTEGER NOT NULL,
    c3 TEXT    NOT NULL,
    c4 INTEGER NOT NULL,
    c5 INTEGER NOT NULL,
    c6 INTEGER NOT NULL
);
