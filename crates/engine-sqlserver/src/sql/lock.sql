-- Held by the session until it ends; 0 or 1 is had, negative is not. A session that was closed a moment ago may
-- still hold it, so three seconds are waited.
DECLARE @got int;
EXEC @got = sp_getapplock @Resource = 'threadwise:{schema}', @LockMode = 'Exclusive', @LockOwner = 'Session',
    @LockTimeout = 3000;
SELECT CASE WHEN @got >= 0 THEN 1 ELSE 0 END;
