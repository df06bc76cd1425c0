SELECT CAST(name AS nvarchar(128)), CAST(spins AS bigint), CAST(collisions AS bigint), CAST(backoffs AS bigint)
FROM sys.dm_os_spinlock_stats WHERE spins > 0
