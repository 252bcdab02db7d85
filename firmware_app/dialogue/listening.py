"""Listening for one utterance: from a wake-up, a press or an open window to its commitment.

The transcript is looked at as soon as the speaker seems to pause, and the reply is prepared from
it; a speaker who goes on makes both vanish without a trace.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from firmware_app.dialogue.commands import without_wake_phrase
from firmware_app.dialogue.ear import Heard
from firmware_app.dialogue.endpoint import STAY, Endpointer, Signal
from firmware_app.dialogue.reply import Reply
from firmware_app.engines import Recogniser, Transcript
from firmware_app.frames import BLOCK_MS, Frame
from firmware_app.frames import seconds as in_seconds
from firmware_app.settings import EndpointSettings
from firmware_app.traces import Stage, Trace

ONSET = 300 // BLOCK_MS  # frames kept when sound that was no speech is dropped


class Gate(Protocol):
    """Decides whether what was said is for Echo; closed, nothing more is waited for."""

    follow_up: bool  # what is said follows a reply, without the wake word

    @property
    def open(self) -> bool: ...

    def accepts(self, transcript: Transcript, speech: tuple[Frame, ...]) -> bool: ...

    def rejected(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Utterance:
    """What was said, committed at the final endpoint, and the reply already begun for it.

    speech: the frames that held speech.
    """

    transcript: Transcript
    prepared: Reply | None
    speech: tuple[Frame, ...] = field(repr=False)


class Listening:
    """Listens for one utterance that its gate accepts.

    seconds: how long it waits for speech.
    tail_until: sample up to which speech is the end of the wake phrase, not of an utterance.
    prepare: called at the provisional endpoint with an accepted transcript; begins the reply, or
    returns None where that has to wait for the final endpoint.
    on_partial: called with each new partial transcript.
    """

    def __init__(
        self,
        recogniser: Recogniser,
        settings: EndpointSettings,
        language: str,
        seconds: float,
        tail_until: int,
        gate: Gate,
        trace: Trace,
        prepare: Callable[[Transcript], Reply | None],
        on_partial: Callable[[str], None],
    ) -> None:
        self._recogniser = recogniser
        self._settings = settings
        self._language = language
        self._seconds = seconds
        self._tail_until = tail_until
        self._gate = gate
        self._trace = trace
        self._prepare = prepare
        self._on_partial = on_partial
        self._began: int | None = None
        self._provisional = asyncio.Event()
        self._look: asyncio.Task[tuple[Transcript, Reply | None]] | None = None
        self._recent: deque[Frame] = deque(maxlen=ONSET)
        self._partial = ""
        self.rejected = False  # whether something was said, but not to Echo
        self._recognition = recogniser.start()
        self._start_over(seconds)

    @property
    def speech_heard(self) -> bool:
        return bool(self._speech)

    async def utterance(self, heard: AsyncIterator[Heard]) -> Utterance | None:
        """Return what was said, or None where nothing was."""
        try:
            async for item in heard:
                self._take_in(item)
                match self._endpointer.hear(item.speech, item.frame):
                    case Signal.EARLY:
                        self._look = asyncio.create_task(self._look_ahead())
                    case Signal.PROVISIONAL:
                        self._times[Stage.PROVISIONAL_ENDPOINT] = item.frame.heard_at
                        self._provisional.set()
                    case Signal.RESUMED:
                        await self._forget()
                    case Signal.FINAL | Signal.TOO_LONG:
                        utterance = await self._commit(item.frame)
                        left = self._seconds_left(item.frame)
                        if utterance or not self._gate.open or left <= 0:
                            return utterance
                        self._start_over(left)
                    case Signal.NOTHING_SAID:
                        return None
                    case Signal.SPEECH_START | None:
                        pass
            # A recording that ends in the middle of an utterance: what was said counts.
            return await self._commit(self._speech[-1]) if self._speech else None
        finally:
            self._recognition.cancel()
            await self._forget()

    def _start_over(self, seconds: float) -> None:
        """Wait for speech afresh; its onset may have been heard already."""
        self._endpointer = Endpointer(
            replace(self._settings, nothing_said_seconds=seconds), self._language
        )
        self._drop_sound()
        self._times: dict[Stage, float] = {}

    def _drop_sound(self) -> None:
        self._recognition.cancel()
        self._recognition = self._recogniser.start()
        for frame in self._recent:
            self._recognition.feed(frame)
        self._speech: list[Frame] = []

    def _take_in(self, item: Heard) -> None:
        if self._began is None:
            self._began = item.frame.index
        self._recent.append(item.frame)
        self._recognition.feed(item.frame)
        if item.speech >= STAY:
            self._speech.append(item.frame)
        if self._recognition.partial != self._partial:
            self._partial = self._recognition.partial
            self._on_partial(self._partial)

    async def _look_ahead(self) -> tuple[Transcript, Reply | None]:
        transcript = Transcript("")
        if (self._endpointer.speech_end or 0) > self._tail_until:
            transcript = _question(await self._recognition.peek())
        self._times[Stage.TRANSCRIPT] = time.monotonic()
        self._endpointer.text(transcript.text)
        if not transcript.text:
            self._drop_sound()
            return transcript, None
        await self._provisional.wait()
        accepted = self._gate.accepts(transcript, tuple(self._speech))
        return transcript, self._prepare(transcript) if accepted else None

    async def _commit(self, last: Frame) -> Utterance | None:
        """The utterance, where it is one for Echo."""
        self._provisional.set()
        if self._look:
            transcript, prepared = await self._look
            self._look = None
        else:
            transcript, prepared = _question(await self._recognition.finish()), None
            self._times[Stage.TRANSCRIPT] = time.monotonic()
        if not transcript.text:
            return None
        speech = tuple(self._speech)
        if not prepared and not self._gate.accepts(transcript, speech):
            self._gate.rejected()
            self.rejected = True
            return None
        self._mark_times(last)
        return Utterance(transcript, prepared, speech)

    def _mark_times(self, last: Frame) -> None:
        self._times[Stage.FINAL_ENDPOINT] = last.heard_at
        for stage, sample in (
            (Stage.SPEECH_START, self._endpointer.speech_start),
            (Stage.SPEECH_END, self._endpointer.speech_end),
        ):
            if sample is not None:
                self._times[stage] = last.heard_at - in_seconds(last.end - sample)
        for stage, at in self._times.items():
            self._trace.mark(stage, at)

    def _seconds_left(self, last: Frame) -> float:
        return self._seconds - in_seconds(last.end - (self._began or 0))

    async def _forget(self) -> None:
        """Undo what was prepared: the speaker goes on, or the turn is over."""
        self._provisional.clear()
        look, self._look = self._look, None
        if not look:
            return
        look.cancel()
        await asyncio.wait([look])
        if look.cancelled() or look.exception():
            return
        _, prepared = look.result()
        if prepared:
            await prepared.discard()


def _question(transcript: Transcript) -> Transcript:
    return replace(transcript, text=without_wake_phrase(transcript.text))
