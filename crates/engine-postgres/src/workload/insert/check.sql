-- Rows that were there before and rows of sessions, with the sums of their keys modulo a prime.
SELECT count(*) FILTER (WHERE c4 = 0), coalesce(sum(c1 % {modulus}) FILTER (WHERE c4 = 0), 0)::bigint,
       count(*) FILTER (WHERE c4 <> 0), coalesce(sum(c1 % {modulus}) FILTER (WHERE c4 <> 0), 0)::bigint
FROM {schema}.{table}
