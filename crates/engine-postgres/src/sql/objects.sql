-- Kind and name of what is in the schema without its own three tables; what is neither a table nor a procedure has its
-- full name. Everything in a schema depends on it in pg_depend; what belongs to a table (indexes, row types) depends on
-- the table instead.
SELECT CASE WHEN n.kind IS NULL THEN o.type ELSE n.kind END, coalesce(n.name, o.identity)
FROM pg_depend AS d, LATERAL pg_identify_object(d.classid, d.objid, d.objsubid) AS o,
    LATERAL (SELECT CASE d.classid WHEN 'pg_proc'::regclass
        THEN (SELECT proname::text FROM pg_proc WHERE oid = d.objid AND prokind = 'p')
        ELSE (SELECT relname::text FROM pg_class WHERE oid = d.objid AND relkind = 'r' AND d.classid = 'pg_class'::regclass)
        END) AS found (name),
    LATERAL (SELECT found.name, CASE WHEN found.name IS NULL THEN NULL WHEN d.classid = 'pg_proc'::regclass
        THEN 'procedure' ELSE 'table' END) AS n (name, kind)
WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = '"{schema}"'::text::regnamespace AND d.deptype = 'n'
    AND n.name IS DISTINCT FROM 'threadwise_mark' AND n.name IS DISTINCT FROM 'threadwise_objects'
    AND n.name IS DISTINCT FROM 'threadwise_loads'
ORDER BY 1, 2
