SELECT COUNT(*), NVL(SUM(MOD(c1, {modulus})), 0) FROM {table}
