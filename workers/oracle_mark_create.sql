-- The table that makes the objects with our prefix ours: made with its row, or not at all.
CREATE TABLE {prefix}MARK AS SELECT CAST('{says}' AS VARCHAR2(100 CHAR)) AS says FROM dual
