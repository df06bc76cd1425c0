-- What statements are, asked once for each. Nothing of a text is returned if it is not wanted.
SELECT /* threadwise observe */ s.dbid, s.userid, {toplevel}, s.queryid, d.datname, r.rolname,
    CASE WHEN $2 THEN pg_catalog.left(s.query, 16000) END, s.query LIKE '%threadwise observe%'
FROM {schema}.pg_stat_statements(true) AS s
LEFT JOIN pg_catalog.pg_database AS d ON d.oid = s.dbid
LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = s.userid
WHERE s.queryid = ANY ($1)
