WITH d AS (SELECT CAST(n AS bigint) AS n FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS v (n)),
     t AS (SELECT a.n + 10 * b.n + 100 * c.n + 1000 * e.n AS i
           FROM d AS a CROSS JOIN d AS b CROSS JOIN d AS c CROSS JOIN d AS e)
SELECT SUM(i * i % 10007) FROM t OPTION (MAXDOP 1)
