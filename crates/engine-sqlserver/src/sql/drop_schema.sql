-- One transaction, so that the schema is never there without its mark. The server refuses it if objects were made in the
-- meantime, and XACT_ABORT keeps our tables then.
BEGIN TRANSACTION;
SET XACT_ABORT ON;
IF OBJECT_ID(N'[{schema}].[threadwise_loads]') IS NOT NULL DROP TABLE [{schema}].[threadwise_loads];
IF OBJECT_ID(N'[{schema}].[threadwise_objects]') IS NOT NULL DROP TABLE [{schema}].[threadwise_objects];
IF OBJECT_ID(N'[{schema}].[threadwise_mark]') IS NOT NULL DROP TABLE [{schema}].[threadwise_mark];
DROP SCHEMA [{schema}];
COMMIT TRANSACTION;
SET XACT_ABORT OFF;
