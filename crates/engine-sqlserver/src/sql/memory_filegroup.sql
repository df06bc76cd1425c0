SELECT CAST(name AS nvarchar(128)) FROM sys.filegroups WHERE type = 'FX'
