INSERT INTO {table} (k, amount, twin, payload) VALUES (:k, :amount, :twin, '-')
