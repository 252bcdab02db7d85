"""Bursts of speech over Echo's own: short, and louder than what is left of its echo."""

from collections import deque

from firmware_app.frames import BLOCK_MS, Frame, dbfs

SHORTEST, LONGEST = 120 // BLOCK_MS, 1500 // BLOCK_MS  # frames that a word or two may take
QUIET = 200 // BLOCK_MS  # frames that end a burst; the pause inside a word is shorter
LEAD = 240 // BLOCK_MS  # frames kept from before it: a word may begin with a hiss
TAIL = 200 // BLOCK_MS  # frames for which the room goes on sounding after the loudspeaker
ABOVE_ECHO, ABOVE_FLOOR = 9.0, 12.0  # dB by which a burst stands out
FLOOR_RISE = 0.04  # dB a frame by which the quietest moment is forgotten
SOUNDS = -60.0  # dBFS of the loudspeaker from which what is left of its echo is measured
LEAK = -20.0  # dB from the loudspeaker's sound to what is left of it, before that is measured
LEAK_STEP, LEAK_RISE = 0.3, 0.05  # dB a frame towards what is measured, and up during a burst


class Bursts:
    """Feed it frames; it gives each burst once it is over.

    Where no frame has a far end, no echo is taken out, and any burst may be Echo's own.
    """

    def __init__(self) -> None:
        self._leak = LEAK
        self._floor = 0.0  # dBFS
        self._cancelled = False  # whether echo is taken out
        self._far: deque[float] = deque(maxlen=TAIL)
        self.begin()

    def begin(self) -> None:
        """What was heard before does not count; what was learnt of the room does."""
        self._recent: deque[Frame] = deque(maxlen=LEAD)
        self._burst: list[Frame] = []
        self._length = self._quiet = 0  # frames of the burst, and of them the last quiet ones

    def feed(self, frame: Frame) -> tuple[Frame, ...] | None:
        """The frames of a burst that has just ended, with some from before and after it."""
        loud = self._stands_out(frame)
        if not self._length and not loud:
            self._recent.append(frame)
            return None
        self._length += 1
        self._quiet = 0 if loud else self._quiet + 1
        if self._length <= LONGEST + QUIET:
            self._burst.append(frame)
        if self._quiet < QUIET:
            return None
        fits = SHORTEST <= self._length - QUIET <= LONGEST
        burst = (*self._recent, *self._burst)
        self.begin()
        return burst if fits else None

    def _stands_out(self, frame: Frame) -> bool:
        level = dbfs(frame.samples)
        self._floor = min(level, self._floor + FLOOR_RISE)
        self._cancelled = self._cancelled or frame.far is not None
        self._far.append(-120.0 if frame.far is None else dbfs(frame.far))
        far = max(self._far)
        least = max(far + self._leak + ABOVE_ECHO, self._floor + ABOVE_FLOOR)
        loud = self._cancelled and level > least
        if far > SOUNDS:
            up = LEAK_RISE if loud else LEAK_STEP
            self._leak += up if level - far > self._leak else -LEAK_STEP
        return loud
