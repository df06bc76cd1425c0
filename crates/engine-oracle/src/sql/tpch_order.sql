-- A table in another order takes the first one's place. Listed, so that it is dropped after a kill, too.
INSERT INTO {schema}threadwise_objects (kind, name)
SELECT 'table', UPPER('{name}_o') FROM dual
WHERE NOT EXISTS (SELECT 1 FROM {schema}threadwise_objects WHERE kind = 'table' AND name = UPPER('{name}_o'))
GO
DECLARE
    is_absent EXCEPTION;
    PRAGMA EXCEPTION_INIT(is_absent, -942);
BEGIN
    EXECUTE IMMEDIATE 'DROP TABLE {table}_o PURGE';
EXCEPTION
    WHEN is_absent THEN
        NULL;
END;
GO
CREATE TABLE {table}_o NOCOMPRESS NOPARALLEL AS SELECT * FROM {table} ORDER BY {columns}
GO
DROP TABLE {table} PURGE
GO
ALTER TABLE {table}_o RENAME TO {table}
