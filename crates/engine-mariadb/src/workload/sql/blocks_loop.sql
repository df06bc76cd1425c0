-- Steps until end_us on the server's clock; counts those that ended inside (start_us, end_us].
CREATE PROCEDURE {procedure}(start_us BIGINT, end_us BIGINT, seed1 BIGINT, seed2 BIGINT)
BEGIN
    DECLARE first, n, s, now_us, commit_us, steps, calls, wrong BIGINT DEFAULT 0;
    SET @@session.rand_seed1 = seed1;
    SET @@session.rand_seed2 = seed2;
    START TRANSACTION;
    REPEAT
        {draw}
        {step}
        SET now_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
        IF n <> {unit} OR s <> {sum} THEN SET wrong = wrong + 1; END IF;
        SET calls = calls + 1;
        IF now_us > start_us AND now_us <= end_us THEN SET steps = steps + 1; END IF;
        IF now_us >= commit_us THEN COMMIT AND CHAIN; SET commit_us = now_us + {commit_us}; END IF;
        {pause}
    UNTIL now_us > end_us END REPEAT;
    COMMIT;
    SELECT steps, calls, wrong, now_us;
END
