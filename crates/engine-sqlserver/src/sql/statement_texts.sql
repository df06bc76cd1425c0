-- Texts of the Query Store of this database, of statements with parameters in place of literals (1 by the user, 2 simple, 3
-- forced). From 2016 on.
-- Source: sys.query_store_query (query_parameterization_type), sys.query_store_query_text.
SELECT /* threadwise observe */ CONVERT(varchar(20), q.query_hash, 1), DB_NAME(), LEFT(t.query_sql_text, 4000)
FROM sys.query_store_query AS q
JOIN sys.query_store_query_text AS t ON t.query_text_id = q.query_text_id
WHERE q.query_parameterization_type <> 0
