-- The most connections, and those of users.
SELECT @@MAX_CONNECTIONS, (SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE is_user_process = 1)
