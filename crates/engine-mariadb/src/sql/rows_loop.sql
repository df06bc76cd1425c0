-- Transactions until end_us on the server's clock, or until rows_wanted rows where that is not 0; counts those that
-- ended inside (start_us, end_us]. Each INSERT commits by itself (autocommit). A random key is 60 bits of a hash, since
-- RAND() has 30: of the number of the row in this session's stream.
CREATE PROCEDURE {procedure}(
    owner INT, next_key BIGINT, x BIGINT, y BIGINT, start_us BIGINT, end_us BIGINT, rows_wanted BIGINT)
BEGIN
    DECLARE now_us, steps, calls, key_sum BIGINT DEFAULT 0;
    DECLARE [[k{row}|, ]] BIGINT DEFAULT 0;
?random    DECLARE seed VARCHAR(64) DEFAULT CONCAT(x, '/', y, '/');
    REPEAT
?random        SET [[k{row} = CONV(LEFT({digest}(CONCAT(seed, next_key + {row}){of_bits}), 15), 16, 10)|, ]];
?!random        SET [[k{row} = next_key + {row}|, ]];
        INSERT INTO {table} (c1, c2, c3, c4, c5, c6) VALUES [[(k{row}, SYSDATE(6), '{text}', owner, {row}, k{row})|, ]];
        SET now_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
-- One term each: the server evaluates an expression recursively, on a thread stack of 292 KiB.
        SET next_key = next_key + {per_tx}, [[key_sum = key_sum + k{row} MOD {modulus}|, ]], calls = calls + 1;
        IF now_us > start_us AND now_us <= end_us THEN SET steps = steps + 1; END IF;
    UNTIL now_us > end_us OR calls * {per_tx} = rows_wanted END REPEAT;
    SELECT steps, calls, key_sum, x, y, now_us;
END
