-- Ratios of decimals have six decimals in T-SQL: the divisor is a double.
SELECT
  100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
    / CAST(sum(l_extendedprice * (1 - l_discount)) AS double precision) AS promo_revenue
FROM lineitem, part
WHERE l_partkey = p_partkey
  AND l_shipdate >= :date
  AND l_shipdate < :date_end
