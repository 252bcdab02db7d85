"""Findings as rows, and as a report that can be shown to strangers."""

import os
import platform
import pwd
import re
import socket
from collections.abc import Iterable, Sequence
from typing import Any

from firmware_app import __version__
from firmware_app.doctor.context import Context
from firmware_app.doctor.runner import Result

FIRST_PERSON = 1000  # the first user id that a person gets (login.defs, UID_MIN)
SHORTEST_NAME = 3  # letters; a shorter one would take the words apart
PLAIN = {
    "root",
    "pi",
    "localhost",
    "hey-echo",
    "raspberrypi",
    "debian",
    "nobody",
    "home",
}  # tell nothing

# Addresses by their shape; what a name stands for is replaced by name.
SHAPES = tuple(
    (re.compile(shape, re.IGNORECASE), mark)
    for shape, mark in (
        (r"\b[a-z][a-z0-9+.-]*://[^\s'\"]+", "URL"),
        (r"[\w.+-]+@[\w-]+(\.[\w-]+)+", "MAIL"),
        (r"\b[0-9a-f]{2}([:-][0-9a-f]{2}){5}\b", "MAC"),
        (r"(?<![\w.])\d{1,3}(\.\d{1,3}){3}(?![\w.])", "ADDRESS"),
        (r"(?<![\w:])([0-9a-f]{0,4}:){3,7}[0-9a-f]{0,4}(?![\w:])", "ADDRESS"),
        (r"(?<![\w:])[0-9a-f]{0,4}::[0-9a-f:]*(?![\w:])", "ADDRESS"),
        (r"/(home|Users)/[^/\s]+", r"/\1/USER"),
    )
)


def as_rows(results: Iterable[Result]) -> list[dict[str, Any]]:
    return [
        {
            "name": result.check.name,
            "area": result.check.area,
            "looks_at": result.check.looks_at,
            "status": result.finding.status,
            "line": result.finding.line,
            "mend": result.finding.mend,
            "seconds": round(result.seconds, 2),
        }
        for result in results
    ]


def report(results: Sequence[Result], context: Context) -> str:
    """Text for sharing: no words of conversations, no names of people or machines, no addresses."""
    hidden = names_of(context)
    machine = f"{platform.machine()}, Linux {platform.release()}"
    lines = [f"Hey Echo {__version__}, Python {platform.python_version()}, {machine}"]
    lines += [f"{r.finding.status}  {r.check.name}: {r.finding.line}" for r in results]
    return "".join(f"{without(line, hidden)}\n" for line in lines)


def names_of(context: Context) -> dict[str, str]:
    """What must not be shown, and what stands for it."""
    model = context.settings.model
    hidden = {
        socket.gethostname(): "MACHINE",
        context.environ.get("USER", ""): "USER",
        context.environ.get("SUDO_USER", ""): "USER",
        model.send_words_to: "SERVER",
        model.api_key: "KEY",
        context.settings.history.workspace: "WORKSPACE",
    }
    for user in pwd.getpwall():
        if user.pw_uid >= FIRST_PERSON or user.pw_uid == os.geteuid():
            hidden[user.pw_name] = "USER"
            hidden[user.pw_gecos.partition(",")[0]] = "USER"
    del hidden[""]
    return {
        name: mark
        for name, mark in hidden.items()
        if len(name) >= SHORTEST_NAME and name not in PLAIN
    }


def without(text: str, hidden: dict[str, str]) -> str:
    for name in sorted(hidden, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", hidden[name], text, flags=re.IGNORECASE)
    for shape, mark in SHAPES:
        text = shape.sub(mark, text)
    return text
