-- All rows of a session in one atomic block, as published: the loop itself is compiled to machine code.
CREATE PROCEDURE {procedure} @owner int, @next_key bigint, @x bigint, @y bigint, @start_us bigint, @end_us bigint,
    @rows_wanted bigint
WITH NATIVE_COMPILATION, SCHEMABINDING, EXECUTE AS OWNER
AS
BEGIN ATOMIC WITH (TRANSACTION ISOLATION LEVEL = SNAPSHOT, LANGUAGE = N'us_english', DELAYED_DURABILITY = {delayed})
    DECLARE @zero datetime2(7) = '20200101', @now datetime2(7) = SYSUTCDATETIME();
    DECLARE @calls bigint = 0, @key_sum bigint = 0, @k0 bigint = 0;
    WHILE @calls < @rows_wanted
    BEGIN
?!random        SET @k0 = @next_key + 0;
?random        SET @x = (@x * 48271) % 2147483647; SET @y = (@y * 40692) % 2147483399; SET @k0 = @x * 2147483648 + @y;
        INSERT INTO {table} (c1, c2, c3, c4, c5, c6) VALUES (@k0, @now, '{text}', @owner, 0, @k0);
        SET @next_key = @next_key + 1;
        SET @key_sum = @key_sum + @k0 % {modulus};
        SET @calls = @calls + 1;
    END
    SET @now = SYSUTCDATETIME();
    SELECT @calls, @calls, @key_sum, @x, @y,
        CAST(DATEDIFF(SECOND, @zero, @now) AS bigint) * 1000000 + DATEPART(MICROSECOND, @now);
END
