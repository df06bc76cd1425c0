-- Transactions of {per_tx} rows until end_at, or until rows_wanted rows are in where that is not 0. What is counted
-- in steps ended inside (start_at, end_at]; the rest is of the whole call. Keys ascend from next_key, or
-- are hashes of ascending numbers, without the two highest bits. The pending counters of this backend are read at both
-- ends: they are sent on only when the backend is idle, so that inside a call they only grow.
CREATE PROCEDURE {procedure}(
    owner       integer,
    next_key    bigint,
    xi          bigint,
    yi          bigint,
    start_us    bigint,
    end_us      bigint,
    rows_wanted bigint,
    INOUT steps    bigint DEFAULT 0,
    INOUT calls    bigint DEFAULT 0,
    INOUT key_sum  bigint DEFAULT 0,
    INOUT x        bigint DEFAULT 0,
    INOUT y        bigint DEFAULT 0,
    INOUT ended_us bigint DEFAULT 0,
    INOUT fetched  bigint DEFAULT 0,
    INOUT missed   bigint DEFAULT 0
) LANGUAGE plpgsql AS $body$
DECLARE
    start_at  timestamptz := timestamptz 'epoch' + start_us * interval '1 microsecond';
    end_at    timestamptz := timestamptz 'epoch' + end_us * interval '1 microsecond';
    seed      bigint := xi * 2147483648 + yi;
    filler    char(111) := '{text}';
    now_at    timestamptz := clock_timestamp();
    stamp     timestamp;
    ours      oid := '{table}'::regclass;
    ours_key  oid := '"{schema}"."{name}_key"'::regclass;
    [[k{row} bigint;| ]]
BEGIN
    fetched := pg_stat_get_xact_blocks_fetched(ours) + pg_stat_get_xact_blocks_fetched(ours_key);
    missed := fetched - pg_stat_get_xact_blocks_hit(ours) - pg_stat_get_xact_blocks_hit(ours_key);
    x := xi;
    y := yi;
    LOOP
        stamp := now_at;
?random        [[k{row} := hashint8extended(next_key + {row}, seed) & 4611686018427387903;| ]]
?!random        [[k{row} := next_key + {row};| ]]
        INSERT INTO {table} (c1, c2, c3, c4, c5, c6) VALUES [[(k{row}, stamp, filler, owner, {row}, next_key)|, ]];
        COMMIT;
        next_key := next_key + {per_tx};
        calls := calls + 1;
        key_sum := key_sum + [[k{row} % {modulus}| + ]];
        now_at := clock_timestamp();
        IF now_at > start_at AND now_at <= end_at THEN
            steps := steps + 1;
        END IF;
        EXIT WHEN now_at > end_at OR calls * {per_tx} = rows_wanted;
    END LOOP;
    ended_us := (extract(epoch FROM now_at) * 1000000)::bigint;
    missed := pg_stat_get_xact_blocks_fetched(ours) + pg_stat_get_xact_blocks_fetched(ours_key)
        - pg_stat_get_xact_blocks_hit(ours) - pg_stat_get_xact_blocks_hit(ours_key) - missed;
    fetched := pg_stat_get_xact_blocks_fetched(ours) + pg_stat_get_xact_blocks_fetched(ours_key) - fetched;
END
$body$
