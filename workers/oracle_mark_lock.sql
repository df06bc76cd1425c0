-- The lock of a study, where DBMS_LOCK may not be used: it lasts until the transaction's end, and DDL in the same
-- session would end that.
SELECT says FROM {prefix}MARK FOR UPDATE NOWAIT
