"""The button: what its edges mean. Exact times are in docs/ARCHITECTURE.md, Button."""

import time
from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol

SETTLES = 0.025  # seconds in which contacts bounce
DOUBLE = 0.4  # seconds within which a second press means something else
HOLD = 2.0  # seconds held from which letting go mutes
LONG_HOLD = 6.0  # seconds held at which the pairing code is spoken


class Gesture(Enum):
    PRESS = auto()
    DONT_SAVE = auto()  # pressed twice
    HOLDING = auto()  # held for so long that letting go mutes
    MUTE = auto()  # held so, and let go
    PAIR = auto()  # held on: the pairing code is spoken instead


class Timer(Protocol):
    def cancel(self) -> None: ...


CallLater = Callable[[float, Callable[[], None]], Timer]


class Button:
    """Turns edges into gestures, each told to `on_gesture` when it is certain.

    A press acts at its first edge; bounces after it are waited out. Presses that follow one
    another within DOUBLE are one gesture: the first is PRESS, the second DONT_SAVE, more mean
    nothing, so that a child hammering on it ends where a double press does. For one thread.

    call_later: as an event loop's. clock: the time it waits by.
    """

    def __init__(
        self,
        on_gesture: Callable[[Gesture], None],
        call_later: CallLater,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_gesture = on_gesture
        self._call_later = call_later
        self._clock = clock
        self._level = False  # as the contact says
        self._down = False  # as it is believed
        self._settling: Timer | None = None
        self._holding: Timer | None = None
        self._muting = False  # letting go mutes
        self._presses = 0  # in a row
        self._last_press = float("-inf")

    def edge(self, pressed: bool) -> None:
        """The contact closed or opened, or bounced."""
        self._level = pressed
        if self._settling is None:
            self._believe()

    def close(self) -> None:
        """Tell of nothing any more."""
        for timer in (self._settling, self._holding):
            if timer:
                timer.cancel()
        self._settling = self._holding = None

    def _believe(self) -> None:
        """Take the contact's word, then not listen to it for the time that it bounces."""
        self._settling = None
        if self._level == self._down:
            return
        self._down = self._level
        self._settling = self._call_later(SETTLES, self._believe)
        if self._down:
            self._pressed()
        else:
            self._released()

    def _pressed(self) -> None:
        now = self._clock()
        self._presses = self._presses + 1 if now - self._last_press <= DOUBLE else 1
        self._last_press = now
        self._muting = False
        self._holding = self._call_later(HOLD, self._hold)
        if self._presses == 1:
            self._on_gesture(Gesture.PRESS)
        elif self._presses == 2:
            self._on_gesture(Gesture.DONT_SAVE)

    def _hold(self) -> None:
        self._muting = True
        self._holding = self._call_later(LONG_HOLD - HOLD, self._hold_long)
        self._on_gesture(Gesture.HOLDING)

    def _hold_long(self) -> None:
        self._holding = None
        self._muting = False
        self._on_gesture(Gesture.PAIR)

    def _released(self) -> None:
        if self._holding:
            self._holding.cancel()
            self._holding = None
        if self._muting:
            self._muting = False
            self._on_gesture(Gesture.MUTE)
