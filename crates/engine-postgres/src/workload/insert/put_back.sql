DELETE FROM {schema}.{table} WHERE c4 <> 0
