-- Reads every row by the index, through the buffer cache: a full scan of a large table may go around it.
SELECT /*+ INDEX(b (k)) NO_PARALLEL(b) */ COUNT(*), SUM(amount + twin) FROM {table} b WHERE k >= 0
