-- Waits for nothing; the log follows.
COMMIT WRITE BATCH NOWAIT
