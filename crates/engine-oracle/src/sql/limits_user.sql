-- The limit of the account's profile: a number, UNLIMITED or DEFAULT ("USER_RESOURCE_LIMITS").
?counts SELECT 'SESSIONS_PER_USER of the account''s profile',
?!counts SELECT 'SESSIONS_PER_USER of the account''s profile (how many are in use is not known)',
       CASE WHEN REGEXP_LIKE("LIMIT", '^[0-9]+$') THEN TO_NUMBER("LIMIT") END, 0,
?counts       (SELECT COUNT(*) - 1 FROM v$session WHERE username = USER AND type = 'USER')
?!counts       0
FROM user_resource_limits WHERE resource_name = 'SESSIONS_PER_USER'
