"""How long each kept piece of a run took when it was made, so that a resumed run can tell."""

import json
from collections import defaultdict
from pathlib import Path
from statistics import mean


class Journal:
    """Seconds of work by step and piece, in a file of the run's own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seconds: dict[str, dict[str, float]] = defaultdict(dict)
        self._used: dict[str, list[str]] = defaultdict(list)
        if path.exists():
            self._seconds.update(json.loads(path.read_text()))

    def note(self, step: str, piece: str, seconds: float | None) -> None:
        """The run uses this piece; seconds: what making it took, None where it was kept."""
        self._used[step].append(piece)
        if seconds is not None:
            self._seconds[step][piece] = round(seconds, 2)

    def keep(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(self._seconds))
        part.replace(self._path)

    def minutes(self) -> float:
        """Process minutes of all pieces that the run used.

        A piece without a record, of a run that was stopped, counts as its step's average.
        """
        total = 0.0
        for step, pieces in self._used.items():
            known = [self._seconds[step][p] for p in pieces if p in self._seconds[step]]
            total += sum(known) + (len(pieces) - len(known)) * (mean(known) if known else 0.0)
        return total / 60
