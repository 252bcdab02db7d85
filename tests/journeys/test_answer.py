"""From "Hey Echo" to the answer, on real engines, in a room where Echo hears itself."""

import asyncio
import os
import signal
from collections.abc import Callable

import numpy as np
import pytest

from firmware_app.audio.chimes import chime
from firmware_app.audio.simulated import ListSink
from firmware_app.dialogue.likeness import plain
from firmware_app.events import (
    Notice,
    QuestionAsked,
    ReplyClause,
    ReplyEnded,
    StateChanged,
    Status,
    TurnDropped,
    TurnTraced,
    WakeWordHeard,
)
from firmware_app.frames import BLOCK, SAMPLE_RATE, Samples
from firmware_app.settings import Settings, VoiceSettings
from firmware_app.traces import Outcome, Stage
from tests.conftest import until
from tests.journeys.conftest import FOLLOW_UP, QUESTION, Tell, wake_word

pytestmark = pytest.mark.journey

ROOM = np.zeros(60 * SAMPLE_RATE, np.int16)  # in which nobody says anything


async def test_a_question_and_its_follow_up_are_answered_and_echo_ignores_itself(
    tell: Tell, understood: Callable[[Samples], str]
) -> None:
    async with tell([QUESTION, FOLLOW_UP]) as story:
        await story.heard_out()
        for heard, country in zip(story.questions, ("japan", "germany"), strict=True):
            assert f"what is the capital of {country}" in plain(heard)
        assert len(story.all(WakeWordHeard)) == 1
        assert len(story.answers) == 2
        assert "Tokyo" in story.answers[0]
        assert "Berlin" in story.answers[1]
        assert "tokyo" in understood(story.sink.samples)
        trace = story.all(TurnTraced)[0].trace
        assert set(trace.times) == set(Stage)


def chimes_at_most(samples: Samples) -> bool:
    """Whether there is no more sound than that of the chime that says "I listen"."""
    return int(np.count_nonzero(samples)) <= len(chime("wake"))


async def test_silence_after_the_wake_word_reaches_no_model(tell: Tell) -> None:
    async with tell([wake_word()]) as story:
        await story.heard_out()
        assert len(story.all(WakeWordHeard)) == 1
        assert story.all(TurnDropped) == [TurnDropped(Outcome.NOTHING_SAID)]
        assert story.questions == []
        assert chimes_at_most(story.sink.samples)


async def test_a_cough_and_a_hum_after_the_wake_word_are_no_question(tell: Tell) -> None:
    random = np.random.default_rng(1)
    cough = random.normal(0, 3000, SAMPLE_RATE // 6) * np.hanning(SAMPLE_RATE // 6)
    hum = 2000 * np.sin(np.arange(3 * SAMPLE_RATE) * 2 * np.pi * 100 / SAMPLE_RATE)
    quiet = np.zeros(SAMPLE_RATE // 2)
    sound = np.concatenate([wake_word(), quiet, cough, quiet, hum]).astype(np.int16)
    async with tell([sound]) as story:
        await story.heard_out()
        assert story.questions == []
        assert chimes_at_most(story.sink.samples)


def speaks(sink: ListSink) -> bool:
    """Whether a good part of a reply has been heard."""
    return sink.heard > SAMPLE_RATE // 2


async def test_the_wake_word_over_a_reply_stops_it(tell: Tell) -> None:
    said = [np.zeros(BLOCK, np.int16), QUESTION, ROOM]
    async with tell(said, echo_db=-12.0, when=speaks) as story:
        async for _ in story.echo.dialogue.ask("Tell me about the city of Paris."):
            break
        await story.until(WakeWordHeard)
        first = await story.until(ReplyEnded)
        assert first.status is Status.INTERRUPTED
        await story.until(ReplyEnded, 2)
        assert "Tokyo" in story.answers[1]


async def test_a_model_that_is_killed_while_it_thinks_answers_all_the_same(tell: Tell) -> None:
    async with tell([QUESTION]) as story:
        await story.until(WakeWordHeard)
        os.kill(story.engines.model.pid, signal.SIGKILL)  # type: ignore[attr-defined]
        ended = await story.until(ReplyEnded)
        assert ended.status is Status.COMPLETE
        assert "Tokyo" in ended.text


async def test_espeak_speaks_where_it_is_chosen(
    tell: Tell, understood: Callable[[Samples], str]
) -> None:
    settings = Settings(voice=VoiceSettings(engine="espeak"))
    async with tell([QUESTION], settings=settings) as story:
        await story.until(TurnTraced)
        assert "the capital of" in understood(story.sink.samples)


async def test_words_are_never_logged(tell: Tell, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        async with tell([QUESTION]) as story:
            await story.until(TurnTraced)
            words = plain(story.questions[0] + " " + story.answers[0]).split()
    logged = caplog.text.lower()
    assert [word for word in words if len(word) > 4 and word in logged] == []


async def test_stop_silences_a_reply_within_a_tenth_of_a_second(tell: Tell) -> None:
    async with tell([ROOM]) as story:
        asking = asyncio.create_task(anext(story.echo.dialogue.ask("Tell me about Paris.")))
        await story.until(ReplyClause)
        await until(lambda: speaks(story.sink))
        story.echo.dialogue.stop()
        await asyncio.sleep(0.1)
        played = len(np.trim_zeros(story.sink.samples, "b"))
        await asyncio.sleep(0.5)
        assert len(np.trim_zeros(story.sink.samples, "b")) == played
        await story.until(ReplyEnded)
        await asyncio.wait([asking])
        assert not story.all(Notice)
        assert story.all(StateChanged)
        assert not story.all(QuestionAsked)[0].spoken
