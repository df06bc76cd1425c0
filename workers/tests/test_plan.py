"""Canonical plans of engines whose environment need not be there, from what they printed."""

from __future__ import annotations

import sys
import unittest

from support import WORKERS

sys.path.insert(0, str(WORKERS))

from threadwise_plan import clickhouse_plan, duckdb_plan  # noqa: E402

#: Query 15 at scale 0.1, ClickHouse 26.9.0; a subquery was executed while it was planned.
CLICKHOUSE_Q15 = """
Output: s_suppkey, s_name, s_address, s_phone, sumOrNull(l_extendedprice * (1 − l_discount))

Sorting (Sorting for ORDER BY)
│  Sort description: s_suppkey ASC
│  Limit 100
└──Join (JOIN FillRightFirst)
   │  supplier ⋈ R1[cache~1]
   │  Type: inner | Strictness: all | Algorithm: SpillingHashJoin(ConcurrentHashJoin)
   │  Cost: estimated 1.00
   │  Right: rows estimated 1.00
   │  Join conditions: s_suppkey = l_suppkey
   ├──ReadFromFile
   │     Output: __applyFilter(_runtime_filter_17850777980254988875, s_suppkey), s_name
   │     Runtime filters: RF1(s_suppkey, l_suppkey)
   └──BuildRuntimeFilter (Build runtime join filter on supplier_no)
      │  Filter id: RF1
      └──Filter ((WHERE + (Change column names to column identifiers + Projection)))
         │  Filter column: sumOrNull(l_extendedprice * (1 − l_discount)) = '1614410.2928'
         └──Aggregating
            │  Keys: l_suppkey
            │  Aggregates: sumOrNull(l_extendedprice * (1 − l_discount))
            │  Skip merging: 0
            └──ReadFromFile
                  Output: l_shipdate, l_suppkey, l_extendedprice, l_discount
                  Prewhere filter
                  Prewhere filter column:  l_shipdate < '1996-04-01'
"""


class ClickHouse(unittest.TestCase):
    """clickhouse_plan"""

    def test_operators_keep_what_tells_plans_apart_and_nothing_that_varies(self) -> None:
        self.assertEqual(clickhouse_plan(CLICKHOUSE_Q15).splitlines(), [
            "Sorting by s_suppkey ASC top 100",
            "  Join inner all SpillingHashJoin(HashJoin) s_suppkey = l_suppkey",
            "    ReadFromFile supplier",
            "    BuildRuntimeFilter supplier_no",
            "      Filter",
            "        Aggregating l_suppkey",
            "          ReadFromFile lineitem",
        ])

    def test_another_join_is_another_plan(self) -> None:
        other = CLICKHOUSE_Q15.replace("Algorithm: Spilling", "Algorithm: Grace")
        self.assertNotEqual(clickhouse_plan(other), clickhouse_plan(CLICKHOUSE_Q15))


class DuckDB(unittest.TestCase):
    """duckdb_plan"""

    def test_an_estimate_follows_the_operator_and_is_left_out_where_there_is_none(self) -> None:
        scan = {"name": "READ_PARQUET ", "children": [],
                "extra_info": {"Projections": "l_tax", "Estimated Cardinality": "600572"}}
        root = {"name": "UNGROUPED_AGGREGATE", "children": [scan], "extra_info": {}}
        self.assertEqual(duckdb_plan([root]),
                         "UNGROUPED_AGGREGATE\n  READ_PARQUET lineitem # rows=600572")


if __name__ == "__main__":
    unittest.main()
