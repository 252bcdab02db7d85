"""hey-echo pair: let a phone see the page, list those that may, and shut one out."""

import argparse
import datetime
from typing import Any

from firmware_app.cli.output import as_json, table
from firmware_app.cli.service import runtime, settings


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    pair = commands.add_parser("pair", help="let a phone see the page; list and revoke phones")
    pair.add_argument(
        "--owner", metavar="NAME", help="whose conversations it sees [dialogue.owner]"
    )
    pair.add_argument("--json", action="store_true", help="for programs")
    pair.set_defaults(run=run_new)
    verbs = pair.add_subparsers(title="commands", metavar="COMMAND")
    show = verbs.add_parser("list", help="the phones that are paired")
    show.add_argument("--json", action="store_true", help="for programs")
    show.set_defaults(run=run_list)
    revoke = verbs.add_parser("revoke", help="shut a phone out, at once")
    revoke.add_argument("id", metavar="ID", type=int, help="its number in the list")
    revoke.set_defaults(run=run_revoke)


def run_new(arguments: argparse.Namespace) -> int:
    from firmware_app.control.client import call

    owner = arguments.owner or settings().dialogue.owner
    made: dict[str, Any] = call(runtime(), "pair.new", owner=owner)
    if arguments.json:
        as_json(made)
        return 0
    print(_picture(made["url"]))
    print(f"Open {made['address']} in the phone's browser, or point its camera at the picture.")
    print(
        f"The code is {made['code'][:4]} {made['code'][4:]}, for {made['seconds'] / 60:g} minutes."
    )
    if made["address"].startswith("http:"):
        print("Others on this network could listen in; to prevent that: hey-echo tls create")
    return 0


def run_list(arguments: argparse.Namespace) -> int:
    from firmware_app.control.client import call

    phones: list[dict[str, Any]] = call(runtime(), "pair.list")
    if arguments.json:
        as_json(phones)
    elif phones:
        rows = [
            [str(p["id"]), p["name"] or "(no name)", p["owner"], _time(p["last_used"])]
            for p in phones
        ]
        table(["id", "phone", "owner", "last used"], rows, right=frozenset({0}))
    else:
        print("No phone is paired. Pair one with: hey-echo pair")
    return 0


def run_revoke(arguments: argparse.Namespace) -> int:
    from firmware_app.control.client import call

    call(runtime(), "pair.revoke", id=arguments.id)
    print(f"Phone {arguments.id} sees nothing any more.")
    return 0


def _picture(text: str) -> str:
    """A QR code of half blocks, light on a dark terminal and dark on a light one."""
    import io

    try:
        import segno
    except ImportError as missing:
        from firmware_app.errors import EngineError

        raise EngineError(
            "not-installed", "The Python package segno is not installed.", "Run ./scripts/setup."
        ) from missing
    out = io.StringIO()
    segno.make(text, error="m", micro=False).terminal(out, compact=True)
    return out.getvalue()


def _time(at: float) -> str:
    return datetime.datetime.fromtimestamp(at).astimezone().isoformat(" ", "minutes")[:16]
