"""hey-echo status: what the running service is doing."""

import argparse
from typing import Any

from firmware_app.cli.output import as_json, as_text
from firmware_app.cli.service import runtime


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    parser = commands.add_parser("status", help="what the running service is doing")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from firmware_app.control.client import call

    status: dict[str, Any] = call(runtime(), "status")
    if arguments.json:
        as_json(status)
        return 0
    width = max(map(len, status), default=0)
    for name, value in status.items():
        print(f"{name.replace('_', ' '):{width}}  {as_text(value)}")
    return 0
