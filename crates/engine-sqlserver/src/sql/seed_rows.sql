INSERT INTO {table} (c1, c2, c3, c4, c5, c6)
SELECT k, SYSUTCDATETIME(), '{text}', 0, 0, k FROM {staging} WHERE n BETWEEN {first} AND {last}
