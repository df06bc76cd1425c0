-- A limit of the user's profile: a number, UNLIMITED or DEFAULT.
SELECT "LIMIT" FROM user_resource_limits WHERE resource_name = 'SESSIONS_PER_USER'
