SELECT /*+ FULL(t) NO_PARALLEL(t) */ COUNT(*) FROM {table} t
