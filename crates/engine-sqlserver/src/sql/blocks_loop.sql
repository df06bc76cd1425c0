-- Steps until @end_us on the server's clock; counts those that ended inside (@start_us, @end_us]. Times are
-- microseconds since 2020. Random numbers are those of a multiplicative generator of 31 bits; @x times the number of
-- starts stays below 2^59.
CREATE PROCEDURE {procedure} @start_us bigint, @end_us bigint, @x bigint
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @zero datetime2(7) = '20200101', @first bigint, @n bigint, @s bigint, @now datetime2(7), @commit_at datetime2(7);
    DECLARE @steps bigint = 0, @calls bigint = 0, @wrong bigint = 0, @left int, @pause datetime;
    DECLARE @start_at datetime2(7) = DATEADD(MICROSECOND, @start_us % 1000000, DATEADD(SECOND, @start_us / 1000000, @zero));
    DECLARE @end_at datetime2(7) = DATEADD(MICROSECOND, @end_us % 1000000, DATEADD(SECOND, @end_us / 1000000, @zero));
    SET @now = SYSUTCDATETIME();
    SET @commit_at = DATEADD(MILLISECOND, 100, @now);
-- Otherwise each statement is a transaction of its own.
?holds    BEGIN TRANSACTION;
    WHILE @now <= @end_at
    BEGIN
?hot        SET @x = (@x * 48271) % 2147483647;
?hot        IF @x * 100e0 < {hot_pct} * 2147483647e0
?hot        BEGIN SET @x = (@x * 48271) % 2147483647; SET @first = (@x * {hot_starts}) / 2147483647; END
?hot        ELSE BEGIN SET @x = (@x * 48271) % 2147483647; SET @first = (@x * {starts}) / 2147483647; END
?!hot        SET @x = (@x * 48271) % 2147483647; SET @first = (@x * {starts}) / 2147483647;
?updates        SET @x = (@x * 48271) % 2147483647;
?updates        IF @x * 100e0 < {update_pct} * 2147483647e0
?updates        BEGIN
?updates            UPDATE {table} SET value = value + 1, twin = twin - 1 WHERE k BETWEEN @first AND @first + {last};
?updates            SET @n = @@ROWCOUNT; SET @s = {sum_per_key} * @first + {sum_at_0};
?updates        END
?updates        ELSE
        SELECT @n = COUNT(*), @s = SUM(value + twin) FROM {table} WITH (INDEX(by_k))
            WHERE k BETWEEN @first AND @first + {last} OPTION (MAXDOP 1);
        SET @now = SYSUTCDATETIME();
        IF @n <> {unit} OR @s <> {sum_per_key} * @first + {sum_at_0} SET @wrong = @wrong + 1;
        SET @calls = @calls + 1;
        IF @now > @start_at AND @now <= @end_at SET @steps = @steps + 1;
?holds        IF @now >= @commit_at
?holds        BEGIN COMMIT TRANSACTION; BEGIN TRANSACTION; SET @commit_at = DATEADD(MILLISECOND, 100, @now); END
-- Never beyond the end: the next step must still be done.
?pauses        SET @left = DATEDIFF(MILLISECOND, @now, @end_at); IF @left > {think_ms} SET @left = {think_ms};
?pauses        IF @left > 0
?pauses        BEGIN SET @pause = DATEADD(MILLISECOND, @left, CAST(0 AS datetime)); WAITFOR DELAY @pause; END
    END;
?holds    COMMIT TRANSACTION;
    SELECT @steps, @calls, @wrong;
END
