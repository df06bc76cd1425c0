-- Of the session's last query; no other session may ask.
SELECT statistic, last_query FROM v$pq_sesstat
WHERE statistic IN ('Queries Parallelized', 'DOP', 'Allocation Height')
