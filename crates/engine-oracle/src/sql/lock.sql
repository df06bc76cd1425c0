-- The lock of a study needs no right: a session that wrote to a temporary table with ON COMMIT PRESERVE ROWS is bound to
-- it until it ends or truncates it, and nobody drops the table meanwhile (Database Administrator's Guide 19c, "Managing
-- Tables", "Creating a Temporary Table"; ORA-14452). The table of a study that has ended is dropped here, and only such a
-- one: no table that keeps rows for others is temporary.
DECLARE
    is_used EXCEPTION;
    is_there EXCEPTION;
    is_absent EXCEPTION;
    PRAGMA EXCEPTION_INIT(is_used, -14452);
    PRAGMA EXCEPTION_INIT(is_there, -955);
    PRAGMA EXCEPTION_INIT(is_absent, -942);
BEGIN
    FOR found IN (SELECT table_name FROM user_tables
                  WHERE table_name = '{schema}THREADWISE_LOCK' AND temporary = 'Y') LOOP
        EXECUTE IMMEDIATE 'DROP TABLE ' || found.table_name;
    END LOOP;
    EXECUTE IMMEDIATE 'CREATE GLOBAL TEMPORARY TABLE {schema}threadwise_lock (held NUMBER(1)) ON COMMIT PRESERVE ROWS';
    EXECUTE IMMEDIATE 'INSERT INTO {schema}threadwise_lock VALUES (1)';
    :p1 := 1;
EXCEPTION
    WHEN is_used OR is_there OR is_absent THEN
        :p1 := 0;
END;
