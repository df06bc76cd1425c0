-- Data pages of a heap (sys.allocation_units.data_pages leaves index and allocation pages out).
SELECT CAST(SUM(u.data_pages) AS bigint)
FROM sys.partitions AS p
JOIN sys.allocation_units AS u ON u.container_id = p.hobt_id AND u.type = 1
WHERE p.object_id = OBJECT_ID(N'{table}') AND p.index_id IN (0, 1)
