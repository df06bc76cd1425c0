ALTER TABLE {table} ADD CONSTRAINT {index} PRIMARY KEY ({columns})
