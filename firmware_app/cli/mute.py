"""hey-echo mute, unmute: close the microphone, and open it again."""

import argparse
from typing import Any


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    for name, what in (("mute", "close the microphone"), ("unmute", "open the microphone again")):
        parser = commands.add_parser(name, help=what)
        parser.set_defaults(run=run, call=name)


def run(arguments: argparse.Namespace) -> int:
    from firmware_app.cli.service import runtime
    from firmware_app.control.client import call

    muted = call(runtime(), arguments.call)["muted"]
    print("Echo is muted: the microphone is closed." if muted else "Echo hears again.")
    return 0
