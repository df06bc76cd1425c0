-- The table of the published measurements; c4 is 0 in seeded rows, and session + 1 in inserted ones.
CREATE TABLE {table} (
    c1 BIGINT       NOT NULL PRIMARY KEY,
    c2 TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    c3 CHAR(111)    NOT NULL DEFAULT '{text}',
    c4 INT          NOT NULL DEFAULT 0,
    c5 INT          NOT NULL DEFAULT 0,
    c6 BIGINT       NOT NULL
?!unlogged ) ENGINE=InnoDB CHARACTER SET latin1 ROW_FORMAT=DYNAMIC STATS_PERSISTENT=1 STATS_AUTO_RECALC=0
?unlogged ) ENGINE=MEMORY CHARACTER SET latin1
