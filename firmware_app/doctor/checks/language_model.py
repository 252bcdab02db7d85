"""Whether the language model answers: in a process of its own, since a wrong build dies there."""

import asyncio

from firmware_app.doctor import Area, Check, Finding, failed, failed_by, passed, warned
from firmware_app.doctor.context import Context
from firmware_app.doctor.trial import think, timed
from firmware_app.engines.loading import load_model
from firmware_app.errors import EchoError, ServiceError

SLOW = 20.0  # seconds to start and answer a question of two words


def run(context: Context) -> Finding:
    if context.vitals and context.vitals["awake"]:
        return _through_service(context)
    (name, letters), took = timed(lambda: asyncio.run(_ask(context)))
    if not letters:
        return failed(
            f"The language model {name} answers with nothing.",
            "hey-echo config unset model.model; if it stays so, run ./scripts/setup",
        )
    if took > SLOW:
        return warned(
            f"The language model {name} took {took:.0f} s to start and answer.",
            "Choose a smaller one, or let another machine think (model.backend = openai).",
        )
    return passed(f"{name} started and answered in {took:.1f} s.")


async def _ask(context: Context) -> tuple[str, int]:
    model = load_model(context.settings)
    try:
        return model.name, await think(model)
    finally:
        await model.close()


def _through_service(context: Context) -> Finding:
    """The running one is asked to count, which its process must be alive and loaded for."""
    try:
        told = context.ask("doctor.model")
    except ServiceError as error:
        return warned(f"Not tried: {error.what}", error.mend)
    except EchoError as error:
        return failed_by(error)
    return passed(f"{told['model']} runs in the service and answers.")


CHECK = Check("language-model", Area.ENGINES, "the language model", run, seconds=120, heavy=True)
