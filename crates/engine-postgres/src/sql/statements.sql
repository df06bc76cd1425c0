-- Counters of statements, with the moments of the server's start and of their last reset, in one row without any
-- statement if there is none. Texts are not read (the argument), which costs the server most.
-- Source: PostgreSQL documentation, "pg_stat_statements".
SELECT /* threadwise observe */ m.started, m.stats_reset, m.dealloc,
    s.dbid, s.userid, {toplevel}, s.queryid, s.calls, s.{time}, s.rows, {since}
FROM (SELECT pg_catalog.pg_postmaster_start_time() AS started, i.* FROM {info} AS i) AS m
LEFT JOIN {schema}.pg_stat_statements(false) AS s ON true
