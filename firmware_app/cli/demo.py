"""hey-echo demo: the main job on a recording, or live."""

import argparse
import asyncio
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).resolve().parents[2] / "recordings" / "demo"


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    parser = commands.add_parser(
        "demo",
        help="see and hear what Echo does, on a recording or live",
        description="See and hear what Echo does, on a recording or live. Nothing is saved.",
    )
    parser.add_argument(
        "--live", action="store_true", help="use this machine's microphone and loudspeaker"
    )
    parser.add_argument(
        "--out", metavar="WAV", type=Path, help="where the loudspeaker's sound goes"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from firmware_app.cli.service import settings
    from firmware_app.cli.session import run_live, run_recordings
    from firmware_app.folders import own_folder

    if arguments.live:
        print('Say "Hey Echo" and a question. Ctrl-C ends it.', flush=True)
        asyncio.run(run_live(settings()))
        return 0
    out = arguments.out or own_folder("XDG_CACHE_HOME", ".cache") / "demo" / "loudspeaker.wav"
    out.parent.mkdir(parents=True, exist_ok=True)
    print("A synthetic voice, not Echo's own, asks two questions; Echo hears itself as in a room.")
    recordings = [RECORDINGS / "question.wav", RECORDINGS / "follow_up.wav"]
    answered = asyncio.run(run_recordings(settings(), recordings, out, in_room=True))
    print(f"answered {answered} of {len(recordings)} questions")
    print(f"loudspeaker: {out}")
    return 0 if answered == len(recordings) else 1
