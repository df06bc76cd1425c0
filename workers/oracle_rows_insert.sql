-- A row of the client's loop.
INSERT INTO {table} (c1, c2, c3, c4, c5, c6)
VALUES (:c1, SYS_EXTRACT_UTC(SYSTIMESTAMP), RPAD('x', 111, 'x'), :c4, :c5, :c6)
