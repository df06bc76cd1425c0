INSERT INTO {prefix}LOADS (suffix, facts, bytes, counted, notes)
VALUES (:suffix, :facts, :bytes, :counted, :notes)
