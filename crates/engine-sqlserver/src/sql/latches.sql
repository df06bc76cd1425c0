SELECT CAST(latch_class AS nvarchar(128)), CAST(wait_time_ms AS bigint), CAST(waiting_requests_count AS bigint)
FROM sys.dm_os_latch_stats WHERE waiting_requests_count > 0
