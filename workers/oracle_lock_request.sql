-- The lock of a study: gone with the session, and not with a transaction.
BEGIN
    :result := DBMS_LOCK.REQUEST(
        id => :id, lockmode => DBMS_LOCK.X_MODE, timeout => 3, release_on_commit => FALSE);
END;
