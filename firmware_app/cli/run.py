"""hey-echo run: the service, in the foreground."""

import argparse
from typing import Any


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    parser = commands.add_parser("run", help="run the service: listen and answer until stopped")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    import asyncio

    from firmware_app.service import serve

    asyncio.run(serve())
    return 0
