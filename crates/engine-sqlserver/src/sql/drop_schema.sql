-- The server refuses this if objects were made in the meantime.
IF OBJECT_ID(N'[{schema}].[threadwise_loads]') IS NOT NULL DROP table [{schema}].[threadwise_loads]
GO
IF OBJECT_ID(N'[{schema}].[threadwise_objects]') IS NOT NULL DROP table [{schema}].[threadwise_objects]
GO
IF OBJECT_ID(N'[{schema}].[threadwise_mark]') IS NOT NULL DROP table [{schema}].[threadwise_mark]
GO
DROP SCHEMA [{schema}]
