-- a and b are in the row alone, so every key of the range costs a visit to its block.
SELECT count(*), sum(a + b) FROM {table} WHERE k BETWEEN {first} AND {last}
