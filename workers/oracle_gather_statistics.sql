BEGIN
    DBMS_STATS.GATHER_TABLE_STATS(ownname => USER, tabname => :name, cascade => TRUE, no_invalidate => FALSE);
END;
