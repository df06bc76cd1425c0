ALTER TABLE {schema}.{table} ADD CONSTRAINT {table}_key PRIMARY KEY (c1)
