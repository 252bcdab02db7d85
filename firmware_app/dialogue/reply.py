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


@dataclass(slots=True, eq=False)
class _Said:
    """A clause, where its sound lies on the player's clock, and whether it was told of."""

    text: str
    start: int = 0
    end: int = 0
    told: bool = False


class Reply:
    """Says aloud what `words` yields, or only shows it where there is no mouth.

    Thinking and voicing begin at once; nothing is heard or shown before `release`.

    on_clause: called when a clause begins to sound, or is shown.
    voiced: whether a voice took part. aloud: whether it sounds, or is to.
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
        self._taken: list[_Said] = []  # clauses that are being voiced, sound, or are shown
        self._thought_out = False  # whether the last of them was taken
        self._said: list[_Said] = []
        self._as_text = asyncio.Event()
        self.voiced = False
        self.aloud = mouth is not None
        self._task = asyncio.create_task(self._run())
        self.error: EchoError | None = None

    def release(self) -> None:
        self._released.set()

    def go_on_as_text(self) -> None:
        """Fall silent, and show the rest to its end; what has begun to sound counts whole."""
        self._as_text.set()

    async def finished(self) -> Status:
        """Wait until the last sound was heard. What went wrong is in `error`."""
        await asyncio.shield(self._task)
        return Status.FAILED if self.error else Status.COMPLETE

    async def stop(self) -> None:
        """Fall silent at once. What was heard until then stays in `text`."""
        await self.discard()
        if not self._player or not self.aloud:
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

    @property
    def so_far(self) -> str:
        """The clauses that have begun to sound, or were shown, while it goes on."""
        return " ".join(said.text for said in self._taken if said.told)

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._think())
            group.create_task(self._give_out())

    async def _give_out(self) -> None:
        if self._voice and self._player:
            sounding = asyncio.create_task(self._sound(self._voice, self._player))
            silenced = asyncio.create_task(self._as_text.wait())
            try:
                await asyncio.wait([sounding, silenced], return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (sounding, silenced):
                    task.cancel()
                await asyncio.wait([sounding, silenced])
            if not sounding.cancelled():
                sounding.result()
                return
            await self._player.stop()
            self.aloud = False
        await self._show()

    async def _sound(self, voice: Voice, player: Player) -> None:
        sound: asyncio.Queue[tuple[_Said, Samples] | None] = asyncio.Queue(PIECES_AHEAD)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._give_voice(voice, sound))
            group.create_task(self._play(player, sound))

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

    async def _next(self) -> _Said | None:
        """The next clause; None after the last."""
        if self._thought_out:
            return None
        clause = await self._clauses.get()
        if clause is None:
            self._thought_out = True
            return None
        self._taken.append(_Said(clause))
        return self._taken[-1]

    async def _show(self) -> None:
        await self._released.wait()
        for said in self._taken:
            self._tell(said)
        while more := await self._next():
            self._tell(more)

    def _tell(self, said: _Said) -> None:
        if said not in self._said:
            self._said.append(said)
        if not said.told:
            said.told = True
            self._on_clause(said.text)

    async def _give_voice(
        self, voice: Voice, sound: asyncio.Queue[tuple[_Said, Samples] | None]
    ) -> None:
        try:
            while said := await self._next():
                self.voiced = True
                async with aclosing(voice.say(spoken(said.text, self._language))) as pieces:
                    async for samples in pieces:
                        await sound.put((said, samples))
        except EchoError as error:
            self.error = error
            # The rest cannot be said, but the thinking task must not wait on a full queue.
            while await self._next():
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
        self._tell(said)


async def say(mouth: Mouth, text: str, language: str, sound: Samples | None = None) -> None:
    """Play a sound, and say something that is no reply; cancelled, fall silent at once.

    Raises EngineError where the voice fails.
    """
    player = Player(mouth.sink, volume=mouth.volume)
    try:
        if sound is not None:
            await player.queue(sound)
        if text:
            async with aclosing(mouth.voice.say(spoken(text, language))) as pieces:
                async for samples in pieces:
                    await player.queue(samples)
        await player.drained()
        await player.close()
    except BaseException:
        await player.stop()
        raise


def _first_words(text: str, share: float) -> str:
    """The words of a clause that fit into this share of its time."""
    words = text.split()
    return " ".join(words[: int(len(words) * min(1.0, max(0.0, share)))])
