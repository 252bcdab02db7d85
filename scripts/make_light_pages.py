"""Writes docs/hardware/lights.md and lights.svg from the patterns that the light is drawn with.

`python scripts/make_light_pages.py`; a test holds both files against it.
"""

import math
from pathlib import Path
from xml.sax.saxutils import escape

from firmware_app.device.patterns import LOOKS, RGB, Look, Shape, draw

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "hardware"
RING, SINGLE = Shape(12, ring=True), Shape(1, coloured=False)
MOMENTS = (0.0, 0.45, 0.7)  # seconds at which the ring is drawn
TALKER = 60.0  # degrees, where somebody speaks in the pictures
STRIP_SECONDS = 12.0
STEP = 0.05

NAMESPACE = "http://www.w3.org/2000/svg"
ROW, RADIUS, DOT = 74, 24, 4.5
NAME_X, RINGS_X, STRIP_X, STRIP_WIDTH = 16, 170, 400, 380
WIDTH, HEAD = 800, 40
PAPER, INK, UNLIT = "#101418", "#e6e6e6", "#2a3038"

TEXT = """\
# What the light shows

This page is written by `scripts/make_light_pages.py` from the patterns that draw the light.

![each look on a ring of twelve LEDs, at three moments, and on a single LED over twelve \
seconds](lights.svg)

| look | what it means | on LEDs of many colours | on a single LED |
|---|---|---|---|
{rows}

A closed microphone is shown from what the device itself reports, not from what was asked for, and \
over everything that Echo may be doing meanwhile; only a ringing timer and a button that is being \
held show over it. `lights.brightness`, `lights.night_brightness` and `lights.night_hours` dim the \
light; they count at once, and what is lit stays visible at any brightness.
"""


def page() -> str:
    rows = (
        f"| {name} | {look.means} | {look.seen} | {look.seen_single} |"
        for name, look in LOOKS.items()
    )
    return TEXT.format(rows="\n".join(rows))


def picture() -> str:
    height = HEAD + ROW * len(LOOKS)
    lines = [
        f'<svg xmlns="{NAMESPACE}" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<style>text { font: 14px sans-serif }</style>",
        "<title>What the light shows</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
        _text(RINGS_X - RADIUS, 24, f"a ring at {', '.join(f'{at:g}' for at in MOMENTS)} s"),
        _text(STRIP_X, 24, f"a single LED over {STRIP_SECONDS:g} s"),
    ]
    for number, (name, look) in enumerate(LOOKS.items()):
        middle = HEAD + ROW * number + ROW / 2
        lines.append(_text(NAME_X, middle + 5, name))
        for column, at in enumerate(MOMENTS):
            lines += _ring(look, at, RINGS_X + column * 70, middle)
        lines += _strip(look, middle)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _ring(look: Look, at: float, x: float, y: float) -> list[str]:
    colours, _ = draw(look, at, RING, TALKER)
    dots = []
    for led, colour in enumerate(colours):
        turn = 2 * math.pi * led / RING.leds
        dot_x, dot_y = x + RADIUS * math.sin(turn), y - RADIUS * math.cos(turn)
        dots.append(f'<circle cx="{dot_x:.1f}" cy="{dot_y:.1f}" r="{DOT}" fill="{_hex(colour)}"/>')
    return dots


def _strip(look: Look, y: float) -> list[str]:
    """Brightness over time, as bars of equal brightness."""
    levels = [draw(look, n * STEP, SINGLE)[0][0] for n in range(round(STRIP_SECONDS / STEP))]
    width = STRIP_WIDTH / len(levels)
    bars = [
        f'<rect x="{STRIP_X}" y="{y - 8:.1f}" width="{STRIP_WIDTH}" height="16" fill="{UNLIT}"/>'
    ]
    begin = 0
    for end in range(1, len(levels) + 1):
        if end == len(levels) or levels[end] != levels[begin]:
            if any(levels[begin]):
                x, wide = STRIP_X + begin * width, (end - begin) * width
                bars.append(
                    f'<rect x="{x:.1f}" y="{y - 8:.1f}" width="{wide:.1f}" height="16" '
                    f'fill="{_hex(levels[begin])}"/>'
                )
            begin = end
    return bars


def _text(x: float, y: float, words: str) -> str:
    return f'<text x="{x}" y="{y:g}" fill="{INK}">{escape(words)}</text>'


def _hex(colour: RGB) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour) if any(colour) else UNLIT


def main() -> None:
    (FOLDER / "lights.md").write_text(page(), encoding="utf-8")
    (FOLDER / "lights.svg").write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
