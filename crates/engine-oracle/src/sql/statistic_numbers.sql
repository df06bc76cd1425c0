SELECT name, statistic# FROM v$statname
WHERE name IN ('session logical reads', 'physical reads', 'redo size', 'user commits')
