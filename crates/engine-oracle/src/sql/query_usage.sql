-- What all executions of a statement took, by its plans: the coordinator's and those of parallel execution servers.
SELECT child_number, executions, cpu_time, physical_read_bytes, physical_write_bytes FROM v$sql
WHERE sql_id = :p1
