-- Connection limits, and connections in use without this one.
-- Source: MariaDB Knowledge Base, "Server System Variables" (max_connections; the session's value of
-- max_user_connections is the account's own limit if it has one), "Server Status Variables" (Threads_connected),
-- "Information Schema PROCESSLIST Table" (without the privilege PROCESS it shows the account's own connections).
SELECT 'max_connections of the server', @@GLOBAL.max_connections, 0,
    (SELECT CAST(VARIABLE_VALUE AS SIGNED) - 1 FROM information_schema.GLOBAL_STATUS
     WHERE VARIABLE_NAME = 'THREADS_CONNECTED')
UNION ALL
SELECT CONCAT('max_user_connections of account ''', SUBSTRING_INDEX(USER(), '@', 1), ''''),
    @@SESSION.max_user_connections, 0,
    (SELECT COUNT(*) - 1 FROM information_schema.PROCESSLIST WHERE USER = SUBSTRING_INDEX(USER(), '@', 1))
FROM DUAL WHERE @@SESSION.max_user_connections > 0
