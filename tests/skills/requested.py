"""What people say to a speaker, from a file, and whether a skill is right about it."""

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

from firmware_app.skills.registry import Skills


class Request(NamedTuple):
    """tool: the one that is meant; empty where it is a question for the language model."""

    text: str
    tool: str
    arguments: dict[str, Any]


def requests(file: str = "requests.csv") -> list[Request]:
    with (Path(__file__).parent / file).open(newline="", encoding="utf-8") as lines:
        return [
            Request(row["text"], row["tool"], json.loads(row["arguments"] or "{}"))
            for row in csv.DictReader(lines)
        ]


def assert_reached(skills: Skills, request: Request) -> None:
    """The skill that is meant is reached, with the right arguments."""
    understood = skills.understand(request.text)
    assert understood
    assert understood.call
    assert (understood.call.tool, understood.call.arguments) == (request.tool, request.arguments)
