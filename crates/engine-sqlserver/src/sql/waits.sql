-- Without the waits of those who have nothing to do: queues, timers, sleeping tasks and background work.
SELECT CAST(wait_type AS nvarchar(128)), CAST(wait_time_ms AS bigint), CAST(waiting_tasks_count AS bigint)
FROM sys.dm_os_wait_stats
WHERE waiting_tasks_count > 0
  AND wait_type NOT LIKE '%SLEEP%' AND wait_type NOT LIKE '%QUEUE%' AND wait_type NOT LIKE 'XE_%'
  AND wait_type NOT LIKE 'BROKER_%' AND wait_type NOT LIKE 'HADR_%' AND wait_type NOT LIKE 'QDS_%'
  AND wait_type NOT LIKE 'FT_%' AND wait_type NOT LIKE 'CLR_%' AND wait_type NOT LIKE 'SOS_WORK_DISPATCHER%'
  AND wait_type NOT LIKE 'SP_SERVER_DIAGNOSTICS%' AND wait_type NOT LIKE 'PWAIT_%' AND wait_type NOT LIKE 'WAIT_XTP_%'
  AND wait_type NOT LIKE 'SQLTRACE_%' AND wait_type NOT LIKE 'DIRTY_PAGE_POLL%' AND wait_type NOT LIKE 'WAITFOR%'
  AND wait_type NOT LIKE 'PREEMPTIVE_%' AND wait_type NOT LIKE 'VDI_%' AND wait_type NOT LIKE 'PARALLEL_REDO_%'
