-- The database of each statement and whether it is one of these here. The texts, which hold literals, stay in the server.
-- Source: sys.dm_exec_query_stats, sys.dm_exec_sql_text.
SELECT /* threadwise observe */ CONVERT(varchar(20), q.query_hash, 1), MAX(DB_NAME(t.dbid)),
    MAX(CASE WHEN t.text LIKE '%threadwise observe%' THEN 1 ELSE 0 END)
FROM sys.dm_exec_query_stats AS q CROSS APPLY sys.dm_exec_sql_text(q.sql_handle) AS t
GROUP BY q.query_hash
