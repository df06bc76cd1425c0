-- Transactions of {per_tx} rows until end_us on the server's clock, or until rows_wanted rows where that is not 0.
-- steps ended inside (start_us, end_us]; calls are all of them. Keys ascend from next_key, or are drawn from a stream of
-- x, y and next_key, which is another one in each call.
CREATE OR REPLACE PROCEDURE {procedure} (
    owner       IN  NUMBER,
    next_key    IN  NUMBER,
    x           IN  NUMBER,
    y           IN  NUMBER,
    start_us    IN  NUMBER,
    end_us      IN  NUMBER,
    rows_wanted IN  NUMBER,
    steps       OUT NUMBER,
    calls       OUT NUMBER,
    key_sum     OUT NUMBER,
    next_x      OUT NUMBER,
    next_y      OUT NUMBER,
    ended_us    OUT NUMBER
) AUTHID DEFINER IS
    TYPE numbers IS TABLE OF NUMBER(19) INDEX BY PLS_INTEGER;
    epoch    CONSTANT TIMESTAMP := TIMESTAMP '1970-01-01 00:00:00';
    filler   CONSTANT CHAR(111) := RPAD('x', 111, 'x');
-- 2 to the power of 60, so that every key fits into the column.
?random    keys_all CONSTANT NUMBER := 1152921504606846976;
    start_at TIMESTAMP;
    end_at   TIMESTAMP;
    now_at   TIMESTAMP;
    age      INTERVAL DAY(9) TO SECOND(6);
    new_keys numbers;
    places   numbers;
    from_key NUMBER := next_key;
BEGIN
    start_at := epoch + NUMTODSINTERVAL(TRUNC(start_us / 1000000), 'SECOND')
        + NUMTODSINTERVAL(MOD(start_us, 1000000) / 1000000, 'SECOND');
    end_at := epoch + NUMTODSINTERVAL(TRUNC(end_us / 1000000), 'SECOND')
        + NUMTODSINTERVAL(MOD(end_us, 1000000) / 1000000, 'SECOND');
?random    DBMS_RANDOM.SEED(TO_CHAR(x) || '/' || TO_CHAR(y) || '/' || TO_CHAR(next_key));
    steps := 0;
    calls := 0;
    key_sum := 0;
    next_x := x;
    next_y := y;
    now_at := SYS_EXTRACT_UTC(SYSTIMESTAMP);
    FOR place IN 1 .. {per_tx} LOOP
        places(place) := place - 1;
    END LOOP;
    LOOP
        FOR place IN 1 .. {per_tx} LOOP
?random            new_keys(place) := TRUNC(DBMS_RANDOM.VALUE * keys_all);
?!random            new_keys(place) := from_key + place - 1;
            key_sum := key_sum + MOD(new_keys(place), {modulus});
        END LOOP;
        FORALL place IN 1 .. {per_tx}
            INSERT INTO {table} (c1, c2, c3, c4, c5, c6)
            VALUES (new_keys(place), now_at, filler, owner, places(place), new_keys(place));
-- In PL/SQL a COMMIT without these words waits only when the call ends.
?relaxed        COMMIT WRITE BATCH NOWAIT;
?!relaxed        COMMIT WRITE IMMEDIATE WAIT;
        from_key := from_key + {per_tx};
        calls := calls + 1;
        now_at := SYS_EXTRACT_UTC(SYSTIMESTAMP);
        EXIT WHEN now_at > end_at;
        IF now_at > start_at THEN
            steps := steps + 1;
        END IF;
        EXIT WHEN calls * {per_tx} = rows_wanted;
    END LOOP;
    age := now_at - epoch;
    ended_us := ROUND(EXTRACT(DAY FROM age) * 86400000000 + EXTRACT(HOUR FROM age) * 3600000000
        + EXTRACT(MINUTE FROM age) * 60000000 + EXTRACT(SECOND FROM age) * 1000000);
END;
