-- Transactions of {rows_per_tx} rows until end_at, or until rows_wanted rows are in. What is counted
-- in steps ended inside (start_at, end_at]; the rest is of the whole call. Keys ascend from next_key, or
-- are hashes of ascending numbers. The pending counters of this backend are read at both ends: they are
-- sent on only when the backend is idle, so that inside a call they only grow.
CREATE PROCEDURE {schema}.{table}_work(
    start_at    timestamptz,
    end_at      timestamptz,
    rows_wanted bigint,
    mark        integer,
    seed        bigint,
    INOUT next_key    bigint,
    INOUT steps       bigint,
    INOUT inserted    bigint,
    INOUT key_sum     bigint,
    INOUT finished_at timestamptz,
    INOUT fetched     bigint,
    INOUT hit         bigint
) LANGUAGE plpgsql AS $body$
DECLARE
    filler    char(111) := repeat('x', 111);
    now_at    timestamptz := clock_timestamp();
    stamp     timestamp;
    ours      oid := '{schema}.{table}'::regclass;
    ours_key  oid := '{schema}.{table}_key'::regclass;
    {declarations}
BEGIN
    fetched := pg_stat_get_xact_blocks_fetched(ours) + pg_stat_get_xact_blocks_fetched(ours_key);
    hit := pg_stat_get_xact_blocks_hit(ours) + pg_stat_get_xact_blocks_hit(ours_key);
    steps := 0;
    inserted := 0;
    key_sum := 0;
    LOOP
        stamp := now_at;
        {keys}
        INSERT INTO {schema}.{table} (c1, c2, c3, c4, c5, c6) VALUES {rows};
        COMMIT;
        next_key := next_key + {rows_per_tx};
        inserted := inserted + {rows_per_tx};
        key_sum := key_sum + {key_sum};
        now_at := clock_timestamp();
        EXIT WHEN now_at > end_at;
        IF now_at > start_at THEN
            steps := steps + 1;
        END IF;
        EXIT WHEN inserted >= rows_wanted;
    END LOOP;
    finished_at := now_at;
    fetched := pg_stat_get_xact_blocks_fetched(ours) + pg_stat_get_xact_blocks_fetched(ours_key) - fetched;
    hit := pg_stat_get_xact_blocks_hit(ours) + pg_stat_get_xact_blocks_hit(ours_key) - hit;
END
$body$
