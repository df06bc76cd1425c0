SELECT sum(l_extendedprice * l_discount) AS revenue
FROM lineitem
WHERE l_shipdate >= :date
  AND l_shipdate < :date_end
  AND l_discount BETWEEN :discount_low AND :discount_high
  AND l_quantity < :quantity
