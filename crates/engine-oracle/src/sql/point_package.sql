SELECT COUNT(*) FROM all_objects
WHERE owner = 'SYS' AND object_name = :p1 AND object_type = 'PACKAGE'
