-- A row of 7,000 bytes stays inside its page, and a page of 16 KiB takes two of them, never three.
-- Rows come in the order of id: odd ones carry a key and are visited, even ones fill the page.
-- value + twin is fixed for every key; an update moves 1 from twin to value.
CREATE TABLE {table} (
    id      BIGINT          NOT NULL PRIMARY KEY,
    k       INT             NULL,
    value   BIGINT          NOT NULL,
    twin    BIGINT          NOT NULL,
    payload VARBINARY(7000) NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC CHARACTER SET latin1 STATS_PERSISTENT=1 STATS_AUTO_RECALC=0
