SELECT COUNT(*) FROM all_objects
WHERE owner = 'SYS' AND object_name = :name AND object_type = 'PACKAGE'
