-- Steps until end_us on the server's clock; counts those that ended inside (start_us, end_us]. The generator's two seeds
-- come from one number, as those of RAND(N) do; they are below its modulus (mysys/my_rnd.c).
CREATE PROCEDURE {procedure}(start_us BIGINT, end_us BIGINT, x BIGINT)
BEGIN
    DECLARE first, n, s, now_us, commit_us, steps, calls, wrong BIGINT DEFAULT 0;
    SET @@session.rand_seed1 = x DIV 4;
    SET @@session.rand_seed2 = (x * 48271) MOD 536870909;
    START TRANSACTION;
    REPEAT
?hot        SET first = IF(RAND() * 100 < {hot_pct}, FLOOR(RAND() * {hot_starts}), FLOOR(RAND() * {starts}));
?!hot        SET first = FLOOR(RAND() * {starts});
?updates        IF RAND() * 100 < {update_pct} THEN
?updates            UPDATE {table} FORCE INDEX (by_k) SET value = value + 1, twin = twin - 1
?updates                WHERE k BETWEEN first AND first + {last};
?updates            SET n = ROW_COUNT(), s = {sum_per_key} * first + {sum_at_0};
?updates&shared            COMMIT AND CHAIN;
?updates        ELSE
        SELECT COUNT(*), SUM(value + twin) INTO n, s FROM {table} FORCE INDEX (by_k)
            WHERE k BETWEEN first AND first + {last};
?updates        END IF;
        SET now_us = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', SYSDATE(6));
        IF n <> {unit} OR s <> {sum_per_key} * first + {sum_at_0} THEN SET wrong = wrong + 1; END IF;
        SET calls = calls + 1;
        IF now_us > start_us AND now_us <= end_us THEN SET steps = steps + 1; END IF;
        IF now_us >= commit_us THEN COMMIT AND CHAIN; SET commit_us = now_us + 100000; END IF;
-- Never beyond the end: the next step must still be done.
?pauses        DO SLEEP(GREATEST(0, LEAST({think_us}, end_us - now_us)) / 1000000);
    UNTIL now_us > end_us END REPEAT;
    COMMIT;
    SELECT steps, calls, wrong;
END
