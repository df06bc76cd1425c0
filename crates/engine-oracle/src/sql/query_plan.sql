SELECT depth, operation, options, object_name, cardinality FROM v$sql_plan
WHERE sql_id = :p1 AND child_number = :p2 ORDER BY id
