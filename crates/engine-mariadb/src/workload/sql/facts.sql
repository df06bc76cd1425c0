-- What the table was seeded with.
CREATE TABLE {table} (seeded BIGINT NOT NULL, key_sum BIGINT NOT NULL) ENGINE=InnoDB
