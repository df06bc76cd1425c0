-- The lock again, if what an earlier study left was dropped with it.
DECLARE
    is_there EXCEPTION;
    PRAGMA EXCEPTION_INIT(is_there, -955);
BEGIN
    BEGIN
        EXECUTE IMMEDIATE
            'CREATE GLOBAL TEMPORARY TABLE {schema}threadwise_lock (held NUMBER(1)) ON COMMIT PRESERVE ROWS';
    EXCEPTION
        WHEN is_there THEN
            NULL;
    END;
    EXECUTE IMMEDIATE 'INSERT INTO {schema}threadwise_lock VALUES (1)';
END;
GO
-- The table that makes the objects with this prefix threadwise's: made with its row, or not at all.
CREATE TABLE {schema}threadwise_mark AS SELECT CAST('{says}' AS VARCHAR2(100 CHAR)) AS says FROM dual
GO
CREATE TABLE {schema}threadwise_objects (
    kind VARCHAR2(30 CHAR)  NOT NULL,
    name VARCHAR2(128 CHAR) NOT NULL
)
GO
CREATE TABLE {schema}threadwise_loads (
    suffix  VARCHAR2(64 CHAR) NOT NULL,
    bytes   NUMBER(19)        NOT NULL,
    counted NUMBER(19)        NOT NULL,
    notes   VARCHAR2(2000 CHAR)
)
