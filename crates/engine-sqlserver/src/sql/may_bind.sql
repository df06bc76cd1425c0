-- Whether the login may change the affinity, and the server's name.
SELECT CAST(HAS_PERMS_BY_NAME(NULL, NULL, 'ALTER SETTINGS') AS int), CAST(SERVERPROPERTY('ServerName') AS nvarchar(128))
