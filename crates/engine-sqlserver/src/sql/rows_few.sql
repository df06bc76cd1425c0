-- One transaction of rows in memory, compiled to machine code; the loop around it is interpreted.
CREATE PROCEDURE {procedure} @owner int, {parameters}
WITH NATIVE_COMPILATION, SCHEMABINDING, EXECUTE AS OWNER
AS
BEGIN ATOMIC WITH (TRANSACTION ISOLATION LEVEL = SNAPSHOT, LANGUAGE = N'us_english', DELAYED_DURABILITY = {delayed})
    DECLARE @now datetime2(7) = SYSUTCDATETIME();
    {inserts}
END
