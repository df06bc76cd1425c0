INSERT INTO {table} (k, value, twin) SELECT k, value, twin FROM {from} OPTION (MAXDOP 1)
