-- Some milliseconds of CPU time, to see which process they are taken by.
DECLARE
    total NUMBER := 0;
BEGIN
    FOR step IN 1 .. 20000 LOOP
        total := total + SQRT(step);
    END LOOP;
END;
