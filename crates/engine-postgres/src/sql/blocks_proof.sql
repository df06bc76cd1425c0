-- Rows, blocks that have a row, and blocks of the file.
SELECT count(*), count(DISTINCT (ctid::text::point)[0]),
       pg_relation_size('{table}') / current_setting('block_size')::bigint
FROM {table}
