-- Bytes of a block of the tablespace that a table lies in.
SELECT s.block_size FROM user_tables t JOIN user_tablespaces s ON s.tablespace_name = t.tablespace_name
WHERE t.table_name = UPPER('{table}')
