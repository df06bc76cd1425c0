-- Counters of statements by plan; in the first row the server's start, in seconds by its own clock. Times are in
-- microseconds. Texts are not read. A plan that is made again is another one.
-- Source: sys.dm_exec_query_stats, sys.dm_os_sys_info.
SELECT /* threadwise observe */ CAST(NULL AS varchar(20)), CAST(NULL AS varchar(80)),
    CAST(DATEDIFF(SECOND, '19700101', sqlserver_start_time) AS bigint), CAST(0 AS bigint), CAST(0 AS bigint)
FROM sys.dm_os_sys_info
UNION ALL
SELECT CONVERT(varchar(20), query_hash, 1),
    CONCAT(CONVERT(varchar(23), creation_time, 126), ':', CHECKSUM(plan_handle), ':', statement_start_offset),
    execution_count, total_elapsed_time, total_rows
FROM sys.dm_exec_query_stats
WHERE query_hash IS NOT NULL
