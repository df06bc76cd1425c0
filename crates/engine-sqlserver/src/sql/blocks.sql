-- A row of 7,000 bytes of fixed width: a page of 8 KiB takes one, never two. A heap, so that an index look-up leads to
-- one page. value + twin is fixed for every key; an update moves 1 from twin to value.
CREATE TABLE {table} (
    k       int        NOT NULL,
    value   bigint     NOT NULL,
    twin    bigint     NOT NULL,
    payload char(7000) NOT NULL DEFAULT '-'
)
