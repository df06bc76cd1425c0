-- Transactions until end_us on the server's clock, or until rows_wanted rows where that is not 0;
-- counts those that ended inside (start_us, end_us]. Each INSERT commits by itself (autocommit).
CREATE PROCEDURE {procedure}(
    owner INT, next_key BIGINT, start_us BIGINT, end_us BIGINT, rows_wanted BIGINT, seed VARCHAR(64))
BEGIN
    DECLARE now_us, steps, calls, key_sum BIGINT DEFAULT 0;
    DECLARE {keys} BIGINT DEFAULT 0;
    REPEAT
        {draw}
        INSERT INTO {table} (c1, c2, c3, c4, c5, c6) VALUES {values};
        SET now_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
        SET next_key = next_key + {per_tx}, {sum}, calls = calls + 1;
        IF now_us > start_us AND now_us <= end_us THEN SET steps = steps + 1; END IF;
    UNTIL now_us > end_us OR calls * {per_tx} = rows_wanted END REPEAT;
    SELECT steps, calls, key_sum, now_us;
END
