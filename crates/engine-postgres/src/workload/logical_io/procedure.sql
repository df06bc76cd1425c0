-- Steps until end_at. What is counted ended inside (start_at, end_at]; calls, fetched and hit are of the
-- whole call. The pending counters of this backend are read at both ends: they are sent on only when the
-- backend is idle, so that inside a call they only grow.
CREATE PROCEDURE {schema}.{table}_work(
    start_at    timestamptz,
    end_at      timestamptz,
    work_unit   integer,
    starts      integer,
    hot_pct     double precision,
    hot_starts  integer,
    update_pct  double precision,
    think_s     double precision,
    INOUT steps   bigint,
    INOUT wrong   bigint,
    INOUT calls   bigint,
    INOUT fetched bigint,
    INOUT hit     bigint
) LANGUAGE plpgsql AS $body$
DECLARE
    -- Constants of the call, so that a step computes as little as can be.
    last_offset integer := work_unit - 1;
    -- Sum of 7 k + 3 over work_unit keys from 0; from another first key, 7 work_unit first more.
    sum_at_0    bigint := 7 * (work_unit::bigint * (work_unit - 1) / 2) + 3 * work_unit::bigint;
    sum_per_key bigint := 7 * work_unit::bigint;
    has_hot     boolean := hot_pct > 0;
    has_updates boolean := update_pct > 0;
    has_pauses  boolean := think_s > 0;
    hot_share   double precision := hot_pct / 100;
    update_share double precision := update_pct / 100;
    is_update   boolean := false;
    range_starts integer := starts;
    from_key    integer;
    found_rows  bigint;
    found_sum   bigint;
    now_at      timestamptz;
    -- Versions that an update left can go when nobody has an older snapshot, so that sessions that
    -- share a server with updates give theirs up more often.
    patience    interval := CASE WHEN update_pct > 0 THEN interval '10 ms' ELSE interval '100 ms' END;
    commit_at   timestamptz := clock_timestamp() + patience;
    ours        oid := '{schema}.{table}'::regclass;
    ours_by_k   oid := '{schema}.{table}_by_k'::regclass;
BEGIN
    fetched := pg_stat_get_xact_blocks_fetched(ours) + pg_stat_get_xact_blocks_fetched(ours_by_k);
    hit := pg_stat_get_xact_blocks_hit(ours) + pg_stat_get_xact_blocks_hit(ours_by_k);
    steps := 0;
    wrong := 0;
    calls := 0;
    LOOP
        IF has_updates THEN
            is_update := random() < update_share;
        END IF;
        IF has_hot THEN
            range_starts := CASE WHEN random() < hot_share THEN hot_starts ELSE starts END;
        END IF;
        from_key := floor(random() * range_starts);
        IF is_update THEN
            UPDATE {schema}.{table} SET a = a + 1, b = b - 1
                WHERE k BETWEEN from_key AND from_key + last_offset;
            GET DIAGNOSTICS found_rows = ROW_COUNT;
            found_sum := sum_at_0 + sum_per_key * from_key;
        ELSE
            SELECT count(*), sum(a + b) INTO found_rows, found_sum FROM {schema}.{table}
                WHERE k BETWEEN from_key AND from_key + last_offset;
        END IF;
        IF found_rows IS DISTINCT FROM work_unit OR found_sum IS DISTINCT FROM sum_at_0 + sum_per_key * from_key THEN
            wrong := wrong + 1;
        END IF;
        calls := calls + 1;
        now_at := clock_timestamp();
        EXIT WHEN now_at > end_at;
        IF now_at > start_at THEN
            steps := steps + 1;
        END IF;
        -- An update keeps its rows locked until here; more than one at a time could deadlock.
        IF is_update OR now_at >= commit_at THEN
            COMMIT;
            commit_at := now_at + patience;
        END IF;
        IF has_pauses THEN
            PERFORM pg_sleep(least(think_s, extract(epoch FROM end_at - now_at)));
        END IF;
    END LOOP;
    fetched := pg_stat_get_xact_blocks_fetched(ours) + pg_stat_get_xact_blocks_fetched(ours_by_k) - fetched;
    hit := pg_stat_get_xact_blocks_hit(ours) + pg_stat_get_xact_blocks_hit(ours_by_k) - hit;
END
$body$
