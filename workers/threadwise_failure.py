"""The one error that ends a worker, and the words for it (docs/WORKER.md, "failed")."""

from __future__ import annotations

import re

#: Longest first sentence of an engine's message that is passed on, characters.
LONGEST = 300


class Failed(Exception):
    """Ends the worker: `kind` is one of docs/WORKER.md, the text has what failed and what to do."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(one_line(message))
        self.kind = kind


def first_sentence(text: str) -> str:
    """The first sentence of an engine's message, which may fill pages: with advice that does not
    apply here, similar names, the position in the query. Of nested errors, separated by lines
    "caused by", the outermost and the innermost."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    inner = [line for above, line in zip(lines, lines[1:]) if above.lower() == "caused by"]
    said = [_sentence(line) for line in lines[:1] + inner[-1:]]
    return one_line(": ".join(said), LONGEST)


def _sentence(line: str) -> str:
    """The text before the first full stop that a capital follows, without the stop."""
    return re.split(r"[.!?]\s+(?=[A-Z])", line, maxsplit=1)[0].rstrip(" .:;!")


def one_line(text: str, longest: int = 600) -> str:
    """`text` on one line, shortened to `longest` characters: engines' messages may fill pages."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
