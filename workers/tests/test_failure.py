"""The words for an engine's errors: what is kept of a message that goes on for pages."""

from __future__ import annotations

import sys
import unittest

from support import WORKERS

sys.path.insert(0, str(WORKERS))

from threadwise_failure import LONGEST, first_sentence  # noqa: E402
from threadwise_session import one_error  # noqa: E402

#: As DuckDB 2.0.0 says it.
OUT_OF_MEMORY = """Out of Memory Error: failed to pin block of size 256.0 KiB (9.4 MiB/9.5 MiB used)

Possible solutions:
* Reducing the number of threads (SET threads=X)
* Disabling insertion-order preservation (SET preserve_insertion_order=false)
* Increasing the memory limit (SET memory_limit='...GB')

See also https://duckdb.org/docs/stable/guides/performance/how_to_tune_workloads"""

SPILL_FULL = """Out of Memory Error: failed to offload data block of size 256.0 KiB (0 bytes/0 bytes used).
This limit was set by the 'max_temp_directory_size' setting.
You can adjust this setting, by using (for example) PRAGMA max_temp_directory_size='10GiB'"""

UNKNOWN = """Catalog Error: Scalar Function with name frobnicate does not exist!
Did you mean "replace"?

LINE 1: SELECT frobnicate(r_name) FROM region
               ^"""

CHAINED = """Execution error: the stream ended. More is in the log
caused by
External error: one
caused by
IO error: no such file: part 0. Try again"""


class FirstSentence(unittest.TestCase):
    """first_sentence and the errors made of it"""

    def test_what_is_kept(self) -> None:
        for text, kept in [
            (OUT_OF_MEMORY, OUT_OF_MEMORY.splitlines()[0]),
            (SPILL_FULL, SPILL_FULL.splitlines()[0].rstrip(".")),
            (UNKNOWN, "Catalog Error: Scalar Function with name frobnicate does not exist"),
            (CHAINED, "Execution error: the stream ended: IO error: no such file: part 0"),
            ("version 1.5 of e.g. this is too old", "version 1.5 of e.g. this is too old"),
            ("\n  \n one \n two", "one"),
            ("", ""),
        ]:
            self.assertEqual(first_sentence(text), kept)
        self.assertEqual(len(first_sentence("x" * 10_000)), LONGEST)

    def test_an_error_says_what_to_do_in_our_words(self) -> None:
        def said(text: str) -> str:
            failed = one_error("duckdb", "execute query q18 of stream 0", RuntimeError(text))
            self.assertNotIn("\n", str(failed))
            return str(failed)

        memory = said(OUT_OF_MEMORY)
        self.assertTrue(memory.startswith("duckdb could not execute query q18 of stream 0: Out of"))
        self.assertTrue(memory.endswith("used); raise memory_limit_mb, lower dop or scale"), memory)
        self.assertTrue(said(SPILL_FULL).endswith("or give a spill_dir with more space"))
        for text in (OUT_OF_MEMORY, SPILL_FULL):
            self.assertNotIn("SET", said(text))
            self.assertNotIn("PRAGMA", said(text))


if __name__ == "__main__":
    unittest.main()
