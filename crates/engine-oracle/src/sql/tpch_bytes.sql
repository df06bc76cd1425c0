-- Bytes of the tables and indexes with the prefix.
SELECT NVL(SUM(bytes), 0) FROM user_segments WHERE SUBSTR(segment_name, 1, LENGTH('{schema}')) = '{schema}'
