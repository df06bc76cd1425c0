SELECT CAST(delayed_durability_desc AS nvarchar(60)) FROM sys.databases WHERE name = DB_NAME()
