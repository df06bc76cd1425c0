SELECT depth, operation, options, object_name, cardinality FROM v$sql_plan
WHERE sql_id = :sql_id AND child_number = :child ORDER BY id
