-- Of the statements that were executed in the last minutes, so that few texts are looked at (last_dop: from 2016 on).
SELECT TOP (1) CAST(s.last_dop AS bigint)
FROM sys.dm_exec_query_stats AS s
CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) AS t
WHERE s.last_execution_time > DATEADD(MINUTE, -60, GETDATE())
  AND LEFT(t.text, LEN('{begins}')) = '{begins}'
ORDER BY s.last_execution_time DESC
