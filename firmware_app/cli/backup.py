"""hey-echo backup: copies of the history on this device, and putting one back."""

import argparse
from pathlib import Path
from typing import Any

from firmware_app.cli.history import confirm, reach
from firmware_app.cli.output import as_json, table


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    backup = commands.add_parser("backup", help="copy the history, check a copy, put one back")
    verbs = backup.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def verb(name: str, run: Any, doc: str) -> argparse.ArgumentParser:  # noqa: ANN401
        parser: argparse.ArgumentParser = verbs.add_parser(name, help=doc, description=doc)
        parser.set_defaults(run=run)
        parser.add_argument("--json", action="store_true", help="for programs")
        return parser

    create = verb("create", run_create, "copy the history, while Echo goes on")
    create.add_argument(
        "path", metavar="FILE", nargs="?", type=Path, help="beside it, if not given"
    )
    verb("list", run_list, "copies of the history that were made on this device")
    verify = verb("verify", run_verify, "read every page of a copy")
    verify.add_argument("path", metavar="FILE", type=Path)
    restore = verb("restore", run_restore, "put a copy in the place of the history")
    restore.add_argument("path", metavar="FILE", type=Path)
    restore.add_argument("--replace", action="store_true", help="keep what is there aside")
    restore.add_argument(
        "--salvage", action="store_true", help="add what can be read of a damaged FILE"
    )
    restore.add_argument("--yes", action="store_true", help="without asking")


def run_create(arguments: argparse.Namespace) -> int:
    path = str(arguments.path.resolve()) if arguments.path else None
    answer = reach(lambda ask: ask("backup.create", path=path))
    _print(answer, "Copied to {path}: {what}.", arguments)
    return 0


def run_list(arguments: argparse.Namespace) -> int:
    from firmware_app.history.export import time_text

    answer = reach(lambda ask: ask("backup.list"))
    if arguments.json:
        as_json(answer)
    elif not answer["copies"]:
        print("There are no copies on this device.")
    else:
        rows = [(c["why"], time_text(c["made"]), c["path"]) for c in answer["copies"]]
        table(("what", "made", "file"), rows, right=frozenset())
    return 0


def run_verify(arguments: argparse.Namespace) -> int:
    answer = reach(lambda ask: ask("backup.verify", path=str(arguments.path.resolve())))
    _print(answer, "{path} is sound: {what}.", arguments)
    return 0


def run_restore(arguments: argparse.Namespace) -> int:
    if arguments.replace and not arguments.salvage:
        confirm("Put it in the place of the history that is there?", yes=arguments.yes)
    answer = reach(
        lambda ask: ask(
            "backup.restore",
            path=str(arguments.path.resolve()),
            replace=arguments.replace,
            salvage=arguments.salvage,
        )
    )
    _print(answer, "Restored from {path}: {what}.", arguments)
    if answer["aside"] and not arguments.json:
        print(f"What was there is kept as {answer['aside']}.")
    return 0


def _print(answer: dict[str, Any], sentence: str, arguments: argparse.Namespace) -> None:
    if arguments.json:
        as_json(answer)
        return
    what = (
        f"{answer['conversations']} conversations, {answer['entries']} entries,"
        f" {answer['size'] / 1e6:.1f} MB"
    )
    print(sentence.format(path=answer["path"], what=what))
