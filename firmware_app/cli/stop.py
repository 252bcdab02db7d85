"""hey-echo stop: end the reply that is being spoken."""

import argparse
from typing import Any


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    parser = commands.add_parser("stop", help="stop the reply that is being spoken")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from firmware_app.cli.service import runtime
    from firmware_app.control.client import call

    call(runtime(), "stop")
    return 0
