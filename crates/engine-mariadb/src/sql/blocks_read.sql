-- value and twin are in the row alone, so every key of the range costs a visit to its block.
SELECT COUNT(*), SUM(value + twin) FROM {table} FORCE INDEX (by_k) WHERE k BETWEEN {first} AND {last}
