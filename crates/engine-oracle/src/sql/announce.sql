INSERT INTO {schema}threadwise_objects (kind, name)
SELECT '{kind}', UPPER('{name}') FROM dual
WHERE NOT EXISTS (SELECT 1 FROM {schema}threadwise_objects WHERE kind = '{kind}' AND name = UPPER('{name}'))
