-- Bytes of a table and its indexes.
SELECT NVL(SUM(bytes), 0) FROM user_segments
WHERE segment_name = :name OR segment_name IN (SELECT index_name FROM user_indexes WHERE table_name = :name)
