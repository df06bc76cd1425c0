-- Made after the load, on rows that lie in random key order.
CREATE UNIQUE NONCLUSTERED INDEX by_k ON {table} (k)
