-- One transaction of rows in memory, compiled to machine code; the loop around it is interpreted.
CREATE PROCEDURE {few} @owner int, [[@k{row} bigint|, ]]
WITH NATIVE_COMPILATION, SCHEMABINDING, EXECUTE AS OWNER
AS
BEGIN ATOMIC WITH (TRANSACTION ISOLATION LEVEL = SNAPSHOT, LANGUAGE = N'us_english', DELAYED_DURABILITY = {delayed})
    DECLARE @now datetime2(7) = SYSUTCDATETIME();
    [[INSERT INTO {table} (c1, c2, c3, c4, c5, c6) VALUES (@k{row}, @now, '{text}', @owner, {row}, @k{row});| ]]
END
