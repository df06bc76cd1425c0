-- amount and twin are in the row alone, so every key of the range costs a visit to its block.
SELECT /*+ INDEX(b (k)) NO_PARALLEL(b) */ COUNT(*), SUM(amount + twin)
FROM {table} b WHERE k BETWEEN {first} AND {last}
