"""The one error that ends a worker, and the words for it (docs/WORKER.md, "failed")."""


class Failed(Exception):
    """Ends the worker: `kind` is one of docs/WORKER.md, the text has what failed and what to do."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(one_line(message))
        self.kind = kind


def one_line(text: str, longest: int = 600) -> str:
    """`text` on one line, shortened to `longest` characters: engines' messages may fill pages."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
