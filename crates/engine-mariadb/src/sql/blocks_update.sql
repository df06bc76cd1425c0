-- Both change, so that the server cannot skip the write, and their sum does not.
UPDATE {table} FORCE INDEX (by_k) SET value = value + 1, twin = twin - 1 WHERE k BETWEEN {first} AND {last}
