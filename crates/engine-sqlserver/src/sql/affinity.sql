-- The schedulers of users' work: logical CPU, memory node, whether it is in use, whether the server chooses.
SELECT CAST(s.cpu_id AS int), CAST(n.memory_node_id AS int),
       CAST(CASE WHEN s.status = 'VISIBLE ONLINE' THEN 1 ELSE 0 END AS int),
       CAST(CASE WHEN i.affinity_type_desc = 'AUTO' THEN 1 ELSE 0 END AS int)
FROM sys.dm_os_schedulers AS s JOIN sys.dm_os_nodes AS n ON n.node_id = s.parent_node_id
CROSS JOIN sys.dm_os_sys_info AS i
WHERE s.status IN ('VISIBLE ONLINE', 'VISIBLE OFFLINE')
