-- {table}: the table of the published measurements. c4 is 0 in rows that were there before, and the
-- session's number + 1 in rows that it inserted.
?unlogged CREATE UNLOGGED TABLE {table} (
?!unlogged CREATE TABLE {table} (
    c1 bigint    NOT NULL,
    c2 timestamp NOT NULL,
    c3 char(111) NOT NULL,
    c4 integer   NOT NULL,
    c5 integer   NOT NULL,
    c6 bigint    NOT NULL
) WITH (autovacuum_enabled = off)
