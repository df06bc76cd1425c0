SELECT cpu_time, logical_reads, reads FROM sys.dm_exec_sessions WHERE session_id = @@SPID
