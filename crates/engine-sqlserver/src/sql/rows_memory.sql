-- The same table in memory, its key found by a hash.
CREATE TABLE {table} (
    c1 bigint       NOT NULL PRIMARY KEY NONCLUSTERED HASH WITH (BUCKET_COUNT = {buckets}),
    c2 datetime2(7) NOT NULL,
    c3 char(111)    NOT NULL,
    c4 int          NOT NULL,
    c5 int          NOT NULL,
    c6 bigint       NOT NULL
) WITH (MEMORY_OPTIMIZED = ON, DURABILITY = {durability})
