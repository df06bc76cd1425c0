"""`python -m threadwise`: the program that this module starts, with the same arguments."""

import os
import sys

from ._file import Error
from ._program import program

try:
    os.execv(program(), ["threadwise", *sys.argv[1:]])
except (Error, OSError) as error:
    sys.exit(f"threadwise: {error}")
