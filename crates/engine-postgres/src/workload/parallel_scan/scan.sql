SELECT {schema}.threadwise_worker(tableoid), count(*), sum(({term})::integer),
       min(CASE WHEN id % 64 = 0 THEN clock_timestamp() END), max(CASE WHEN id % 64 = 0 THEN clock_timestamp() END)
FROM {schema}.{table} GROUP BY 1
