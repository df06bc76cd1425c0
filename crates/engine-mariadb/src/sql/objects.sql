-- Kind and name of the tables, views, routines, events and triggers of the database, without its own three tables.
SELECT IF(TABLE_TYPE = 'BASE TABLE', 'table', LOWER(TABLE_TYPE)), TABLE_NAME
FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{schema}'
    AND TABLE_NAME NOT IN ('threadwise_mark', 'threadwise_objects', 'threadwise_loads')
UNION ALL
SELECT LOWER(ROUTINE_TYPE), ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{schema}'
UNION ALL
SELECT 'event', EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = '{schema}'
UNION ALL
SELECT 'trigger', TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = '{schema}'
