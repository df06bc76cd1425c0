"""Results of threadwise as frames of pandas, polars or pyarrow, and studies that are started from Python.

>>> import threadwise
>>> study = threadwise.open("simulated.threadwise")
>>> len(study.slices) > len(study.runs)
True

docs/PYTHON.md has examples; the columns are those of docs/JSON.md.
"""

from ._file import Error
from ._histogram import percentile_ns
from ._program import ProgramError
from ._study import Observed, Study, open, run

__all__ = ["Error", "Observed", "ProgramError", "Study", "open", "percentile_ns", "run"]
