"""hey-echo reload: let the running service read its settings again."""

import argparse
from typing import Any


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    parser = commands.add_parser("reload", help="read the settings again, without a restart")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from firmware_app.cli.service import runtime
    from firmware_app.control.client import call

    answer = call(runtime(), "reload")
    changed = answer["changed"]
    print(f"Changed: {', '.join(changed)}." if changed else "No setting has changed.")
    if waiting := answer["needs_restart"]:
        print(f"Only after a restart: {', '.join(waiting)}.")
        print("Restart it with: sudo systemctl restart hey-echo")
    return 0
