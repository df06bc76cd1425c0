-- Keys are never negative, so % is the remainder that sessions add up.
SELECT count(*), coalesce(sum(c1 % 1000000007), 0) FROM inserts
