-- Steps until end_us (since 1970); counts those that ended in [start_, end_), which are whole milliseconds, at most
-- half a millisecond from what was asked for, as the engine's clock has them (Firebird's
-- TimeStamp::getCurrentTimeStamp and 'NOW'). x is the state of the generator x := 48271 x mod (2^31 - 1); x times the
-- number of starts stays below 2^59, and "whether" and "where" are drawn independently.
CREATE PROCEDURE {procedure}(start_us BIGINT, end_us BIGINT, x BIGINT)
RETURNS (steps BIGINT, calls BIGINT, wrong BIGINT) AS
    DECLARE first_ BIGINT;
    DECLARE n BIGINT;
    DECLARE s BIGINT;
    DECLARE now_ TIMESTAMP;
    DECLARE start_ TIMESTAMP;
    DECLARE end_ TIMESTAMP;
BEGIN
    start_ = DATEADD((start_us + 500) / 1000 MILLISECOND TO TIMESTAMP '1970-01-01 00:00:00');
    end_ = DATEADD((end_us - start_us + 500) / 1000 MILLISECOND TO start_);
    steps = 0;
    calls = 0;
    wrong = 0;
    now_ = start_;
    WHILE (now_ < end_) DO
    BEGIN
?hot        x = MOD(x * 48271, 2147483647);
?hot        IF (x * 100e0 < {hot_pct} * 2147483647e0) THEN
?hot        BEGIN x = MOD(x * 48271, 2147483647); first_ = (x * {hot_starts}) / 2147483647; END
?hot        ELSE BEGIN x = MOD(x * 48271, 2147483647); first_ = (x * {starts}) / 2147483647; END
?!hot        x = MOD(x * 48271, 2147483647); first_ = (x * {starts}) / 2147483647;
?updates        x = MOD(x * 48271, 2147483647);
?updates        IF (x * 100e0 < {update_pct} * 2147483647e0) THEN
?updates        BEGIN
?updates            UPDATE {table} SET value_ = value_ + 1, twin = twin - 1 WHERE k BETWEEN :first_ AND :first_ + {last};
?updates            n = ROW_COUNT; s = {sum_per_key} * first_ + {sum_at_0};
?updates        END
?updates        ELSE
        SELECT COUNT(*), SUM(value_ + twin) FROM {table} WHERE k BETWEEN :first_ AND :first_ + {last} INTO :n, :s;
        IF (n IS DISTINCT FROM {unit} OR s IS DISTINCT FROM {sum_per_key} * first_ + {sum_at_0}) THEN wrong = wrong + 1;
        calls = calls + 1;
        now_ = CAST('NOW' AS TIMESTAMP);
        IF (now_ >= start_ AND now_ < end_) THEN steps = steps + 1;
    END
    SUSPEND;
END
