-- Keys in random order, the same for the same seed: neighbouring keys lie on blocks far apart.
INSERT INTO {table} (k, a, b, payload)
SELECT k, 0, 7 * k + 3, repeat(md5(k::text), 15)
FROM generate_series(0, {blocks} - 1) AS k
ORDER BY hashint8extended(k, '{seed}'::bigint), k
