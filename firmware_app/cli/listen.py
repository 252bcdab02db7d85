"""hey-echo listen: what Echo makes of a recording."""

import argparse
import asyncio
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    parser = commands.add_parser(
        "listen",
        help="run a recording as if it were the microphone",
        description="Run a recording as if it were the microphone, at the speed of time. "
        "Nothing is saved. Exit status 1: Echo answered nothing in it.",
    )
    parser.add_argument("recording", metavar="FILE", type=Path, help="WAV or FLAC")
    parser.add_argument(
        "--out", metavar="WAV", type=Path, help="write the loudspeaker's sound here"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from firmware_app.cli.service import settings
    from firmware_app.cli.session import run_recordings

    answered = asyncio.run(run_recordings(settings(), [arguments.recording], arguments.out))
    if not answered:
        print("Echo answered nothing: it heard no wake word, or no question after one.")
    return 0 if answered else 1
