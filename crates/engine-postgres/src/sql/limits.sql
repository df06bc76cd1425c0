-- Connection limits, and connections in use without this one: those of clients, and before PostgreSQL 12 those of
-- replicas. The kind of another role's process may be hidden: then all processes that are in a database count.
-- A superuser is exempt from the limits of roles and databases; -1 is none, and -2 that of an invalid database.
-- Source: PostgreSQL documentation, "Connections and Authentication" (max_connections, superuser_reserved_connections;
-- reserved_connections from 16 on), "CREATE ROLE" and "CREATE DATABASE" (CONNECTION LIMIT), "The Cumulative Statistics
-- System" (pg_stat_activity, most of whose columns are empty in rows of other roles).
WITH clients AS (
    SELECT usesysid, datid FROM pg_stat_activity
    WHERE pid <> pg_backend_pid()
        AND (backend_type = 'client backend'
            OR (backend_type = 'walsender' AND current_setting('server_version_num')::int < 120000)
            OR (backend_type IS NULL AND datid IS NOT NULL))),
role AS (SELECT oid, rolname, rolsuper, rolconnlimit FROM pg_roles WHERE rolname = session_user)
SELECT 'max_connections of the server',
    current_setting('max_connections')::int,
    current_setting('superuser_reserved_connections')::int
        + COALESCE(current_setting('reserved_connections', true)::int, 0),
    (SELECT count(*) FROM clients)
UNION ALL
SELECT 'the CONNECTION LIMIT of role ''' || rolname || '''', CASE WHEN rolsuper THEN -1 ELSE rolconnlimit END, 0,
    (SELECT count(*) FROM clients WHERE usesysid = role.oid)
FROM role
UNION ALL
SELECT 'the CONNECTION LIMIT of database ''' || datname || '''',
    CASE WHEN rolsuper THEN -1 ELSE datconnlimit END, 0,
    (SELECT count(*) FROM clients WHERE datid = d.oid)
FROM pg_database d, role WHERE datname = current_database()
