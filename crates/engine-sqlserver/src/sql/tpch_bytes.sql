SELECT CAST(SUM(u.used_pages) AS bigint) * 8192
FROM sys.tables AS t
JOIN sys.partitions AS p ON p.object_id = t.object_id
JOIN sys.allocation_units AS u ON u.container_id = p.hobt_id
WHERE t.schema_id = SCHEMA_ID(N'{schema}')
