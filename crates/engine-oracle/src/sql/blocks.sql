-- One row a block: a row takes more than 1% of any block, and PCTFREE 99 keeps a block that has a row free of others,
-- with room for what updates add. amount + twin is fixed for every key; an update moves 1 from twin to amount.
CREATE TABLE {table} (
    k       NUMBER(10)                NOT NULL,
    amount  NUMBER(19)                NOT NULL,
    twin    NUMBER(19)                NOT NULL,
    payload CHAR(480 BYTE) NOT NULL
) PCTFREE 99 NOCOMPRESS NOPARALLEL
