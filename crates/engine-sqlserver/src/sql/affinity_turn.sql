-- One session at a time changes the affinity. That of a killed process has its turn until the change that it sent is
-- made, so that nothing is put back before. 1 is had.
DECLARE @got int;
EXEC @got = sp_getapplock @Resource = 'threadwise affinity', @LockMode = 'Exclusive', @LockOwner = 'Session',
    @LockTimeout = 10000;
SELECT CASE WHEN @got >= 0 THEN 1 ELSE 0 END;
