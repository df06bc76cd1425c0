-- Transactions until end_us (since 1970), or until rows_wanted rows where that is not 0; counts those that
-- ended in [start_, end_), which are whole milliseconds, or all where a number of rows is wanted: the first may have
-- ended in the millisecond that the window began in. A procedure cannot commit its own transaction, so each step has an
-- autonomous one, which commits at its END. x and y are the states of the two generators whose numbers
-- side by side are a random key of 62 bits (L'Ecuyer, CACM 31, 1988; Park, Miller and Stockmeyer).
CREATE PROCEDURE {procedure}(
    owner_ INTEGER, next_key BIGINT, x BIGINT, y BIGINT, start_us BIGINT, end_us BIGINT, rows_wanted BIGINT)
RETURNS (steps BIGINT, calls BIGINT, key_sum BIGINT, last_x BIGINT, last_y BIGINT) AS
    DECLARE i INTEGER;
    DECLARE k BIGINT;
    DECLARE now_ TIMESTAMP;
    DECLARE start_ TIMESTAMP;
    DECLARE end_ TIMESTAMP;
BEGIN
    start_ = DATEADD((start_us + 500) / 1000 MILLISECOND TO TIMESTAMP '1970-01-01 00:00:00');
    end_ = DATEADD((end_us - start_us + 500) / 1000 MILLISECOND TO start_);
    steps = 0;
    calls = 0;
    key_sum = 0;
    now_ = start_;
    WHILE (now_ < end_ AND (rows_wanted = 0 OR calls * {per_tx} < rows_wanted)) DO
    BEGIN
        IN AUTONOMOUS TRANSACTION DO
        BEGIN
            i = 0;
            WHILE (i < {per_tx}) DO
            BEGIN
?random                x = MOD(x * 48271, 2147483647); y = MOD(y * 40692, 2147483399); k = x * 2147483648 + y;
?!random                k = next_key; next_key = next_key + 1;
                INSERT INTO {table} (c1, c2, c3, c4, c5, c6)
                VALUES (:k, CAST('NOW' AS TIMESTAMP), '{text}', :owner_, :i, :k);
                key_sum = key_sum + MOD(k, {modulus});
                i = i + 1;
            END
        END
        calls = calls + 1;
        now_ = CAST('NOW' AS TIMESTAMP);
        IF (now_ >= start_ AND now_ < end_) THEN steps = steps + 1;
    END
    IF (rows_wanted > 0) THEN steps = calls;
    last_x = x;
    last_y = y;
    SUSPEND;
END
