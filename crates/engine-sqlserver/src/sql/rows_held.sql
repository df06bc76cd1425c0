SELECT COUNT_BIG(*), COALESCE(SUM(c1 % {modulus}), 0) FROM {table}
