-- The table of the published measurements; c4 is 0 in seeded rows, and session + 1 in inserted ones.
CREATE TABLE {table} (
    c1 BIGINT    NOT NULL,
    c2 TIMESTAMP NOT NULL,
    c3 CHAR(111) CHARACTER SET ASCII NOT NULL,
    c4 INTEGER   NOT NULL,
    c5 INTEGER   NOT NULL,
    c6 BIGINT    NOT NULL
)
