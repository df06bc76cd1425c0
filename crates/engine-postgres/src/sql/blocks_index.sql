CREATE UNIQUE INDEX "{name}_by_k" ON {table} (k)
