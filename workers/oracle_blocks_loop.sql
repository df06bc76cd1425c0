-- Steps until end_us on the server's clock. steps ended inside (start_us, end_us]; calls are all of them.
CREATE OR REPLACE PROCEDURE {procedure} (
    start_us   IN  NUMBER,
    end_us     IN  NUMBER,
    seed       IN  VARCHAR2,
    work_unit  IN  NUMBER,
    starts     IN  PLS_INTEGER,
    hot_pct    IN  NUMBER,
    hot_starts IN  PLS_INTEGER,
    update_pct IN  NUMBER,
    think_s    IN  NUMBER,
    steps      OUT NUMBER,
    calls      OUT NUMBER,
    wrong      OUT NUMBER
) AUTHID DEFINER IS
    epoch       CONSTANT TIMESTAMP := TIMESTAMP '1970-01-01 00:00:00';
    start_at    TIMESTAMP;
    end_at      TIMESTAMP;
    now_at      TIMESTAMP;
    commit_at   TIMESTAMP;
    patience    CONSTANT INTERVAL DAY TO SECOND := NUMTODSINTERVAL(0.1, 'SECOND');
    -- Sum of 7 k + 3 over work_unit keys from 0; from another first key, 7 work_unit first more.
    sum_at_0    CONSTANT NUMBER := 7 * (work_unit * (work_unit - 1) / 2) + 3 * work_unit;
    sum_per_key CONSTANT NUMBER := 7 * work_unit;
    has_hot     CONSTANT BOOLEAN := hot_pct > 0;
    has_updates CONSTANT BOOLEAN := update_pct > 0;
    has_pauses  CONSTANT BOOLEAN := think_s > 0;
    is_update   BOOLEAN := FALSE;
    range_size  PLS_INTEGER := starts;
    first_k     PLS_INTEGER;
    last_k      PLS_INTEGER;
    found_rows  PLS_INTEGER;
    found_sum   NUMBER;
BEGIN
    start_at := epoch + NUMTODSINTERVAL(TRUNC(start_us / 1000000), 'SECOND')
        + NUMTODSINTERVAL(MOD(start_us, 1000000) / 1000000, 'SECOND');
    end_at := epoch + NUMTODSINTERVAL(TRUNC(end_us / 1000000), 'SECOND')
        + NUMTODSINTERVAL(MOD(end_us, 1000000) / 1000000, 'SECOND');
    DBMS_RANDOM.SEED(seed);
    steps := 0;
    calls := 0;
    wrong := 0;
    commit_at := SYS_EXTRACT_UTC(SYSTIMESTAMP) + patience;
    LOOP
        IF has_updates THEN
            is_update := DBMS_RANDOM.VALUE * 100 < update_pct;
        END IF;
        IF has_hot THEN
            range_size := CASE WHEN DBMS_RANDOM.VALUE * 100 < hot_pct THEN hot_starts ELSE starts END;
        END IF;
        first_k := TRUNC(DBMS_RANDOM.VALUE * range_size);
        last_k := first_k + work_unit - 1;
        IF is_update THEN
            UPDATE /*+ INDEX(b {index}) NO_PARALLEL(b) */ {table} b SET amount = amount + 1, twin = twin - 1
            WHERE k BETWEEN first_k AND last_k;
            found_rows := SQL%ROWCOUNT;
            found_sum := sum_at_0 + sum_per_key * first_k;
        ELSE
            SELECT /*+ INDEX(b {index}) NO_PARALLEL(b) */ COUNT(*), SUM(amount + twin) INTO found_rows, found_sum
            FROM {table} b WHERE k BETWEEN first_k AND last_k;
        END IF;
        IF found_rows != work_unit OR found_sum IS NULL OR found_sum != sum_at_0 + sum_per_key * first_k THEN
            wrong := wrong + 1;
        END IF;
        calls := calls + 1;
        now_at := SYS_EXTRACT_UTC(SYSTIMESTAMP);
        EXIT WHEN now_at > end_at;
        IF now_at > start_at THEN
            steps := steps + 1;
        END IF;
        -- Rows of a table that sessions share are given up at once: two that hold some could block each other.
        IF is_update AND ({shared} = 1 OR now_at >= commit_at) THEN
            COMMIT;
            commit_at := now_at + patience;
        END IF;
        IF has_pauses THEN
            {pause}
        END IF;
    END LOOP;
    COMMIT;
END;
