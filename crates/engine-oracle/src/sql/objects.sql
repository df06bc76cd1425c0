-- Kind and name, without the prefix, of everything in the account's schema whose name begins with it; without its own
-- four tables, and without indexes of tables with the prefix, which are dropped with them.
SELECT LOWER(object_type), SUBSTR(object_name, LENGTH('{schema}') + 1) FROM user_objects
WHERE SUBSTR(object_name, 1, LENGTH('{schema}')) = '{schema}'
    AND object_name NOT IN ('{schema}THREADWISE_LOCK', '{schema}THREADWISE_MARK', '{schema}THREADWISE_OBJECTS',
                            '{schema}THREADWISE_LOADS')
    AND NOT (object_type = 'INDEX' AND object_name IN (
        SELECT index_name FROM user_indexes WHERE SUBSTR(table_name, 1, LENGTH('{schema}')) = '{schema}'))
ORDER BY object_type, object_name
