"""A reply in the making: thought, cut into clauses, voiced and played, each beside the next.

It may be begun before the question is committed: it stays silent until released, and vanishes
when discarded.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from firmware_app.audio import Sink
from firmware_app.audio.player import Player
from firmware_app.dialogue.clauses import ClauseSplitter
from firmware_app.dialogue.speakable import Speakable
from firmware_app.dialogue.spoken import spoken
from firmware_app.engines import Voice
from firmware_app.errors import EchoError
from firmware_app.events import Status
from firmware_app.frames import SAMPLE_RATE, Samples
from firmware_app.traces import Stage, Trace

CLAUSES_AHEAD = 8  # clauses thought but not yet voiced; the model waits beyond that
PIECES_AHEAD = 64  # pieces of sound voiced but not yet handed to the player


@dataclass(frozen=True, slots=True)
class Mouth:
    """What a reply is spoken with; volume is 0 to 100."""

    voice: Voice
    sink: Sink
    volume: float


@dataclass(slots=True)
class _Said:
    """A clause, and where its sound lies on the player's clock."""

    text: str
    start: int = 0
    end: int = 0


class Reply:
    """Says aloud what `words` yields, or only shows it where there is no mouth.

    Thinking and voicing begin at once; nothing is heard or shown before `release`.

    on_clause: called when a clause begins to sound, or is shown.
    """

    def __init__(
        self,
        words: AsyncGenerator[str, None],
        mouth: Mouth | None,
        trace: Trace,
        language: str,
        on_clause: Callable[[str], None],
    ) -> None:
        self._words = words
        self._voice = mouth.voice if mouth else None
        self._player = mouth and Player(
            mouth.sink,
            volume=mouth.volume,
            on_first_audio=lambda at: trace.mark(Stage.FIRST_AUDIO, at),
        )
        self._trace = trace
        self._language = language
        self._on_clause = on_clause
        self._released = asyncio.Event()
        self._clauses: asyncio.Queue[str | None] = asyncio.Queue(CLAUSES_AHEAD)
        self._said: list[_Said] = []
        self._task = asyncio.create_task(self._run())
        self.error: EchoError | None = None

    def release(self) -> None:
        self._released.set()

    async def finished(self) -> Status:
        """Wait until the last sound was heard. What went wrong is in `error`."""
        await asyncio.shield(self._task)
        return Status.FAILED if self.error else Status.COMPLETE

    async def stop(self) -> None:
        """Fall silent at once. What was heard until then stays in `text`."""
        await self.discard()
        if not self._player:
            return
        heard = await self._player.stop()
        self._said = [said for said in self._said if said.start < heard]
        if self._said and self._said[-1].end > heard:
            last = self._said[-1]
            last.text = _first_words(last.text, (heard - last.start) / (last.end - last.start))

    async def discard(self) -> None:
        """Stop thinking and voicing."""
        self._task.cancel()
        await asyncio.wait([self._task])
        await self._words.aclose()
        if not self._released.is_set():
            self._trace.forget(Stage.FIRST_TOKEN, Stage.FIRST_CLAUSE)

    @property
    def text(self) -> str:
        """What was said aloud, or shown, so far."""
        return " ".join(said.text for said in self._said if said.text)

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._think())
            if self._voice and self._player:
                sound: asyncio.Queue[tuple[_Said, Samples] | None] = asyncio.Queue(PIECES_AHEAD)
                group.create_task(self._give_voice(self._voice, sound))
                group.create_task(self._play(self._player, sound))
            else:
                group.create_task(self._show())

    async def _think(self) -> None:
        splitter = ClauseSplitter(self._language)
        speakable = Speakable(self._language)
        try:
            async for text in self._words:
                self._trace.mark(Stage.FIRST_TOKEN, time.monotonic())
                for clause in splitter.feed(text):
                    await self._hand_over(speakable.clause(clause))
        except EchoError as error:
            self.error = error
        for clause in splitter.finish():
            await self._hand_over(speakable.clause(clause))
        await self._clauses.put(None)

    async def _hand_over(self, clause: str) -> None:
        if clause := clause.strip():
            self._trace.mark(Stage.FIRST_CLAUSE, time.monotonic())
            await self._clauses.put(clause)

    async def _show(self) -> None:
        await self._released.wait()
        while (clause := await self._clauses.get()) is not None:
            self._said.append(_Said(clause))
            self._on_clause(clause)

    async def _give_voice(
        self, voice: Voice, sound: asyncio.Queue[tuple[_Said, Samples] | None]
    ) -> None:
        try:
            while (clause := await self._clauses.get()) is not None:
                said = _Said(clause)
                async with aclosing(voice.say(spoken(clause, self._language))) as pieces:
                    async for samples in pieces:
                        await sound.put((said, samples))
        except EchoError as error:
            self.error = error
            # The rest cannot be said, but the thinking task must not wait on a full queue.
            while await self._clauses.get() is not None:
                pass
        await sound.put(None)

    async def _play(
        self, player: Player, sound: asyncio.Queue[tuple[_Said, Samples] | None]
    ) -> None:
        await self._released.wait()
        async with asyncio.TaskGroup() as announcements:
            while (piece := await sound.get()) is not None:
                said, samples = piece
                span = await player.queue(samples)
                said.end = span.end
                if not self._said or self._said[-1] is not said:
                    said.start = span.start
                    self._said.append(said)
                    announcements.create_task(self._announce(player, said))
            await player.drained()
        await player.close()

    async def _announce(self, player: Player, said: _Said) -> None:
        """Tell of a clause when it begins to sound."""
        while (ahead := said.start - player.position) > 0:
            await asyncio.sleep(ahead / SAMPLE_RATE)
        self._on_clause(said.text)


def _first_words(text: str, share: float) -> str:
    """The words of a clause that fit into this share of its time."""
    words = text.split()
    return " ".join(words[: int(len(words) * min(1.0, max(0.0, share)))])
