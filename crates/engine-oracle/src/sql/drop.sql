DECLARE
    is_absent EXCEPTION;
    is_absent_procedure EXCEPTION;
    PRAGMA EXCEPTION_INIT(is_absent, -942);
    PRAGMA EXCEPTION_INIT(is_absent_procedure, -4043);
BEGIN
    EXECUTE IMMEDIATE 'DROP {kind} {schema}{name}'
        || CASE '{kind}' WHEN 'table' THEN ' CASCADE CONSTRAINTS PURGE' END;
EXCEPTION
    WHEN is_absent OR is_absent_procedure THEN
        NULL;
END;
