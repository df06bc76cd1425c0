-- value and twin are in the row alone, so every key of the range costs a visit to its block.
SELECT count(*), sum(value + twin)
FROM blocks INDEXED BY blocks_by_k
WHERE k BETWEEN ?1 AND ?2
