-- 1 when the lock is taken, at the latest after 20 attempts, a tenth of a second apart: a connection that was closed a
-- moment ago may still hold it. The class is "thrw".
WITH RECURSIVE attempts (number, got) AS (
    SELECT 1, pg_try_advisory_lock(1952805495, hashtext('{schema}'))
    UNION ALL
    SELECT number + 1, pg_try_advisory_lock(1952805495, hashtext('{schema}'))
    FROM attempts, LATERAL (SELECT pg_sleep(0.1 + 0 * number)) AS pause WHERE NOT got AND number < 20
)
SELECT max(got::int) FROM attempts
