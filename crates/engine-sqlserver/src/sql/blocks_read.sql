-- value and twin are in the row alone, so every key of the range costs a visit to its page.
SELECT COUNT(*), SUM(value + twin) FROM {table} WITH (INDEX(by_k)) WHERE k BETWEEN @P1 AND @P2 OPTION (MAXDOP 1)
