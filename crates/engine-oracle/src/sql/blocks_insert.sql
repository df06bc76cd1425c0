INSERT INTO {table} (k, amount, twin, payload) VALUES (:p1, :p2, :p3, '-')
