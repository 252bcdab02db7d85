"""The light in a corner of the terminal, for who has no board."""

import shutil
import sys
from typing import TextIO

from firmware_app.device.patterns import Colours, Shape

SHAPE = Shape(12, ring=True)
DOT = "\N{BLACK CIRCLE}"
UNLIT = (40, 40, 40)  # a LED that is dark is still there


class Terminal:
    """Draws at the end of the top line, and leaves the cursor where it was."""

    def __init__(self, out: TextIO = sys.stdout) -> None:
        self._out = out

    def show(self, colours: Colours) -> None:
        dots = "".join(
            f"\x1b[38;2;{red};{green};{blue}m{DOT}"
            for red, green, blue in (colour if any(colour) else UNLIT for colour in colours)
        )
        column = max(1, shutil.get_terminal_size().columns - len(colours))
        self._out.write(f"\x1b7\x1b[1;{column}H{dots}\x1b[0m\x1b8")
        self._out.flush()

    def close(self) -> None:
        return
