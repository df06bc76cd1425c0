-- A few at a time, so that the log holds no more than those. A transaction in memory takes no TOP without limits.
DECLARE @gone int = 1;
WHILE @gone > 0
BEGIN
    DELETE TOP (100000) FROM {table} WHERE c4 <> 0;
    SET @gone = @@ROWCOUNT;
END
