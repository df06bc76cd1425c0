INSERT INTO {prefix}MADE (kind, name)
SELECT :kind, :name FROM dual
WHERE NOT EXISTS (SELECT 1 FROM {prefix}MADE WHERE kind = :kind AND name = :name)
