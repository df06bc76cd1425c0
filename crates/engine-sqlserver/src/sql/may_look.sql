-- The second right is of 2022 and later; earlier versions do not know it, which is NULL.
SELECT CASE WHEN HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE') = 1
              OR HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER PERFORMANCE STATE') = 1
            THEN 1 ELSE 0 END
