"""Echo in a room where it hears itself: it is deaf to its own voice, and not to people's."""

import asyncio
from collections.abc import Callable

import numpy as np
import pytest

from firmware_app.audio.chimes import Name, chime
from firmware_app.audio.echo import EchoCancelled
from firmware_app.audio.player import Player
from firmware_app.audio.wav import read_wav
from firmware_app.events import (
    EntryAdded,
    PartialTranscript,
    ReplyEnded,
    Status,
    TurnDropped,
    WakeWordHeard,
)
from firmware_app.frames import BLOCK, SAMPLE_RATE, Samples, dbfs
from firmware_app.traces import Outcome
from tests.frames_of import spoken
from tests.journeys.conftest import QUESTION, Story, Tell, wake_word

pytestmark = pytest.mark.journey

ASKED = "What is the capital of France?"
ROOM = np.zeros(60 * SAMPLE_RATE, np.int16)  # in which nobody says anything
READING = (
    "Bees make honey from the nectar of flowers. They carry it home, and fan it with their wings "
    "until the water is gone. Then they close the comb with wax, and wait for the winter. "
)
CHIMES: tuple[Name, ...] = ("wake", "done", "error", "mute", "unmute", "timer")


async def say(story: Story, sound: np.ndarray[tuple[int], np.dtype[np.int16]]) -> None:
    """Let the loudspeaker play it, as if Echo had said it."""
    player = Player(story.sink)
    await player.queue(sound)
    await player.drained()
    await player.close()


@pytest.mark.parametrize("echo_db", [-24.0, -12.0, -6.0])
async def test_what_echo_says_never_wakes_it_and_is_never_a_question(
    tell: Tell, echo_db: float
) -> None:
    async with tell([ROOM], echo_db=echo_db) as story:
        async for _ in story.echo.dialogue.ask(ASKED):
            pass
        assert (await story.until(ReplyEnded)).status is Status.COMPLETE
        # Of all that Echo could say, this is the worst.
        await say(story, read_wav(QUESTION))
        await say(story, read_wav(QUESTION))
        await asyncio.sleep(2)
        assert story.all(WakeWordHeard) == []
        assert story.all(PartialTranscript) == []
        assert story.questions == [ASKED]
        assert [e.text for e in story.all(EntryAdded) if e.kind == "user"] in ([], [ASKED])
        canceller = story.echo.cancellation
        assert isinstance(canceller, EchoCancelled)
        assert canceller.delay == pytest.approx(0.06, abs=0.005)


async def test_chimes_are_not_taken_for_speech(tell: Tell) -> None:
    async with tell([wake_word(), ROOM], echo_db=-6.0) as story:
        await story.until(WakeWordHeard)
        for name in CHIMES:
            await say(story, chime(name))
        await story.until(TurnDropped)
        assert story.all(TurnDropped) == [TurnDropped(Outcome.NOTHING_SAID)]
        assert story.questions == []
        assert story.sink.samples.any()


async def test_stop_said_over_its_voice_ends_what_it_says_and_other_words_do_not(
    tell: Tell,
) -> None:
    heard = {}
    for words in ("Yes.", "Stop!"):
        word = spoken(words, "en-us+f2")
        quieter = (word * 10 ** ((-30 - dbfs(word)) / 20)).astype(np.int16)  # as loud as the echo
        said = [ROOM[:BLOCK], quieter, ROOM]
        async with tell(said, when=lambda sink: sink.heard > 4 * SAMPLE_RATE) as story:
            await story.echo.dialogue.announce(2 * READING)
            heard[words] = story.sink.heard / SAMPLE_RATE
            assert story.all(WakeWordHeard) == []
            assert story.questions == []
    assert heard["Stop!"] < heard["Yes."] - 4


async def test_the_word_stop_in_its_own_text_does_not_stop_it(
    tell: Tell, understood: Callable[[Samples], str]
) -> None:
    async with tell([ROOM]) as story:
        await story.echo.dialogue.announce(f"Stop! The bus does stop here. Stop. {READING}")
        assert "winter" in understood(story.sink.samples[-4 * SAMPLE_RATE :])
