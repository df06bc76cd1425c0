DROP TABLE {schema}threadwise_loads PURGE
GO
DROP TABLE {schema}threadwise_objects PURGE
GO
-- This session is bound to it, too.
TRUNCATE TABLE {schema}threadwise_lock
GO
DROP TABLE {schema}threadwise_lock
GO
-- Last: until then a killed study is known by it.
DROP TABLE {schema}threadwise_mark PURGE
