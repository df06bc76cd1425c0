-- Both change, and their sum does not; no column of an index changes.
UPDATE /*+ INDEX(b (k)) NO_PARALLEL(b) */ {table} b SET amount = amount + 1, twin = twin - 1
WHERE k BETWEEN {first} AND {last}
