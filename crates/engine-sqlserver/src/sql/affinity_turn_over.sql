DECLARE @got int;
EXEC @got = sp_releaseapplock @Resource = 'threadwise affinity', @LockOwner = 'Session';
