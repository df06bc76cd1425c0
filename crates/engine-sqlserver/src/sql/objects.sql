-- Kind and name of what a schema holds but our own three tables, constraints of tables left out (they go with them).
SELECT CAST(CASE o.type WHEN 'U' THEN 'table' WHEN 'P' THEN 'procedure' ELSE 'other' END AS varchar(9)),
       CAST(o.name AS nvarchar(128))
FROM sys.objects AS o
WHERE o.schema_id = SCHEMA_ID(N'{schema}')
  AND o.type NOT IN ('PK', 'UQ', 'D', 'C', 'F', 'IT')
  AND o.name NOT IN ('threadwise_mark', 'threadwise_objects', 'threadwise_loads')
UNION ALL
SELECT CAST('other' AS varchar(9)), CAST(t.name AS nvarchar(128))
FROM sys.types AS t
WHERE t.schema_id = SCHEMA_ID(N'{schema}')
