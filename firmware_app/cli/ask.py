"""hey-echo ask: a typed question, answered by the running service or, where none runs, here."""

import argparse
import asyncio
from typing import Any


def add(commands: Any) -> None:  # noqa: ANN401 - argparse does not name its type
    parser = commands.add_parser(
        "ask",
        help="type a question",
        description="Type a question. The running service answers it aloud too; where none runs "
        "the answer is only shown, and nothing is saved.",
    )
    parser.add_argument("question", metavar="QUESTION", nargs="+")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from firmware_app.cli.service import runtime
    from firmware_app.errors import ServiceError, UsageError

    question = " ".join(arguments.question).strip()
    if not question:
        raise UsageError("usage", "The question is empty.", 'Type: hey-echo ask "…"')
    try:
        asyncio.run(_ask_service(runtime(), question))
    except ServiceError as error:
        if error.code != "not-running":
            raise
        asyncio.run(_answer_here(question))
    return 0


async def _ask_service(runtime: Any, question: str) -> None:  # noqa: ANN401 - a Path, imported late
    from firmware_app.control.stream import stream

    async for answer in stream(runtime, "ask", text=question):
        if "event" in answer:
            print(answer["event"]["clause"], end=" ", flush=True)
    print()


async def _answer_here(question: str) -> None:
    from firmware_app.app import answer
    from firmware_app.cli.service import settings

    async for clause in answer(settings(), question):
        print(clause, end=" ", flush=True)
    print()
