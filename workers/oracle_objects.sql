-- Everything in our schema whose name begins with our prefix.
SELECT object_type, object_name FROM user_objects
WHERE SUBSTR(object_name, 1, LENGTH(:prefix)) = :prefix
ORDER BY object_type, object_name
