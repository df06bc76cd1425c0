DELETE FROM {table} WHERE c4 != 0
