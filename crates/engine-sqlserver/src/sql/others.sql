-- Sessions of others. That of the service for experience reports is on every server, and asks a few questions a day.
SELECT CAST(login_name AS nvarchar(128)), CAST(program_name AS nvarchar(128)) FROM sys.dm_exec_sessions
WHERE is_user_process = 1 AND session_id <> @@SPID AND program_name <> 'SQLServerCEIP' AND program_name NOT LIKE '{but}'
