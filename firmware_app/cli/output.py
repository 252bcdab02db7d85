"""How commands print: tables for people, JSON for programs."""

import sys
from collections.abc import Sequence
from typing import Any


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: frozenset[int]) -> None:
    """Print aligned columns. right: the columns that are aligned to the right, from 0."""
    lines = [headings, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    for line in lines:
        cells = (
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join(cells).rstrip())


def as_json(value: Any) -> None:  # noqa: ANN401 - whatever JSON can say
    import json

    print(json.dumps(value, ensure_ascii=False, indent=2))


def as_text(value: object) -> str:
    """A setting's value as one types it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def warn(sentence: str) -> None:
    print(f"hey-echo: {sentence}", file=sys.stderr)


def say(line: str) -> None:
    """What goes on meanwhile: on standard error, so that the answer stays alone."""
    print(line, file=sys.stderr, flush=True)
