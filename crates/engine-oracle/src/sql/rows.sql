-- The table of the published measurements; c4 is 0 in rows that were there before, and the session's number + 1 in
-- rows that it inserted. The key's index has a name of the server's choice.
CREATE TABLE {table} (
    c1 NUMBER(19)     NOT NULL PRIMARY KEY,
    c2 TIMESTAMP(6)   NOT NULL,
    c3 CHAR(111 BYTE) NOT NULL,
    c4 NUMBER(10)     NOT NULL,
    c5 NUMBER(10)     NOT NULL,
    c6 NUMBER(19)     NOT NULL
) NOCOMPRESS NOPARALLEL
