-- Statements of this database by their time: text, calls, milliseconds, and the milliseconds of all of them. A statement
-- of another role has no text for a role that may not see it, and no queryid. Utility statements (the manual's list of SQL
-- commands, without those that read or write rows; comments and parentheses may stand before the first word) and those
-- of threadwise's connections are not counted: its own name "pg_stat_statements" in the text, or its connection's first
-- question.
WITH known AS (
    SELECT CASE WHEN queryid IS NULL THEN NULL ELSE query END AS text, calls, {total} AS total_ms
    FROM {view}
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND (queryid IS NULL OR query ~* (
            '^(?:[\s(]|--[^\n\r]*[\n\r]|/\*(?:[^*]|\*+[^*/])*\*+/)*'
            '(?:select|with|values|table|insert|update|delete|merge)[^a-z_]'))
        AND query NOT LIKE '%pg_stat_statements%'
        AND query NOT LIKE 'SELECT pg_backend_pid(), inet_client_port(), %' {toplevel}
)
SELECT text, sum(calls)::bigint, sum(total_ms)::float8, (sum(sum(total_ms)) OVER ())::float8
FROM known
GROUP BY text
ORDER BY text IS NULL, 3 DESC, text
