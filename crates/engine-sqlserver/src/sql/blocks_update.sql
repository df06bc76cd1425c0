-- Both change, so that the server cannot skip the write, and their sum does not. The count comes as a row, since NOCOUNT
-- suppresses it otherwise.
UPDATE {table} SET value = value + 1, twin = twin - 1 WHERE k BETWEEN {first} AND {last}; SELECT @@ROWCOUNT
