-- A row of 6,000 bytes stays inside its page of 8 KiB, and a second one does not fit beside it.
-- value_ + twin is fixed for every key; an update moves 1 from twin to value_.
CREATE TABLE {table} (
    k       INTEGER       NOT NULL,
    value_  BIGINT        NOT NULL,
    twin    BIGINT        NOT NULL,
    payload VARCHAR(6000) CHARACTER SET OCTETS NOT NULL
)
