CREATE SCHEMA IF NOT EXISTS {schema};
DROP TABLE IF EXISTS {schema}.{table};
-- The process that calls it. pg_backend_pid is parallel restricted, so that workers would not call it; a function
-- in SQL would be inlined and be the same call again. It is not VOLATILE, since the planner takes a group by such a
-- function for as many groups as there are rows, and then has the leader aggregate all of them; called with a column
-- it is still called for every row. The column is tableoid, of which the planner knows that it has one value.
CREATE OR REPLACE FUNCTION {schema}.threadwise_worker(oid) RETURNS integer
    LANGUAGE internal STABLE PARALLEL SAFE STRICT AS 'pg_backend_pid';
-- As many workers as a session allows, whatever the table's size.
CREATE TABLE {schema}.{table} (id bigint NOT NULL, v bigint NOT NULL)
    WITH (parallel_workers = 1024, autovacuum_enabled = off);
INSERT INTO {schema}.{table} SELECT id, {value} FROM generate_series(1::bigint, {rows}) AS id
