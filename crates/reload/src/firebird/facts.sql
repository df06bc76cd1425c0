/* What must be the same in a database and in its restored copy: settings, objects, sequences, rows.
   One fact a line. Names that Firebird makes itself (of indices, constraints, domains) may change in a
   restore, so these are counted. */
set bail on;
set heading off;
set term ^;
execute block returns (line varchar(500) character set utf8)
as
  declare old_dialect smallint;
  declare name varchar(300) character set utf8;
  declare label varchar(300) character set utf8;
  declare quoted varchar(400) character set utf8;
  declare n type of column mon$database.mon$pages;
  declare tables type of column mon$database.mon$pages = 0;
  declare total type of column mon$database.mon$pages = 0;
begin
  select 'id ' || rdb$relation_id from rdb$relations where rdb$relation_name = 'RDB$FILES' into :line;
  suspend;
  select 'files ' || count(*) from rdb$files into :line;
  suspend;
  select 'external ' || count(*) from rdb$relations where rdb$external_file is not null into :line;
  suspend;
  select 'owner ' || trim(trailing from mon$owner) from mon$database into :line;
  suspend;

  for select label || ' ' || content from (
      select 'page buffers' as label, mon$page_buffers as content from mon$database
      union all select 'dialect', mon$sql_dialect from mon$database
      union all select 'sweep interval', mon$sweep_interval from mon$database
      union all select 'read-only', mon$read_only from mon$database
      union all select 'forced writes', mon$forced_writes from mon$database
      union all select 'reserve', mon$reserve_space from mon$database
      union all select 'linger', coalesce(rdb$linger, 0) from rdb$database
    ) into :line
  do suspend;
  select 'character set ' || coalesce(trim(rdb$character_set_name), 'NONE') from rdb$database into :line;
  suspend;

  for select label || ' ' || content from (
      select 'views' as label, count(*) as content from rdb$relations
        where coalesce(rdb$system_flag, 0) = 0 and rdb$view_blr is not null
      union all select 'tables of a transaction or session', count(*) from rdb$relations
        where coalesce(rdb$system_flag, 0) = 0 and rdb$relation_type in (4, 5)
      union all select 'columns', count(*) from rdb$relation_fields where coalesce(rdb$system_flag, 0) = 0
      union all select 'domains', count(*) from rdb$fields where coalesce(rdb$system_flag, 0) = 0
      union all select 'indices', count(*) from rdb$indices where coalesce(rdb$system_flag, 0) = 0
      union all select 'unique indices', count(*) from rdb$indices
        where coalesce(rdb$system_flag, 0) = 0 and rdb$unique_flag = 1
      union all select 'inactive indices', count(*) from rdb$indices
        where coalesce(rdb$system_flag, 0) = 0 and rdb$index_inactive = 1
      union all select 'triggers', count(*) from rdb$triggers where coalesce(rdb$system_flag, 0) = 0
      union all select 'inactive triggers', count(*) from rdb$triggers
        where coalesce(rdb$system_flag, 0) = 0 and rdb$trigger_inactive = 1
      union all select 'procedures', count(*) from rdb$procedures where coalesce(rdb$system_flag, 0) = 0
      union all select 'functions', count(*) from rdb$functions where coalesce(rdb$system_flag, 0) = 0
      union all select 'packages', count(*) from rdb$packages where coalesce(rdb$system_flag, 0) = 0
      union all select 'exceptions', count(*) from rdb$exceptions where coalesce(rdb$system_flag, 0) = 0
      union all select 'roles', count(*) from rdb$roles where coalesce(rdb$system_flag, 0) = 0
      union all select 'collations', count(*) from rdb$collations where coalesce(rdb$system_flag, 0) = 0
      union all select 'filters', count(*) from rdb$filters where coalesce(rdb$system_flag, 0) = 0
    ) into :line
  do suspend;
  for select 'constraints ' || trim(rdb$constraint_type) || ' ' || count(*) from rdb$relation_constraints
    group by rdb$constraint_type order by rdb$constraint_type into :line
  do suspend;
  for select 'relations of ' || trim(trailing from rdb$owner_name) || ' ' || count(*) from rdb$relations
    where coalesce(rdb$system_flag, 0) = 0 group by rdb$owner_name order by rdb$owner_name into :line
  do suspend;
  for select 'rights of ' || trim(trailing from rdb$user) || ' ' || rdb$user_type || ' ' || count(*)
    from rdb$user_privileges
    where rdb$relation_name not starting with 'RDB$' and rdb$relation_name not starting with 'MON$'
      and rdb$relation_name not starting with 'SEC$' and rdb$relation_name not starting with 'SQL$'
    group by rdb$user, rdb$user_type order by rdb$user, rdb$user_type into :line
  do suspend;

  select iif(mon$sql_dialect < 3, 1, 0) from mon$database into :old_dialect;
  for select trim(trailing from rdb$generator_name), 'sequence ' || trim(trailing from rdb$generator_name)
      from rdb$generators where coalesce(rdb$system_flag, 0) = 0
      union all
      select trim(trailing from rdb$generator_name),
        'identity ' || trim(trailing from rdb$relation_name) || '.' || trim(trailing from rdb$field_name)
      from rdb$relation_fields where rdb$generator_name is not null
      order by 2 into :name, :label
  do begin
    quoted = iif(old_dialect = 1, name, '"' || replace(name, '"', '""') || '"');
    execute statement 'select gen_id(' || quoted || ', 0) from rdb$database' into :n;
    line = label || ' ' || n;
    suspend;
  end

  for select trim(trailing from rdb$relation_name) from rdb$relations
    where coalesce(rdb$system_flag, 0) = 0 and rdb$view_blr is null and rdb$external_file is null
      and coalesce(rdb$relation_type, 0) = 0
    order by rdb$relation_name into :name
  do begin
    quoted = iif(old_dialect = 1, name, '"' || replace(name, '"', '""') || '"');
    execute statement 'select count(*) from ' || quoted into :n;
    tables = tables + 1;
    total = total + n;
    line = 'rows ' || n || ' in ' || name;
    suspend;
  end
  line = 'all ' || tables || ' ' || total;
  suspend;
end^
