-- Steps until end_at. What is counted ended inside (start_at, end_at]; calls, fetched and missed are of the
-- whole call. The pending counters of this backend are read at both ends: they are sent on only when the
-- backend is idle, so that inside a call they only grow.
CREATE PROCEDURE {procedure}(
    start_us bigint,
    end_us   bigint,
    x        bigint,
    INOUT steps   bigint DEFAULT 0,
    INOUT calls   bigint DEFAULT 0,
    INOUT wrong   bigint DEFAULT 0,
    INOUT fetched bigint DEFAULT 0,
    INOUT missed  bigint DEFAULT 0
) LANGUAGE plpgsql AS $body$
DECLARE
    start_at    timestamptz := timestamptz 'epoch' + start_us * interval '1 microsecond';
    end_at      timestamptz := timestamptz 'epoch' + end_us * interval '1 microsecond';
    is_update   boolean := false;
    from_key    integer;
    found_rows  bigint;
    found_sum   bigint;
    now_at      timestamptz;
-- Versions that an update left can go when nobody has an older snapshot, so that sessions that
-- share a server with updates give theirs up more often.
?updates    patience    interval := interval '10 ms';
?!updates    patience    interval := interval '100 ms';
    commit_at   timestamptz := clock_timestamp() + patience;
    ours        oid := '{table}'::regclass;
    ours_by_k   oid := '"{schema}"."{name}_by_k"'::regclass;
BEGIN
    PERFORM setseed(x / 1073741823.5 - 1);
    fetched := pg_stat_get_xact_blocks_fetched(ours) + pg_stat_get_xact_blocks_fetched(ours_by_k);
    missed := fetched - pg_stat_get_xact_blocks_hit(ours) - pg_stat_get_xact_blocks_hit(ours_by_k);
    LOOP
?updates        is_update := random() < {update_pct}::double precision / 100;
?hot        from_key := floor(random() * CASE WHEN random() < {hot_pct}::double precision / 100 THEN {hot_starts} ELSE {starts} END);
?!hot        from_key := floor(random() * {starts});
?updates        IF is_update THEN
?updates            UPDATE {table} SET a = a + 1, b = b - 1
?updates                WHERE k BETWEEN from_key AND from_key + {last};
?updates            GET DIAGNOSTICS found_rows = ROW_COUNT;
?updates            found_sum := {sum_at_0} + {sum_per_key}::bigint * from_key;
?updates        ELSE
            SELECT count(*), sum(a + b) INTO found_rows, found_sum FROM {table}
                WHERE k BETWEEN from_key AND from_key + {last};
?updates        END IF;
        IF found_rows IS DISTINCT FROM {unit} OR found_sum IS DISTINCT FROM {sum_at_0} + {sum_per_key}::bigint * from_key THEN
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
?pauses        PERFORM pg_sleep(least({think_us} / 1e6, extract(epoch FROM end_at - now_at)));
    END LOOP;
    missed := pg_stat_get_xact_blocks_fetched(ours) + pg_stat_get_xact_blocks_fetched(ours_by_k)
        - pg_stat_get_xact_blocks_hit(ours) - pg_stat_get_xact_blocks_hit(ours_by_k) - missed;
    fetched := pg_stat_get_xact_blocks_fetched(ours) + pg_stat_get_xact_blocks_fetched(ours_by_k) - fetched;
END
$body$
