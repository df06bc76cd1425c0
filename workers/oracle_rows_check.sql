-- Rows that were there before and rows of sessions, with the sums of their keys modulo a prime.
SELECT COUNT(CASE WHEN c4 = 0 THEN 1 END), NVL(SUM(CASE WHEN c4 = 0 THEN MOD(c1, 1000000007) END), 0),
       COUNT(CASE WHEN c4 != 0 THEN 1 END), NVL(SUM(CASE WHEN c4 != 0 THEN MOD(c1, 1000000007) END), 0)
FROM {table}
