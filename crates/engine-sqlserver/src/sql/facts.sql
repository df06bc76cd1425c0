-- What the table was seeded with.
CREATE TABLE {table} (seeded bigint NOT NULL, key_sum bigint NOT NULL)
