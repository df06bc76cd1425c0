-- Both change, and their sum does not; no column of an index changes.
UPDATE {table} SET a = a + 1, b = b - 1 WHERE k BETWEEN {first} AND {last}
