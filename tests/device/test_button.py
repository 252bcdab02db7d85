"""What a button's edges mean, on a clock that tests drive."""

import heapq
from collections.abc import Callable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as some

from firmware_app.device.button import DOUBLE, HOLD, LONG_HOLD, SETTLES, Button, Gesture

PRESS, DONT_SAVE, HOLDING, MUTE, PAIR = Gesture


class Timers:
    """An event loop's call_later on a clock that only `wait` moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self._waiting: list[tuple[float, int, Call]] = []
        self._number = count()

    def call_later(self, seconds: float, what: Callable[[], None]) -> "Call":
        call = Call(what)
        heapq.heappush(self._waiting, (self.now + seconds, next(self._number), call))
        return call

    def wait(self, seconds: float) -> None:
        until = self.now + seconds
        while self._waiting and self._waiting[0][0] <= until:
            self.now, _, call = heapq.heappop(self._waiting)
            if not call.cancelled:
                call.what()
        self.now = until

    @property
    def pending(self) -> int:
        return sum(not call.cancelled for _, _, call in self._waiting)


class Call:
    def __init__(self, what: Callable[[], None]) -> None:
        self.what = what
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Finger:
    """Presses a button, and notes what it did and when."""

    def __init__(self) -> None:
        self.timers = Timers()
        self.done: list[Gesture] = []
        self.at: list[float] = []
        self.button = Button(self._note, self.timers.call_later, lambda: self.timers.now)

    def _note(self, gesture: Gesture) -> None:
        self.done.append(gesture)
        self.at.append(round(self.timers.now - 100, 3))

    def hold(self, seconds: float, *, bounces: int = 0, then: float = 0.0) -> None:
        for pressed, stays in ((True, seconds), (False, then)):
            self.button.edge(pressed)
            for _ in range(bounces):
                for level in (not pressed, pressed):
                    self.timers.wait(0.001)
                    self.button.edge(level)
            self.timers.wait(stays)


@pytest.fixture
def finger() -> Finger:
    return Finger()


def test_a_press_acts_when_pressed(finger: Finger) -> None:
    finger.button.edge(True)
    assert finger.done == [PRESS]
    assert finger.at == [0.0]


def test_a_second_press_in_time_means_dont_save_and_does_not_stop(finger: Finger) -> None:
    finger.hold(0.1, then=DOUBLE - 0.11)
    finger.hold(0.1, then=1)
    assert finger.done == [PRESS, DONT_SAVE]


def test_a_second_press_too_late_is_a_press_of_its_own(finger: Finger) -> None:
    finger.hold(0.1, then=DOUBLE)
    finger.hold(0.1, then=1)
    assert finger.done == [PRESS, PRESS]


def test_held_for_two_seconds_it_says_so_and_mutes_when_let_go(finger: Finger) -> None:
    finger.hold(HOLD + 1.5)
    assert finger.done == [PRESS, HOLDING, MUTE]
    assert finger.at == [0.0, 2.0, 3.5]


def test_let_go_just_before_two_seconds_it_was_a_press(finger: Finger) -> None:
    finger.hold(HOLD - 0.01, then=10)
    assert finger.done == [PRESS]


def test_held_for_six_seconds_it_speaks_the_pairing_code_instead(finger: Finger) -> None:
    finger.hold(LONG_HOLD + 3, then=10)
    assert finger.done == [PRESS, HOLDING, PAIR]
    assert finger.at == [0.0, 2.0, 6.0]


def test_let_go_just_before_six_seconds_it_mutes(finger: Finger) -> None:
    finger.hold(LONG_HOLD - 0.01, then=10)
    assert finger.done == [PRESS, HOLDING, MUTE]


def test_contacts_that_bounce_make_one_press(finger: Finger) -> None:
    finger.hold(0.1, bounces=8, then=1)
    assert finger.done == [PRESS]
    finger.hold(HOLD, bounces=8, then=1)
    assert finger.done == [PRESS, PRESS, HOLDING, MUTE]


def test_a_press_shorter_than_the_bounces_still_counts_and_ends(finger: Finger) -> None:
    finger.hold(0.005, then=LONG_HOLD + 1)
    assert finger.done == [PRESS]
    assert finger.timers.pending == 0


def test_forty_presses_in_three_seconds_are_one_gesture(finger: Finger) -> None:
    for _ in range(40):
        finger.hold(0.0375, then=0.0375)
    finger.timers.wait(10)
    assert finger.done == [PRESS, DONT_SAVE]
    finger.hold(0.1, then=1)
    assert finger.done[-1] is PRESS
    assert finger.timers.pending == 0


def test_a_button_that_was_closed_tells_nothing_more(finger: Finger) -> None:
    finger.button.edge(True)
    finger.button.close()
    finger.timers.wait(10)
    assert finger.done == [PRESS]


EDGES = some.lists(some.tuples(some.booleans(), some.floats(0.0, 7.0)), max_size=60)


@given(EDGES)
def test_whatever_the_contact_does_gestures_keep_their_order(
    edges: list[tuple[bool, float]],
) -> None:
    finger = Finger()
    for pressed, seconds in edges:
        finger.button.edge(pressed)
        finger.timers.wait(seconds)
    finger.button.edge(False)
    finger.timers.wait(LONG_HOLD + 1)
    assert finger.timers.pending == 0
    before: Gesture | None = None
    last_press = -DOUBLE - 1
    for gesture, at in zip(finger.done, finger.at, strict=True):
        match gesture:
            case Gesture.PRESS:
                assert at - last_press > DOUBLE - SETTLES
                last_press = at
            case Gesture.DONT_SAVE:
                assert before is PRESS
                assert at - last_press <= DOUBLE + SETTLES
                last_press = at
            case Gesture.HOLDING:
                assert before is not HOLDING
            case Gesture.MUTE | Gesture.PAIR:
                assert before is HOLDING
        before = gesture
    assert before is not HOLDING  # a hold always ends in one of the two
    count_before = len(finger.done)
    finger.hold(0.1, then=1)
    assert finger.done[count_before:] == [PRESS]  # and the next press is a press
