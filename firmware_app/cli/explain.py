"""hey-echo explain: what an error's code means, why it may be, and what to do."""

import argparse
from typing import Any


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    parser = commands.add_parser(
        "explain",
        help="what an error means, and what to do",
        description="What an error means, why it may be, and what to do. The code stands in "
        "[brackets] after the error.",
    )
    parser.add_argument("code", metavar="CODE", nargs="?", help="none: list them all")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from firmware_app.cli.output import table
    from firmware_app.explanations import EXPLANATIONS, find

    if arguments.code is None:
        table(
            ("code", "what happened"),
            [(code, explanation.happened) for code, explanation in sorted(EXPLANATIONS.items())],
            right=frozenset(),
        )
        return 0
    code = arguments.code.strip().strip("[]").lower()
    explanation = find(code)
    print(code)
    print(f"What happened: {explanation.happened}")
    print(f"Why it may be: {explanation.why}")
    print(f"What to do:    {explanation.do}")
    return 0
