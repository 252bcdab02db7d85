"""Builds Echo from its settings, and owns the order in which its parts start and stop."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from firmware_app.audio import Sink, Source
from firmware_app.dialogue.answering import Answering, Question
from firmware_app.dialogue.dialogue import Dialogue
from firmware_app.dialogue.ear import Ear
from firmware_app.dialogue.keeping import Keeper
from firmware_app.engines import EngineNames, Engines
from firmware_app.engines.loading import load_model
from firmware_app.errors import the_one
from firmware_app.events import Events
from firmware_app.settings import Settings
from firmware_app.traces import Trace, Traces


@dataclass(frozen=True, slots=True)
class Echo:
    """Echo at work: its dialogue, what it tells, and the times it took."""

    dialogue: Dialogue
    events: Events
    traces: Traces


@asynccontextmanager
async def awake(
    settings: Settings,
    engines: Engines,
    source: Source,
    sink: Sink,
    events: Events,
    traces: Traces,
    keeper: Keeper | None = None,
) -> AsyncIterator[Echo]:
    """Echo listening to the source and speaking into the sink, until the block is left.

    Source and sink are closed with it, the engines and the keeper are not. keeper: has the
    conversation that is gone on with; without one nothing is saved.
    Raises the error that ended one of its tasks; the block is cancelled then.
    """
    ear = Ear(engines.wake, engines.activity)
    keeping = keeper or Keeper(settings)
    dialogue = Dialogue(settings, engines, ear, sink, keeping, events, traces)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(dialogue.run(), name="dialogue"),
                group.create_task(dialogue.listen_to(source), name="source"),
            ]
            yield Echo(dialogue, events, traces)
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as errors:
        raise the_one(errors) from errors
    finally:
        if not keeper:
            await keeping.close()
        await ear.close()
        await source.close()
        await sink.close()


async def answer(settings: Settings, question: str) -> AsyncGenerator[str, None]:
    """The answer to a typed question, clause by clause, from the language model alone."""
    model = load_model(settings)
    clauses: asyncio.Queue[str | None] = asyncio.Queue()
    try:
        names = EngineNames(model=model.name)
        keeper = Keeper(settings)
        answering = Answering(settings, model, None, names, keeper, Events(), lambda state: None)
        await answering.warm_up()
        asked = Question(question, 1.0, "text", clauses.put_nowait)
        answered = asyncio.create_task(answering.answer(asked, None, Trace(time.time())))
        answered.add_done_callback(lambda task: clauses.put_nowait(None))
        while (clause := await clauses.get()) is not None:
            yield clause
        await answered
        await answering.close()
        await keeper.close()
    finally:
        await model.close()
