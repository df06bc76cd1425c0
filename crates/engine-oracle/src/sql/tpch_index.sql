CREATE INDEX {table}_i{number} ON {table} ({columns}) NOPARALLEL
