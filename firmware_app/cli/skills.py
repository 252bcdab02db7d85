"""hey-echo skills: what Echo can do without the language model."""

import argparse
from typing import Any


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    parser = commands.add_parser("skills", help="what Echo can do without the language model")
    actions = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listing = actions.add_parser("list", help="each skill, and something to say to it")
    listing.set_defaults(run=run_list)
    test = actions.add_parser("test", help="what a skill would make of a sentence; nothing is done")
    test.add_argument("sentence", metavar="SENTENCE")
    test.set_defaults(run=run_test)


def run_list(arguments: argparse.Namespace) -> int:
    from firmware_app.cli.output import table
    from firmware_app.cli.service import settings
    from firmware_app.skills.building import World, build

    now = settings()
    skills = build(World(settings=lambda: now))
    words = skills.language.skills
    table(
        ("skill", "what it does", "say"),
        [
            (skill.name, words[skill.name].about, f'"{words[skill.name].examples[0]}"')
            for skill in skills.skills
        ],
        right=frozenset(),
    )
    return 0


def run_test(arguments: argparse.Namespace) -> int:
    from firmware_app.cli.service import settings
    from firmware_app.skills.building import World, build

    now = settings()
    understood = build(World(settings=lambda: now)).understand(arguments.sentence)
    if not understood:
        print("the language model answers")
    elif understood.says:
        print(f"Echo asks: {understood.says.text}")
    elif understood.call:
        values = ", ".join(f"{k}={v}" for k, v in sorted(understood.call.arguments.items()))
        print(f"{understood.call.tool} {values}".rstrip())
    return 0
