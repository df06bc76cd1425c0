-- Steps until end_ms (since 1970); counts those that ended in [start_ms, end_ms). x is the state of
-- the generator x := 48271 x mod (2^31 - 1) (Park, Miller and Stockmeyer, CACM 36, 1993).
CREATE PROCEDURE read_blocks_{table}(start_ms BIGINT, end_ms BIGINT, x BIGINT)
RETURNS (steps BIGINT, calls BIGINT, wrong BIGINT) AS
    DECLARE first_ BIGINT;
    DECLARE n BIGINT;
    DECLARE s BIGINT;
    DECLARE now_ TIMESTAMP;
    DECLARE start_ TIMESTAMP;
    DECLARE end_ TIMESTAMP;
BEGIN
    start_ = DATEADD(start_ms MILLISECOND TO TIMESTAMP '1970-01-01 00:00:00');
    end_ = DATEADD(end_ms MILLISECOND TO TIMESTAMP '1970-01-01 00:00:00');
    steps = 0;
    calls = 0;
    wrong = 0;
    now_ = start_;
    WHILE (now_ < end_) DO
    BEGIN
        {draw}
        {step}
        IF (n IS DISTINCT FROM {unit} OR s IS DISTINCT FROM {sum}) THEN wrong = wrong + 1;
        calls = calls + 1;
        now_ = CAST('NOW' AS TIMESTAMP);
        IF (now_ >= start_ AND now_ < end_) THEN steps = steps + 1;
    END
    SUSPEND;
END
