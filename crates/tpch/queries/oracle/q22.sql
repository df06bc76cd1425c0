-- No AS stands before names of tables in Oracle, which has no SUBSTRING.
SELECT cntrycode, count(*) AS numcust, sum(c_acctbal) AS totacctbal
FROM (
  SELECT substr(c_phone, 1, 2) AS cntrycode, c_acctbal
  FROM customer
  WHERE substr(c_phone, 1, 2) IN (:code1, :code2, :code3, :code4, :code5, :code6, :code7)
    AND c_acctbal > (
      SELECT avg(c_acctbal)
      FROM customer
      WHERE c_acctbal > 0.00
        AND substr(c_phone, 1, 2) IN (:code1, :code2, :code3, :code4, :code5, :code6, :code7)
    )
    AND NOT EXISTS (
      SELECT *
      FROM orders
      WHERE o_custkey = c_custkey
    )
) custsale
GROUP BY cntrycode
ORDER BY cntrycode
