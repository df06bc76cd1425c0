-- Both change, and their sum does not; no column of an index changes.
UPDATE {schema}.{table} SET a = a + 1, b = b - 1 WHERE k BETWEEN $1 AND $2
