-- Made after the load. Fillers have no key, and any number of them may be NULL.
CREATE UNIQUE INDEX by_k ON {table} (k)
