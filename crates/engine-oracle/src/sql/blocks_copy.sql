-- Conventional, so that PCTFREE holds row by row, and in the order of the first table's rows.
INSERT /*+ NOAPPEND */ INTO {table} (k, amount, twin, payload)
SELECT k, amount, twin, payload FROM {from} ORDER BY rowid
