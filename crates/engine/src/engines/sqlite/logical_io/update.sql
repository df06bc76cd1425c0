-- Both change, so that SQLite cannot skip the write, and their sum does not.
UPDATE blocks INDEXED BY blocks_by_k
SET value = value + 1, twin = twin - 1
WHERE k BETWEEN ?1 AND ?2
