-- Counters of statements by digest; in the first row the server's uptime in seconds, its time, and the statements that
-- found no place (their digest is NULL). Times are in picoseconds. A moment as a number does not depend on a time zone.
-- Source: MySQL Reference Manual, "Statement Summary Tables" and "Performance Schema Status Variables"; MariaDB
-- Knowledge Base, "Performance Schema events_statements_summary_by_digest Table".
SELECT /* threadwise observe */ NULL AS threadwise_observe, NULL,
    (SELECT VARIABLE_VALUE FROM {status} WHERE VARIABLE_NAME = 'UPTIME'),
    UNIX_TIMESTAMP(),
    (SELECT VARIABLE_VALUE FROM {status} WHERE VARIABLE_NAME = 'PERFORMANCE_SCHEMA_DIGEST_LOST'),
    NULL
UNION ALL
SELECT SCHEMA_NAME, DIGEST, COUNT_STAR, SUM_TIMER_WAIT, SUM_ROWS_SENT + SUM_ROWS_AFFECTED, UNIX_TIMESTAMP(FIRST_SEEN)
FROM performance_schema.events_statements_summary_by_digest
WHERE DIGEST IS NOT NULL
