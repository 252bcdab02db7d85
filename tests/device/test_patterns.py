"""What the light shows: every look can be told from the others, and rests when it can."""

import itertools

import pytest

from firmware_app.device.patterns import (
    FRAME_SECONDS,
    LOOKS,
    Look,
    Shape,
    dimmed,
    draw,
)

RING = Shape(12, ring=True)
ROW = Shape(3)
LED = Shape(1, coloured=False)
SHAPES = [RING, ROW, Shape(1), LED]


def film(look: Look, shape: Shape, seconds: float = 12.0) -> list[tuple[tuple[int, int, int], ...]]:
    """What is seen every 50 ms."""
    return [draw(look, at * 0.05, shape)[0] for at in range(int(seconds / 0.05))]


@pytest.mark.parametrize("shape", SHAPES, ids=["ring", "row", "rgb", "led"])
def test_no_two_looks_are_alike(shape: Shape) -> None:
    films = {name: film(look, shape) for name, look in LOOKS.items()}
    alike = [
        (one, other)
        for one, other in itertools.combinations(films, 2)
        if films[one] == films[other]
    ]
    # A single LED has too few ways to be on for a second to differ from listening.
    assert alike == ([("listening", "not this one")] if not shape.coloured else [])


@pytest.mark.parametrize("shape", SHAPES, ids=["ring", "row", "rgb", "led"])
def test_a_look_is_seen_from_its_first_frame(shape: Shape) -> None:
    for name, look in LOOKS.items():
        colours, _ = draw(look, 0.0, shape)
        assert len(colours) == shape.leds
        assert any(map(any, colours)) is (name != "idle")
        assert all(0 <= part <= 255 for colour in colours for part in colour)


@pytest.mark.parametrize("shape", SHAPES, ids=["ring", "row", "rgb", "led"])
def test_what_is_promised_to_stay_stays(shape: Shape) -> None:
    """The renderer sleeps for that long; at most 25 frames a second are ever drawn."""
    for look in LOOKS.values():
        at = 0.0
        while at < 10:
            colours, stays = draw(look, at, shape)
            end = 12.0 if stays is None else at + stays
            assert draw(look, (at + end) / 2, shape)[0] == colours or stays == FRAME_SECONDS
            assert stays is None or stays > 1e-9
            at = end
        steps = [draw(look, step * 0.05, shape)[1] for step in range(200)]
        assert None not in steps or set(steps) == {None}


def test_idle_muted_and_listening_need_no_frames_on_leds_of_many_colours() -> None:
    for name in ("idle", "muted", "listening", "not saving"):
        assert draw(LOOKS[name], 3.0, RING)[1] is None


def test_a_ring_is_brightest_towards_the_talker() -> None:
    for degrees, led in ((0, 0), (90, 3), (180, 6), (270, 9), (359, 0), (31, 1)):
        colours, _ = draw(LOOKS["listening"], 0.0, RING, degrees)
        assert max(range(12), key=lambda n: colours[n][2]) == led
        assert all(any(colour) for colour in colours)  # a glimmer all round


def test_leds_in_a_row_do_not_point() -> None:
    assert draw(LOOKS["listening"], 0.0, ROW, 90) == draw(LOOKS["listening"], 0.0, ROW)


def test_dimming_keeps_what_is_lit_visible() -> None:
    colours = ((255, 100, 0), (1, 0, 0), (0, 0, 0))
    assert dimmed(colours, 100) == colours
    assert dimmed(colours, 10) == ((26, 10, 0), (1, 0, 0), (0, 0, 0))
    assert dimmed(colours, 1) == ((3, 1, 0), (1, 0, 0), (0, 0, 0))
