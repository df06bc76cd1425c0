"""What the DuckDB worker reads of a profile, in the form of 2.0.0 and in the one before."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from duckdb_worker import planning_s, spilled_bytes  # noqa: E402


class Profiles(unittest.TestCase):
    """planning_s, spilled_bytes"""

    def test_groups_of_2_0_0(self) -> None:
        profile = {"planner": {"binding_time": 9.0, "total_time": 1.0}, "optimizer": {"total_time": 2.0},
                   "physical_planner": {"total_time": 4.0}, "system": {"peak_temp_dir_size": 7}}
        self.assertEqual((planning_s(profile), spilled_bytes(profile)), (7.0, 7))

    def test_names_side_by_side_before(self) -> None:
        profile = {"planner": 1.0, "all_optimizers": 2.0, "cumulative_optimizer_timing": 9.0,
                   "physical_planner": 4.0, "system_peak_temp_dir_size": 7, "children": []}
        self.assertEqual((planning_s(profile), spilled_bytes(profile)), (7.0, 7))


if __name__ == "__main__":
    unittest.main()
