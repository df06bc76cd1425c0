-- The table of the published measurements; c4 is 0 in seeded rows, and session + 1 in inserted ones.
CREATE TABLE {table} (
    c1 bigint       NOT NULL PRIMARY KEY CLUSTERED,
    c2 datetime2(7) NOT NULL,
    c3 char(111)    NOT NULL,
    c4 int          NOT NULL,
    c5 int          NOT NULL,
    c6 bigint       NOT NULL
)
