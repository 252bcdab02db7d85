"""Builds Echo from its settings, and owns the order in which its parts start and stop."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from firmware_app.audio import Sink, Source
from firmware_app.audio.array import Array
from firmware_app.audio.echo import EchoCancelled
from firmware_app.device.board import Board, raw_channels
from firmware_app.dialogue.answering import Answering, Question
from firmware_app.dialogue.dialogue import Dialogue
from firmware_app.dialogue.ear import Ear
from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.open_talk import OpenTalk
from firmware_app.dialogue.ringing import Ringing
from firmware_app.engines import EngineNames, Engines
from firmware_app.engines.loading import load_model
from firmware_app.errors import EngineError, the_one
from firmware_app.events import Events
from firmware_app.settings import AudioSettings, Settings
from firmware_app.skills.building import World, build
from firmware_app.skills.registry import Skills
from firmware_app.traces import Trace, Traces

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Echo:
    """Echo at work: its dialogue, what it tells, and the times it took.

    cancellation: of the loudspeaker's echo, None where it is off, the error where it cannot be.
    """

    dialogue: Dialogue
    events: Events
    traces: Traces
    cancellation: EchoCancelled | EngineError | None = None


@asynccontextmanager
async def awake(
    settings: Settings,
    engines: Engines,
    source: Source,
    sink: Sink,
    events: Events,
    traces: Traces,
    keeper: Keeper | None = None,
    skills: Skills | None = None,
    array: Array | None = None,
) -> AsyncIterator[Echo]:
    """Echo listening to the source and speaking into the sink, until the block is left.

    Source and sink are closed with it, the engines and the keeper are not. keeper: has the
    conversation that is gone on with; without one nothing is saved. skills: whose timers somebody
    else lets ring; without them those of here do, and are gone with the block. array: the raw
    microphones of the source, if it has any.
    Raises the error that ended one of its tasks; the block is cancelled then.
    """
    source, cancellation = without_echo(source, sink, settings)
    ear = Ear(engines.wake, engines.activity)
    keeping = keeper or Keeper(settings)
    abilities = skills
    if abilities is None:
        world = World(settings=lambda: settings, talk=OpenTalk(keeping, events))
        abilities = await asyncio.to_thread(build, world)
    dialogue = Dialogue(settings, engines, ear, sink, keeping, events, traces, abilities, array)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(dialogue.run(), name="dialogue"),
                group.create_task(dialogue.listen_to(source), name="source"),
                group.create_task(abilities.warm_up(), name="skills"),
            ]
            if not skills:
                ringing = Ringing(abilities.timers, events, dialogue.announce)
                dialogue.stop_ringing = ringing.stop
                tasks.append(group.create_task(ringing.run(), name="ringing"))
            yield Echo(dialogue, events, traces, cancellation)
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


def without_echo(
    source: Source, sink: Sink, settings: Settings
) -> tuple[Source, EchoCancelled | EngineError | None]:
    """The source without the echo of the sink, and what cancels it or why nothing does."""
    if not settings.audio.echo_cancellation:
        return source, None
    try:
        cancelled = EchoCancelled(source, sink.reference)
    except EngineError as error:
        log.warning("%s", error)
        return source, error
    return cancelled, cancelled


def array_of(audio: AudioSettings, board: Board) -> Array | None:
    """The raw microphones that these sound settings listen to; audio: as `resolved` has them."""
    channels, heard = raw_channels(audio, board), audio.microphone_channel
    if not channels or not board.sound:
        return None
    place = channels.index(heard) if heard in channels else None
    return Array(channels, place, board.sound.positions)


async def answer(settings: Settings, question: str) -> AsyncGenerator[str, None]:
    """The answer to a typed question, clause by clause; timers are gone with it."""
    model = load_model(settings)
    clauses: asyncio.Queue[str | None] = asyncio.Queue()
    try:
        names = EngineNames(model=model.name)
        keeper = Keeper(settings)
        skills = await asyncio.to_thread(build, World(settings=lambda: settings))
        answering = Answering(
            settings, model, None, names, keeper, Events(), skills, lambda state: None
        )
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
