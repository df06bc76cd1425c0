-- Steps until end_us on the server's clock. steps ended inside (start_us, end_us]; calls are all of them.
CREATE OR REPLACE PROCEDURE {procedure} (
    start_us IN  NUMBER,
    end_us   IN  NUMBER,
    seed     IN  NUMBER,
    steps    OUT NUMBER,
    calls    OUT NUMBER,
    wrong    OUT NUMBER
) AUTHID DEFINER IS
    epoch      CONSTANT TIMESTAMP := TIMESTAMP '1970-01-01 00:00:00';
    start_at   TIMESTAMP;
    end_at     TIMESTAMP;
    now_at     TIMESTAMP;
?updates    commit_at  TIMESTAMP;
?updates    patience   CONSTANT INTERVAL DAY TO SECOND := NUMTODSINTERVAL(0.1, 'SECOND');
?updates    is_update  BOOLEAN;
?pauses    left_age   INTERVAL DAY TO SECOND(6);
?pauses    left_s     NUMBER;
?hot    range_size PLS_INTEGER;
    first_k    PLS_INTEGER;
    last_k     PLS_INTEGER;
    found_rows PLS_INTEGER;
    found_sum  NUMBER;
BEGIN
    start_at := epoch + NUMTODSINTERVAL(TRUNC(start_us / 1000000), 'SECOND')
        + NUMTODSINTERVAL(MOD(start_us, 1000000) / 1000000, 'SECOND');
    end_at := epoch + NUMTODSINTERVAL(TRUNC(end_us / 1000000), 'SECOND')
        + NUMTODSINTERVAL(MOD(end_us, 1000000) / 1000000, 'SECOND');
    DBMS_RANDOM.SEED(TO_CHAR(seed));
    steps := 0;
    calls := 0;
    wrong := 0;
?updates    commit_at := SYS_EXTRACT_UTC(SYSTIMESTAMP) + patience;
    LOOP
?hot        range_size := CASE WHEN DBMS_RANDOM.VALUE * 100 < {hot_pct} THEN {hot_starts} ELSE {starts} END;
?hot        first_k := TRUNC(DBMS_RANDOM.VALUE * range_size);
?!hot        first_k := TRUNC(DBMS_RANDOM.VALUE * {starts});
        last_k := first_k + {last};
?updates        is_update := DBMS_RANDOM.VALUE * 100 < {update_pct};
?updates        IF is_update THEN
?updates            UPDATE /*+ INDEX(b (k)) NO_PARALLEL(b) */ {table} b SET amount = amount + 1, twin = twin - 1
?updates            WHERE k BETWEEN first_k AND last_k;
?updates            found_rows := SQL%ROWCOUNT;
?updates            found_sum := {sum_at_0} + {sum_per_key} * first_k;
?updates        ELSE
        SELECT /*+ INDEX(b (k)) NO_PARALLEL(b) */ COUNT(*), SUM(amount + twin) INTO found_rows, found_sum
        FROM {table} b WHERE k BETWEEN first_k AND last_k;
?updates        END IF;
        IF found_rows != {unit} OR found_sum IS NULL OR found_sum != {sum_at_0} + {sum_per_key} * first_k THEN
            wrong := wrong + 1;
        END IF;
        calls := calls + 1;
        now_at := SYS_EXTRACT_UTC(SYSTIMESTAMP);
        EXIT WHEN now_at > end_at;
        IF now_at > start_at THEN
            steps := steps + 1;
        END IF;
-- Rows of a table that sessions share are given up at once: two that hold some could block each other.
?updates&shared        IF is_update THEN
?updates&!shared        IF is_update AND now_at >= commit_at THEN
?updates            COMMIT;
?updates            commit_at := now_at + patience;
?updates        END IF;
-- Never beyond the end: the next step must still be done.
?pauses        left_age := end_at - now_at;
?pauses        left_s := EXTRACT(MINUTE FROM left_age) * 60 + EXTRACT(SECOND FROM left_age);
?pauses        left_s := LEAST({think_us} / 1000000, GREATEST(0, left_s));
-- Every account has the first from 18c on. The other needs a GRANT, so that it is looked for when it is called.
?pauses        $IF DBMS_DB_VERSION.VERSION >= 18 $THEN
?pauses            DBMS_SESSION.SLEEP(left_s);
?pauses        $ELSE
?pauses            EXECUTE IMMEDIATE 'BEGIN DBMS_LOCK.SLEEP(:s); END;' USING left_s;
?pauses        $END
    END LOOP;
    COMMIT;
END;
