-- Into PLAN_TABLE, which every session has for itself (a global temporary table).
EXPLAIN PLAN SET STATEMENT_ID = 'threadwise' FOR
SELECT /*+ INDEX(b (k)) NO_PARALLEL(b) */ COUNT(*), SUM(amount + twin)
FROM {table} b WHERE k BETWEEN 0 AND {last}
