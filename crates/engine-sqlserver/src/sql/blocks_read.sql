-- value and twin are in the row alone, so every key of the range costs a visit to its page.
SELECT COUNT(*), SUM(value + twin) FROM {table} WITH (INDEX(by_k)) WHERE k BETWEEN {first} AND {last} OPTION (MAXDOP 1)
