"""An entry as the page gets it, wherever it comes from: history, memory, or a live event."""

from typing import Any, Protocol


class AnyEntry(Protocol):
    """What entries of all three have."""

    @property
    def number(self) -> int: ...

    @property
    def kind(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def input_mode(self) -> str | None: ...

    @property
    def created(self) -> float | None: ...


def entry_json(entry: AnyEntry, confidence: float | None) -> dict[str, Any]:
    return {
        "number": entry.number,
        "kind": entry.kind,
        "text": entry.text,
        "status": entry.status,
        "input_mode": entry.input_mode,
        "created": entry.created,
        "confidence": confidence,
    }
