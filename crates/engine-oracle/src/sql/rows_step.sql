-- A transaction of the client's loop: an array of rows, and its commit, in one call.
DECLARE
    TYPE numbers IS TABLE OF NUMBER(19);
    new_keys numbers := numbers([[{key}|, ]]);
    places   numbers := numbers([[{row}|, ]]);
BEGIN
    FORALL place IN 1 .. {per_tx}
        INSERT INTO {table} (c1, c2, c3, c4, c5, c6)
        VALUES (new_keys(place), SYS_EXTRACT_UTC(SYSTIMESTAMP), RPAD('x', 111, 'x'), {owner}, places(place),
                new_keys(place));
-- In PL/SQL a COMMIT without these words waits only when the call ends.
?relaxed    COMMIT WRITE BATCH NOWAIT;
?!relaxed    COMMIT WRITE IMMEDIATE WAIT;
END;
