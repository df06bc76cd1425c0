-- Keys on their way into the table, numbered in the order in which they are inserted.
CREATE TABLE {table} (n int NOT NULL PRIMARY KEY, k bigint NOT NULL)
