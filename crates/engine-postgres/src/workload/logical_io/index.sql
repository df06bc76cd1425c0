CREATE UNIQUE INDEX {table}_by_k ON {schema}.{table} (k)
