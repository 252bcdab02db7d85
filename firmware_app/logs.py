"""Where log lines go and how often: to standard error, which systemd hands to the journal.

Nothing that was said is ever passed to a logger, at any level; these lines name things and codes.
"""

import logging
import os
import sys
import threading
import traceback
from collections.abc import Mapping
from typing import Any, TextIO

from firmware_app.errors import EchoError

QUIET_SECONDS = 600.0  # a fault that goes on is told once in ten minutes
TEMPLATES = 512  # kept apart at most

# Levels as sd-daemon(3) spells them, so that the journal knows them too.
_JOURNAL_LEVELS = {
    logging.DEBUG: "<7>",
    logging.INFO: "<6>",
    logging.WARNING: "<4>",
    logging.ERROR: "<3>",
    logging.CRITICAL: "<2>",
}


def set_up(
    level: str, stream: TextIO | None = None, environ: Mapping[str, str] = os.environ
) -> None:
    """Send all logging to the stream (standard error), from this level up.

    level: debug, info, warning or error, as log.level has it.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Lines(journal="JOURNAL_STREAM" in environ, details=level == "debug"))
    handler.addFilter(Once())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())


class Lines(logging.Formatter):
    """One line a record; the journal brings its own time. Tracebacks only among the details."""

    def __init__(self, *, journal: bool, details: bool) -> None:
        when = "" if journal else "%(asctime)s %(levelname)-7s "
        super().__init__(when + "%(name)s: %(message)s", "%H:%M:%S")
        self._journal = journal
        self._details = details

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        if not self._journal:
            return text
        # Each line on its own: the journal would give only the first of them the level.
        level = _JOURNAL_LEVELS.get(record.levelno, "<6>")
        return "\n".join(level + line for line in text.splitlines())

    def formatException(self, ei: Any) -> str:  # noqa: N802, ANN401 - as the base class has it
        """Kind and place of an exception. Its message may quote what was said, so it stays out."""
        kind, fault, places = ei
        told = str(fault) if isinstance(fault, EchoError | OSError) else "no message is logged"
        frames = "".join(traceback.format_tb(places)) if self._details else ""
        return f"{frames}{kind.__name__}: {told}"


class Once(logging.Filter):
    """Lets a warning or error through once in ten minutes, and says how many it held back."""

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[tuple[str, int, str], tuple[float, int]] = {}  # when, held back since
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        kind = record.exc_info[0] if record.exc_info else None
        key = (record.name, record.levelno, f"{record.msg} {kind}")
        with self._lock:
            when, held = self._told.pop(key, (None, 0))
            if when is not None and record.created - when < QUIET_SECONDS:
                self._told[key] = when, held + 1
                return False
            self._told[key] = record.created, 0
            if len(self._told) > TEMPLATES:
                del self._told[next(iter(self._told))]
        if held:
            record.msg = f"{record.getMessage()} (and {held} times since the last line)"
            record.args = None
        return True
