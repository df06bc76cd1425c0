-- Rows, and blocks that hold one. A block's number counts within its file.
SELECT COUNT(*),
       COUNT(DISTINCT DBMS_ROWID.ROWID_RELATIVE_FNO(rowid) || '.' || DBMS_ROWID.ROWID_BLOCK_NUMBER(rowid))
FROM {table}
