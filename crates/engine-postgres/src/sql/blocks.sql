-- {table}: one row a block. A row is longer than 5% of a block, and fillfactor 10 keeps 90% of each block
-- free, so that no block takes a second row (RelationGetBufferForTuple in hio.c); the free space takes
-- the versions that updates leave, on the row's own block (HOT).
-- a + b is fixed for every key; an update moves 1 from b to a.
CREATE TABLE {table} (
    k       integer NOT NULL,
    a       integer NOT NULL,
    b       integer NOT NULL,
    payload text    NOT NULL
) WITH (fillfactor = 10, autovacuum_enabled = off);
-- Neither compressed nor moved to another table.
ALTER TABLE {table} ALTER COLUMN payload SET STORAGE PLAIN;
