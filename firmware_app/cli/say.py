"""hey-echo say: let Echo say something of your own."""

import argparse
from typing import Any


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    parser = commands.add_parser("say", help="let Echo say a sentence; it is not saved")
    parser.add_argument("text", metavar="TEXT", nargs="+", help="what to say")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from firmware_app.cli.service import runtime
    from firmware_app.control.client import call

    call(runtime(), "say", text=" ".join(arguments.text))
    return 0
