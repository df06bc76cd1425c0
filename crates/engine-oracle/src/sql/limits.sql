-- Connection limits of the instance, and those in use without this one (Database Reference 19c, "V$RESOURCE_LIMIT").
SELECT resource_name || ' of the instance',
       CASE WHEN REGEXP_LIKE(TRIM(limit_value), '^[0-9]+$') THEN TO_NUMBER(TRIM(limit_value)) END, 0,
       current_utilization - 1
FROM v$resource_limit WHERE resource_name IN ('processes', 'sessions') ORDER BY resource_name
