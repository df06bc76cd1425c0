BEGIN
    DBMS_STATS.GATHER_TABLE_STATS(
        ownname => USER, tabname => UPPER('{table}'), cascade => TRUE, no_invalidate => FALSE);
END;
