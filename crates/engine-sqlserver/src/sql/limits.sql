-- The most connections, and those of users without this one.
-- Source: "Configure the user connections (server configuration option)" (0 is 32,767) and sys.dm_exec_sessions, which
-- shows a login without VIEW SERVER STATE its own sessions alone.
SELECT 'user connections of the server', @@MAX_CONNECTIONS, 0,
    (SELECT COUNT(*) - 1 FROM sys.dm_exec_sessions WHERE is_user_process = 1)
