/* A sum over the contents of every table, a line each: of the hash of all of a row's values but for
   those that are computed and for arrays, which have no hash. A hash of 64 bits would overflow the sum. */
set bail on;
set heading off;
set term ^;
execute block returns (line varchar(500) character set utf8)
as
  declare old_dialect smallint;
  declare name varchar(300) character set utf8;
  declare label varchar(300) character set utf8;
  declare quoted varchar(400) character set utf8;
  declare row_text blob sub_type text character set utf8;
  declare n type of column mon$database.mon$pages;
begin
  select iif(mon$sql_dialect < 3, 1, 0) from mon$database into :old_dialect;
  for select trim(trailing from rdb$relation_name) from rdb$relations
    where coalesce(rdb$system_flag, 0) = 0 and rdb$view_blr is null and rdb$external_file is null
      and coalesce(rdb$relation_type, 0) = 0
    order by rdb$relation_name into :name
  do begin
    row_text = '''''';
    for select trim(trailing from of_table.rdb$field_name) from rdb$relation_fields of_table
      join rdb$fields of_type on of_type.rdb$field_name = of_table.rdb$field_source
      where of_table.rdb$relation_name = :name and of_type.rdb$computed_blr is null
        and coalesce(of_type.rdb$dimensions, 0) = 0
      order by of_table.rdb$field_position, of_table.rdb$field_name into :label
    do begin
      quoted = iif(old_dialect = 1, label, '"' || replace(label, '"', '""') || '"');
      row_text = row_text || '||coalesce(cast(mod(hash(' || quoted || '), 1000003) as varchar(8)), ''-'')||'',''';
    end
    quoted = iif(old_dialect = 1, name, '"' || replace(name, '"', '""') || '"');
    execute statement 'select coalesce(sum(mod(hash(' || row_text || '), 1000003)), 0) from ' || quoted into :n;
    line = 'contents ' || n || ' in ' || name;
    suspend;
  end
end^
