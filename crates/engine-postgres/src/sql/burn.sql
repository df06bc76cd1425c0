SELECT sum(i * i % 10007)::bigint FROM generate_series(0::bigint, 9999) AS i
