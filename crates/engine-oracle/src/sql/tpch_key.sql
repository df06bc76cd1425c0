ALTER TABLE {table} ADD CONSTRAINT {table}_k PRIMARY KEY ({columns})
