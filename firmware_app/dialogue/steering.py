"""Steering an array towards whoever said the wake word, for the recogniser alone.

The wake word and voice activity keep to one microphone: they must hear people from anywhere.
"""

import asyncio
import logging
from dataclasses import dataclass

import numpy as np

from firmware_app.audio.array import Array, Beam, Weights, anchor, direction, weights
from firmware_app.dialogue.ear import WakeUp
from firmware_app.engines import Recogniser, Recognition, Transcript
from firmware_app.events import Events, TalkerDirection
from firmware_app.frames import Frame

log = logging.getLogger(__name__)

PATIENCE = 0.3  # seconds that a transcript waits for the weights, before it does without


@dataclass(frozen=True, slots=True)
class _Solved:
    """weights: None where the board makes the sound clear, or the wake phrase tells too little."""

    weights: Weights | None
    degrees: float | None


class Steering:
    """Turns an array towards a wake-up, and tells where it came from."""

    def __init__(self, array: Array, events: Events) -> None:
        self._array = array
        self._events = events

    def towards(self, wake_up: WakeUp, recogniser: Recogniser) -> Recogniser:
        """The recogniser, which from now on is given the sound from there; solves on a thread."""
        loop = asyncio.get_running_loop()
        solving = loop.run_in_executor(None, self._solve, wake_up)
        solving.add_done_callback(self._tell)
        if self._array.heard is None:
            return recogniser
        return SteeredRecogniser(recogniser, solving)

    def _solve(self, wake_up: WakeUp) -> _Solved:
        array, detection = self._array, wake_up.detection
        anchored = anchor(wake_up.before, detection.start, detection.end)
        if anchored is None:
            return _Solved(None, None)
        try:
            steered = None if array.heard is None else weights(anchored, array.heard)
            return _Solved(steered, direction(anchored, array.positions))
        except np.linalg.LinAlgError as error:
            log.warning("the microphones were not turned to the talker: %s", error)
            return _Solved(None, None)

    def _tell(self, solving: "asyncio.Future[_Solved]") -> None:
        if not solving.cancelled() and (degrees := solving.result().degrees) is not None:
            self._events.publish(TalkerDirection(degrees))


class SteeredRecogniser:
    """A recogniser for one utterance that hears an array turned to whoever speaks."""

    def __init__(self, recogniser: Recogniser, solving: "asyncio.Future[_Solved]") -> None:
        self.name, self.usage = recogniser.name, recogniser.usage
        self._recogniser = recogniser
        self._solving = solving

    def start(self) -> "SteeredRecognition":
        return SteeredRecognition(self._recogniser.start(), self._solving)

    def close(self) -> None:
        self._recogniser.close()


class SteeredRecognition:
    """Keeps what is fed until the weights are known; gives it on a block later from then on."""

    def __init__(self, recognition: Recognition, solving: "asyncio.Future[_Solved]") -> None:
        self._recognition = recognition
        self._solving = solving
        self._waiting: list[Frame] | None = []  # None once it is known how to go on
        self._beam: Beam | None = None

    def feed(self, frame: Frame) -> None:
        if self._waiting is None:
            self._give(frame)
            return
        self._waiting.append(frame)
        if self._solving.done():
            self._go_on()

    @property
    def partial(self) -> str:
        return self._recognition.partial

    async def peek(self) -> Transcript:
        """As the recogniser's; the last block is not in it yet."""
        await self._solved()
        return await self._recognition.peek()

    async def finish(self) -> Transcript:
        await self._solved()
        if self._beam and (last := self._beam.end()):
            self._recognition.feed(last)
        return await self._recognition.finish()

    def cancel(self) -> None:
        self._recognition.cancel()

    async def _solved(self) -> None:
        if self._waiting is not None:
            await asyncio.wait([self._solving], timeout=PATIENCE)
        if self._waiting is not None:
            self._go_on()

    def _go_on(self) -> None:
        """Begin with what waits: steered, or as the one microphone heard it."""
        waiting, self._waiting = self._waiting or [], None
        solved = self._solving.result() if self._solving.done() else None
        if solved and solved.weights is not None:
            self._beam = Beam(solved.weights)
        for frame in waiting:
            self._give(frame)

    def _give(self, frame: Frame) -> None:
        clear = self._beam.feed(frame) if self._beam else frame
        if clear:
            self._recognition.feed(clear)
