-- Waits for the log to be on the disk. In PL/SQL a COMMIT without these words waits only when the call ends.
COMMIT WRITE IMMEDIATE WAIT
