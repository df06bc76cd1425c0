SELECT COUNT_BIG(*), COUNT_BIG(DISTINCT k), SUM(value + twin) FROM {table}
