-- Without a row of its own the user has no quota there; -1 is no limit.
SELECT u.default_tablespace, q.bytes, q.max_bytes
FROM user_users u LEFT JOIN user_ts_quotas q ON q.tablespace_name = u.default_tablespace
