"""The ear: wake word and voice activity on a thread of their own, beside the loop.

While Echo rests only the wake word runs and the loop hears of nothing but a detection. While it
attends, every frame comes out with its speech probability, from the pre-roll onwards.
"""

import asyncio
import contextlib
import threading
from collections import deque
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TypeAlias

import numpy as np

from firmware_app.dialogue.bursts import Bursts
from firmware_app.engines import Detection, Sensitivity, VoiceActivity, WakeWord
from firmware_app.frames import BLOCK, BLOCK_MS, SAMPLE_RATE, Frame

RING = 3000 // BLOCK_MS  # frames kept for the pre-roll and for the wake word's second stage
BACKLOG = 2000 // BLOCK_MS  # frames that may wait for the thread before the source has to
OWN_WORDS = 2 * SAMPLE_RATE  # samples before a detection in which Echo may have said it itself
LINGER = 3000 // BLOCK_MS  # frames for which a burst counts after Echo has spoken: it may ring on


@dataclass(frozen=True, slots=True)
class Heard:
    """A frame, the probability that it holds speech, and the call of `attend` it answers."""

    frame: Frame
    speech: float
    session: int


@dataclass(frozen=True, slots=True)
class WakeUp:
    """A detection with the sound that led to it, oldest frame first."""

    detection: Detection
    before: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class Burst:
    """A short sound over Echo's own voice, with a little from before and after it."""

    frames: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class EarFailed:
    """The thread has ended with this error; the ear is deaf."""

    error: Exception


@dataclass(frozen=True, slots=True)
class _Attend:
    """Attend from this sample of the source's clock on."""

    since: int
    session: int


@dataclass(frozen=True, slots=True)
class _Rest:
    pass


@dataclass(frozen=True, slots=True)
class _Raise:
    raised: bool


@dataclass(frozen=True, slots=True)
class _GiveBursts:
    wanted: bool


@dataclass(frozen=True, slots=True)
class _Sense:
    sensitivity: Sensitivity


@dataclass(frozen=True, slots=True)
class _Verified:
    verified: bool


_Order: TypeAlias = Frame | _Attend | _Rest | _Raise | _GiveBursts | _Sense | _Verified | None


class Ear:
    """Feed it frames in order; read what it heard from `heard`."""

    def __init__(self, wake: WakeWord, activity: VoiceActivity) -> None:
        self._wake = wake
        self._activity = activity
        self._loop = asyncio.get_running_loop()
        self._orders: SimpleQueue[_Order] = SimpleQueue()
        self._session = 0
        self.now = 0  # the sample up to which sound has come in
        self.heard: asyncio.Queue[Heard | WakeUp | Burst | EarFailed] = asyncio.Queue()
        self._thread = threading.Thread(target=self._run, name="ear", daemon=True)
        self._thread.start()

    async def hear(self, frame: Frame) -> None:
        """Queue a frame; waits only where the thread has fallen two seconds behind."""
        while self._orders.qsize() >= BACKLOG:
            await asyncio.sleep(BLOCK_MS / 1000)
        self.now = frame.end
        self._orders.put(frame)

    def attend(self, since: int) -> int:
        """Begin to give every frame out, from sample `since` on as far as it is still kept.

        Returns the number of the session, which what is heard from now on bears.
        """
        self._session += 1
        self._orders.put(_Attend(since, self._session))
        return self._session

    def rest(self) -> None:
        """Listen for the wake word alone."""
        self._orders.put(_Rest())

    def raise_threshold(self, raised: bool) -> None:
        """Echo speaks (or has stopped): its own voice must not wake it."""
        self._orders.put(_Raise(raised))

    def give_bursts(self, wanted: bool) -> None:
        """Echo speaks (or has stopped): give out the short sounds over its voice.

        They are given for three seconds longer, and not while it attends.
        """
        self._orders.put(_GiveBursts(wanted))

    def sense(self, sensitivity: Sensitivity) -> None:
        """How readily the wake word is heard from now on."""
        self._orders.put(_Sense(sensitivity))

    def verified(self, verified: bool) -> None:
        """Whether doubtful detections are looked at twice from now on."""
        self._orders.put(_Verified(verified))

    async def close(self) -> None:
        self._orders.put(None)
        await asyncio.to_thread(self._thread.join, 2.0)

    # On the ear's thread from here on.

    def _run(self) -> None:
        try:
            self._obey()
        except Exception as error:
            self._give(EarFailed(error))

    def _obey(self) -> None:
        ring: deque[Frame] = deque(maxlen=RING)
        session = 0  # that is attended to; 0 is none
        bursts, listens = Bursts(), 0  # frames for which they are given yet
        speaks = False
        while (order := self._orders.get()) is not None:
            match order:
                case _Attend(since, session):
                    self._activity.reset()
                    for frame in ring:
                        if frame.end > since:
                            self._give(Heard(frame, self._activity.process(frame), session))
                case _Rest():
                    session = 0
                case _Raise(raised):
                    self._wake.raised = raised
                case _GiveBursts(speaks):
                    if speaks and not listens:
                        bursts.begin()
                    listens = LINGER if speaks else listens
                case _Sense(sensitivity):
                    self._wake.sensitivity = sensitivity
                case _Verified(verified):
                    self._wake.second_stage = verified
                case frame:
                    ring.append(frame)
                    if session:
                        self._give(Heard(frame, self._activity.process(frame), session))
                    if listens and not session and (burst := bursts.feed(frame)):
                        self._give(Burst(burst))
                    listens = listens if speaks else max(0, listens - 1)
                    detection = self._wake.process(frame)
                    if detection and not self._says_itself(detection.word, ring):
                        self._give(WakeUp(detection, tuple(ring)))

    def _says_itself(self, word: str, ring: deque[Frame]) -> bool:
        """Whether the loudspeaker said the word just now: what is left of an echo can wake."""
        recent = [frame for frame in ring if frame.index > ring[-1].index - OWN_WORDS]
        if all(frame.far is None for frame in recent):
            return False
        silence = np.zeros(BLOCK, np.int16)
        played = np.concatenate([silence if f.far is None else f.far for f in recent])
        return self._wake.says(word, played)

    def _give(self, heard: Heard | WakeUp | Burst | EarFailed) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has closed: nobody listens any more
            self._loop.call_soon_threadsafe(self.heard.put_nowait, heard)
