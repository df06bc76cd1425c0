-- Transactions until @end_us on the server's clock, or until @rows_wanted rows where that is not 0; counts those that
-- ended inside (@start_us, @end_us]. Times are microseconds since 2020. A random key is two numbers of 31 bits side by side.
CREATE PROCEDURE {procedure} @owner int, @next_key bigint, @x bigint, @y bigint, @start_us bigint, @end_us bigint,
    @rows_wanted bigint
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @zero datetime2(7) = '20200101', @now datetime2(7);
    DECLARE @steps bigint = 0, @calls bigint = 0, @key_sum bigint = 0, @more int = 1;
    DECLARE [[@k{row} bigint = 0|, ]];
    DECLARE @start_at datetime2(7) = DATEADD(MICROSECOND, @start_us % 1000000, DATEADD(SECOND, @start_us / 1000000, @zero));
    DECLARE @end_at datetime2(7) = DATEADD(MICROSECOND, @end_us % 1000000, DATEADD(SECOND, @end_us / 1000000, @zero));
    WHILE @more = 1
    BEGIN
?!random        [[SET @k{row} = @next_key + {row};| ]]
?random        [[SET @x = (@x * 48271) % 2147483647; SET @y = (@y * 40692) % 2147483399; SET @k{row} = @x * 2147483648 + @y;| ]]
?memory        EXEC {few} @owner, [[@k{row}|, ]];
?!memory&relaxed        BEGIN TRANSACTION;
?!memory        INSERT INTO {table} (c1, c2, c3, c4, c5, c6) VALUES
?!memory            [[(@k{row}, SYSUTCDATETIME(), '{text}', @owner, {row}, @k{row})|, ]];
?!memory&relaxed        COMMIT TRANSACTION WITH (DELAYED_DURABILITY = ON);
        SET @now = SYSUTCDATETIME();
        SET @next_key = @next_key + {per_tx};
        [[SET @key_sum = @key_sum + @k{row} % {modulus};| ]]
        SET @calls = @calls + 1;
        IF @now > @start_at AND @now <= @end_at SET @steps = @steps + 1;
        IF @now > @end_at OR @calls * {per_tx} = @rows_wanted SET @more = 0;
    END;
    SELECT @steps, @calls, @key_sum, @x, @y,
        CAST(DATEDIFF(SECOND, @zero, @now) AS bigint) * 1000000 + DATEPART(MICROSECOND, @now);
END
