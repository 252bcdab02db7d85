"""hey-echo run: the service, in the foreground."""

import argparse
from typing import Any


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    parser = commands.add_parser("run", help="run the service: listen and answer until stopped")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    import asyncio
    import logging
    import os

    from firmware_app.service import serve

    with asyncio.Runner() as runner:
        runner.run(serve())
        # All that is kept has been closed. A thread that still loads an engine is not waited for:
        # from a slow card that takes longer than a service manager waits.
        logging.shutdown()
        os._exit(0)
