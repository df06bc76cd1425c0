-- Statements of this database by their time: text, calls, milliseconds, and the milliseconds of all of them. A statement
-- of another role has no text for a role that may not see it, and no queryid.
WITH known AS (
    SELECT CASE WHEN queryid IS NULL THEN NULL ELSE query END AS text, calls, {total} AS total_ms
    FROM {view}
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND query NOT LIKE '%pg_stat_statements%' {toplevel}
)
SELECT text, sum(calls)::bigint, sum(total_ms)::float8, (sum(sum(total_ms)) OVER ())::float8
FROM known
GROUP BY text
ORDER BY text IS NULL, 3 DESC, text
