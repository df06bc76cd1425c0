-- The order of cluster=shipdate.
INSERT /*+ APPEND */ INTO {table}
SELECT * FROM {source} ORDER BY l_shipdate, l_orderkey, l_linenumber
