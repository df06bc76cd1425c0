-- Steps until @end_us on the server's clock; counts those that ended inside (@start_us, @end_us]. Times are
-- microseconds since 2020.
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
    {begin}
    WHILE @now <= @end_at
    BEGIN
        {draw}
        {step}
        SET @now = SYSUTCDATETIME();
        IF @n <> {unit} OR @s <> {sum} SET @wrong = @wrong + 1;
        SET @calls = @calls + 1;
        IF @now > @start_at AND @now <= @end_at SET @steps = @steps + 1;
        {commit}
        {pause}
    END;
    {end}
    SELECT @steps, @calls, @wrong;
END
