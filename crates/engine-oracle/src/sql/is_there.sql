-- Objects in the account's schema whose names begin with the prefix, without the lock.
SELECT COUNT(*) FROM user_objects
WHERE SUBSTR(object_name, 1, LENGTH('{schema}')) = '{schema}' AND object_name != '{schema}THREADWISE_LOCK'
