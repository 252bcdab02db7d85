"""Writes docs/hardware/own-board.svg: where an LED and a button go on the 40-pin header.

`python scripts/make_header_picture.py`; a test holds the picture against the board's file, and the
pins in the tables of docs/hardware against HEADER.
"""

from pathlib import Path
from xml.sax.saxutils import escape

from firmware_app.device.board import boards

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "hardware" / "own-board.svg"
BOARD = "usb-with-led"
LED_GROUND, BUTTON_GROUND = 14, 9  # pins of the header, the grounds nearest to theirs

# What each pin carries, 1 to 40: a GPIO's number, a voltage, or ground
# (https://pinout.xyz, and "GPIO and the 40-pin header" in the Raspberry Pi documentation).
GROUND, V3, V5 = "ground", "3.3 V", "5 V"
HEADER: tuple[int | str, ...] = (
    *(V3, V5, 2, V5, 3, GROUND, 4, 14, GROUND, 15),
    *(17, 18, 27, GROUND, 22, 23, V3, 24, 10, GROUND),
    *(9, 25, 11, 8, GROUND, 7, 0, 1, 5, GROUND),
    *(6, 12, 13, GROUND, 19, 16, 26, 20, GROUND, 21),
)

NAMESPACE = "http://www.w3.org/2000/svg"
WIDTH, HEIGHT, TOP, STEP, DOT = 680, 690, 92, 29, 9
LEFT_X, RIGHT_X = 292, 328  # odd pins, even pins
PAPER, INK, SOFT, BOARD_GREEN = "#ffffff", "#1b1f24", "#6b7280", "#2f6f4f"
WIRE = {"LED": "#c2410c", "button": "#1d4ed8"}
COLOUR = {GROUND: "#374151", V3: "#d9a400", V5: "#c62828"}


def gpio_pin(number: int) -> int:
    """The header's pin that carries this GPIO."""
    return HEADER.index(number) + 1


def picture() -> str:
    board = boards()[BOARD]
    if not (board.light and board.button):
        raise ValueError(f"{BOARD} has no LED or no button")
    led, button = gpio_pin(board.light.pins[0]), gpio_pin(board.button.pin)
    wires = {led: "LED", LED_GROUND: "LED", button: "button", BUTTON_GROUND: "button"}
    lines = [
        f'<svg xmlns="{NAMESPACE}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        "<style>text { font: 14px sans-serif } .small { font-size: 12px }</style>",
        "<title>An LED and a button on the 40-pin header</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{PAPER}"/>',
        _text(WIDTH / 2, 28, "The header seen from above,", "middle"),
        _text(WIDTH / 2, 48, "USB sockets at the bottom, pin 1 at the square", "middle"),
        _shape(
            "rect", BOARD_GREEN, x=LEFT_X - 22, y=TOP - 24, width=80, height=STEP * 20 + 12, rx=8
        ),
    ]
    for pin, carries in enumerate(HEADER, 1):
        lines += _pin(pin, carries, wires.get(pin))
    lines += _led(led)
    lines += _button(button)
    return "\n".join([*lines, "</svg>", ""])


def _place(pin: int) -> tuple[int, int]:
    return (RIGHT_X if pin % 2 == 0 else LEFT_X), TOP + (pin - 1) // 2 * STEP


def _pin(pin: int, carries: int | str, wire: str | None) -> list[str]:
    x, y = _place(pin)
    name = f"GPIO{carries}" if isinstance(carries, int) else carries
    fill = WIRE[wire] if wire else COLOUR.get(name, "#d1d5db")
    if pin == 1:
        shape = _shape("rect", fill, x=x - DOT, y=y - DOT, width=2 * DOT, height=2 * DOT)
    else:
        shape = _shape("circle", fill, cx=x, cy=y, r=DOT)
    right = pin % 2 == 0
    anchor, side = ("start", 1) if right else ("end", -1)
    colour = WIRE[wire] if wire else SOFT
    number = _text(x + 32 * side, y + 5, str(pin), anchor, colour)
    return [shape, number, _text(x + 60 * side, y + 5, name, anchor, colour)]


def _led(pin: int) -> list[str]:
    (_, signal), (_, ground) = _place(pin), _place(LED_GROUND)
    x, colour = 458, WIRE["LED"]
    middle = (signal + ground) // 2
    return [
        _wire(f"M {x} {signal} H 480", colour),
        _shape("rect", "none", colour, x=480, y=signal - 7, width=44, height=14),
        _text(502, signal - 14, "330 Ω", "middle", colour),
        _wire(f"M 524 {signal} H 545 V {middle - 9}", colour),
        _shape("circle", "#fecaca", colour, cx=545, cy=middle, r=10),
        _wire(f"M 545 {middle + 10} V {ground} H {x - 6}", colour),
        _text(562, middle - 2, "LED", "start", colour),
        _text(562, middle + 14, "long leg up", "start", colour, small=True),
    ]


def _button(pin: int) -> list[str]:
    (_, signal), (_, ground) = _place(pin), _place(BUTTON_GROUND)
    x, colour = 160, WIRE["button"]
    middle = (signal + ground) // 2
    return [
        _wire(f"M {x} {signal} H 100 V {middle + 9}", colour),
        _wire(f"M {x + 6} {ground} H 100 V {middle - 9}", colour),
        _shape("circle", "#dbeafe", colour, cx=100, cy=middle, r=10),
        _text(82, middle + 5, "button", "end", colour),
    ]


def _shape(kind: str, fill: str, line: str = "none", **measures: int) -> str:
    placed = " ".join(f'{name}="{value}"' for name, value in measures.items())
    return f'<{kind} {placed} fill="{fill}" stroke="{line}" stroke-width="2"/>'


def _wire(path: str, colour: str) -> str:
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _text(
    x: float, y: float, words: str, anchor: str = "start", colour: str = INK, *, small: bool = False
) -> str:
    kind = ' class="small"' if small else ""
    place = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}"{kind}'
    return f"<text {place}>{escape(words)}</text>"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
