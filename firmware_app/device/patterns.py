"""What the light shows: pure functions from time to the colours of its LEDs."""

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, TypeAlias

RGB: TypeAlias = tuple[int, int, int]
Colours: TypeAlias = tuple[RGB, ...]  # one a LED, 0 to 255

FRAME_SECONDS = 0.05  # twenty frames a second are smooth enough, and cost little
STILL = None  # for ever

DARK: RGB = (0, 0, 0)
WHITE: RGB = (200, 200, 200)
BLUE: RGB = (0, 70, 255)
CYAN: RGB = (0, 190, 200)
GREEN: RGB = (0, 200, 70)
RED: RGB = (255, 0, 0)
AMBER: RGB = (255, 130, 0)
ORANGE: RGB = (255, 50, 0)


@dataclass(frozen=True, slots=True)
class Shape:
    """What kind of light it is: how many LEDs, in a circle or not, of one colour or of many."""

    leds: int
    ring: bool = False
    coloured: bool = True


# A motion says how bright all LEDs are (0 to 1) at a time since the look began, and for how many
# seconds that will be so (None: for ever).
Motion: TypeAlias = Callable[[float], tuple[float, float | None]]


def steady(level: float) -> Motion:
    return lambda t: (level, STILL)


def breath(period: float, least: float = 0.1) -> Motion:
    """Swell and ebb, beginning bright: a change of state must be seen at once."""

    def level(t: float) -> tuple[float, float | None]:
        swell = 0.5 + 0.5 * math.cos(2 * math.pi * t / period)
        return least + (1 - least) * swell, FRAME_SECONDS

    return level


def blinks(*milliseconds: int, level: float = 1.0) -> Motion:
    """On, off, on, off … for so many milliseconds each, over and over."""
    ends = list(accumulate(milliseconds))

    def lit(t: float) -> tuple[float, float | None]:
        at = round(t * 1000) % ends[-1]
        part = bisect_right(ends, at)
        return (0.0 if part % 2 else level), (ends[part] - at) / 1000

    return lit


# A spread says how bright one LED is beside the others: its place in the circle from 0 to 1,
# the time, and where the talker is, in the same measure (None: unknown).
Spread: TypeAlias = Callable[[float, float, float | None], float]


def everywhere(place: float, t: float, talker: float | None) -> float:
    return 1.0


def first_only(place: float, t: float, talker: float | None) -> float:
    return 1.0 if place == 0 else 0.0


def towards_talker(place: float, t: float, talker: float | None) -> float:
    """Bright towards the talker, a glimmer elsewhere."""
    if talker is None:
        return 0.7
    away = abs((place - talker + 0.5) % 1 - 0.5)  # of a whole turn, up to a half
    return 0.15 + 0.85 * max(0.0, 1 - away / 0.16)


def comet(period: float) -> Spread:
    """A bright point that runs round, with a tail."""

    def level(place: float, t: float, talker: float | None) -> float:
        behind = (t / period - place) % 1
        return max(0.04, (1 - behind) ** 3)

    return level


@dataclass(frozen=True, slots=True)
class Look:
    """One thing the light can say.

    motion: of coloured LEDs. single: of one LED of one colour, which has only time to speak with.
    spread: over LEDs in a circle; one that turns makes the light move though its motion is steady.
    """

    means: str
    seen: str
    seen_single: str
    colour: RGB
    motion: Motion
    single: Motion
    spread: Spread = everywhere
    turns: bool = False


Name: TypeAlias = Literal[
    "boot",
    "idle",
    "not saving",
    "listening",
    "thinking",
    "speaking",
    "muted",
    "ringing",
    "error",
    "holding",
    "pairing",
    "not this one",
]

LOOKS: Mapping[Name, Look] = {
    "boot": Look(
        "Echo is starting, or its language model is starting again",
        "white, swelling slowly",
        "swells slowly",
        WHITE,
        breath(2.0),
        breath(2.0),
    ),
    "idle": Look("Echo waits for its wake word", "dark", "dark", DARK, steady(0), steady(0)),
    "not saving": Look(
        "Echo waits; what is said is not being saved",
        "one LED amber, dim",
        "a short wink every ten seconds",
        AMBER,
        steady(0.25),
        blinks(100, 9900),
        first_only,
    ),
    "listening": Look(
        "Echo listens to what you say",
        "blue; on a ring brightest towards you",
        "on",
        BLUE,
        steady(1),
        steady(1),
        towards_talker,
    ),
    "thinking": Look(
        "Echo has heard you and works out the answer",
        "cyan, running round (swelling, where the LEDs are no ring)",
        "blinks quickly",
        CYAN,
        steady(1),
        blinks(200, 200),
        comet(1.0),
        turns=True,
    ),
    "speaking": Look(
        "Echo speaks",
        "green, swelling",
        "swells quickly",
        GREEN,
        breath(1.2, 0.4),
        breath(1.0, 0.2),
    ),
    "muted": Look(
        "the microphone is closed: Echo hears nothing",
        "red",
        "two short winks every three seconds",
        RED,
        steady(0.7),
        blinks(100, 200, 100, 2600),
    ),
    "ringing": Look(
        "a timer or an alarm rings",
        "amber, flashing",
        "long flashes",
        AMBER,
        blinks(400, 200),
        blinks(600, 200),
    ),
    "error": Look(
        "something is wrong: see hey-echo doctor",
        "orange, three flashes and a pause",
        "three flashes and a pause",
        ORANGE,
        blinks(150, 150, 150, 150, 150, 2250),
        blinks(150, 150, 150, 150, 150, 2250),
    ),
    "holding": Look(
        "let the button go now, and the microphone is muted, or heard again",
        "red, flashing evenly",
        "flashes evenly, fast",
        RED,
        blinks(250, 250),
        blinks(100, 100),
    ),
    "pairing": Look(
        "Echo speaks the pairing code",
        "white, running round (swelling, where the LEDs are no ring)",
        "flashes evenly, slowly",
        WHITE,
        steady(1),
        blinks(500, 500),
        comet(2.0),
        turns=True,
    ),
    "not this one": Look(
        "this conversation is not saved from here on",
        "amber, for a second",
        "on, for a second",
        AMBER,
        steady(0.8),
        steady(1),
    ),
}


def draw(
    look: Look, t: float, shape: Shape, talker: float | None = None
) -> tuple[Colours, float | None]:
    """The colours at t seconds since the look began, and how long they stay (None: for ever).

    talker: degrees clockwise from the front.
    """
    if not shape.coloured:
        level, stays = look.single(t)
        return (_times(WHITE_LED, level),) * shape.leds, stays
    level, stays = look.motion(t)
    if look.turns and not shape.ring:
        level, stays = breath(1.0)(t)
        return (_times(look.colour, level),) * shape.leds, stays
    turned = None if talker is None or not shape.ring else talker / 360 % 1
    colours = tuple(
        _times(look.colour, level * look.spread(led / shape.leds, t, turned))
        for led in range(shape.leds)
    )
    return colours, FRAME_SECONDS if look.turns else stays


WHITE_LED: RGB = (255, 255, 255)  # all that a LED of one colour can give


def dimmed(colours: Colours, percent: int) -> Colours:
    """As bright as that; what is lit stays visible."""

    def dim(value: int) -> int:
        return max(1, round(value * percent / 100)) if value else 0

    return tuple((dim(red), dim(green), dim(blue)) for red, green, blue in colours)


def _times(colour: RGB, level: float) -> RGB:
    red, green, blue = (round(part * level) for part in colour)
    return red, green, blue
