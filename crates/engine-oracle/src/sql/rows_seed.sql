INSERT INTO {table} (c1, c2, c3, c4, c5, c6)
VALUES (:p1, SYS_EXTRACT_UTC(SYSTIMESTAMP), RPAD('x', 111, 'x'), 0, 0, :p1)
