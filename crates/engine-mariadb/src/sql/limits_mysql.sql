-- Connection limits, and connections in use without this one.
-- Source: MySQL 9 Reference Manual, "Server System Variables" (max_connections; the session's value of
-- max_user_connections is the account's own limit if it has one), "Server Status Variables" (Threads_connected),
-- "The processlist Table" (without the privilege PROCESS it shows the account's own connections).
SELECT 'max_connections of the server', @@GLOBAL.max_connections, 0,
    (SELECT CAST(VARIABLE_VALUE AS SIGNED) - 1 FROM performance_schema.global_status
     WHERE VARIABLE_NAME = 'Threads_connected')
UNION ALL
SELECT CONCAT('max_user_connections of account ''', SUBSTRING_INDEX(USER(), '@', 1), ''''),
    @@SESSION.max_user_connections, 0,
    (SELECT COUNT(*) - 1 FROM performance_schema.processlist WHERE USER = SUBSTRING_INDEX(USER(), '@', 1))
FROM DUAL WHERE @@SESSION.max_user_connections > 0
