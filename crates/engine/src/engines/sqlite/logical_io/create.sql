-- One row fills more than half a page, so that no leaf can hold two.
-- value + twin is fixed for every key; an update moves 1 from twin to value.
-- The small columns come before the payload, so that reading them touches no payload.
CREATE TABLE facts (
    version     INTEGER NOT NULL,
    blocks      INTEGER NOT NULL,
    seed        INTEGER NOT NULL,
    table_pages INTEGER NOT NULL
);
CREATE TABLE blocks (
    k       INTEGER NOT NULL,
    value   INTEGER NOT NULL,
    twin    INTEGER NOT NULL,
    payload BLOB    NOT NULL
);
