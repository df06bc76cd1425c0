SELECT count(*), coalesce(sum(c1 % {modulus}), 0)::bigint FROM {table}
