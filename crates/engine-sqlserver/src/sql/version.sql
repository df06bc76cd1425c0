-- What the server says of itself.
SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)),
       CAST(@@VERSION AS nvarchar(300)),
       CAST(DB_NAME() AS nvarchar(128))
