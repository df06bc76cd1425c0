-- Where the view of pg_stat_statements is in this database, and which of the columns that came later it has. No row if
-- the extension is not in this database.
-- Source: PostgreSQL documentation, "pg_stat_statements" (total_exec_time and toplevel: 1.8 and 1.9 of the extension).
SELECT quote_ident(n.nspname) || '.pg_stat_statements' AS of_pg_stat_statements,
    EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'total_exec_time'),
    EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'toplevel')
FROM pg_extension e
JOIN pg_namespace n ON n.oid = e.extnamespace
JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = 'pg_stat_statements'
WHERE e.extname = 'pg_stat_statements'
