CREATE INDEX {index} ON {table} ({columns}) NOPARALLEL
