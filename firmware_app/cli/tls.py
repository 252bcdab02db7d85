"""hey-echo tls: a certificate, so that nobody on the network can listen in."""

import argparse
from typing import Any

from firmware_app.cli.output import as_json
from firmware_app.cli.service import settings


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    tls = commands.add_parser("tls", help="a certificate for the page")
    verbs = tls.add_subparsers(title="commands", metavar="COMMAND", required=True)
    create = verbs.add_parser("create", help="make one for this box")
    create.add_argument("--replace", action="store_true", help="in the place of the one there is")
    create.set_defaults(run=run_create)
    show = verbs.add_parser("show", help="the one in use, and its fingerprint")
    show.add_argument("--json", action="store_true", help="for programs")
    show.set_defaults(run=run_show)


def run_create(arguments: argparse.Namespace) -> int:
    from firmware_app.folders import state_dir
    from firmware_app.web import tls

    now = settings()
    made = tls.create(now, state_dir(now), replace=arguments.replace)
    _print(made)
    if now.web.certificate:
        print("The settings name another, which is used: web.certificate")
    print("It counts from the next start of Echo: sudo systemctl restart hey-echo")
    print("Phones warn of it once: go on only where they show this fingerprint.")
    return 0


def run_show(arguments: argparse.Namespace) -> int:
    from firmware_app.errors import SettingsError
    from firmware_app.web import tls

    found = tls.files(settings())
    if found is None:
        raise SettingsError(
            "no-tls", "The page has no certificate.", "Make one with: sudo hey-echo tls create"
        )
    about = tls.look_at(found.certificate)
    if arguments.json:
        as_json(
            {
                "fingerprint": about.fingerprint,
                "names": list(about.names),
                "ends": about.ends.isoformat(),
            }
        )
    else:
        _print(about)
    return 0


def _print(certificate: Any) -> None:  # noqa: ANN401 - tls.Certificate, imported late
    pairs = certificate.fingerprint.split(":")
    print(f"for {', '.join(certificate.names)}, until {certificate.ends:%Y-%m-%d}")
    print(f"SHA-256 {':'.join(pairs[:16])}:\n        {':'.join(pairs[16:])}")
