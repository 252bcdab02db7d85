"""The card's own levels, set once to what its board is known to want."""

import logging
from collections.abc import Callable
from typing import Protocol

from firmware_app.device.board import Board

log = logging.getLogger(__name__)


class Control(Protocol):
    """One control of a card's mixer, such as "Speaker"."""

    def set_percent(self, percent: int) -> None:
        """Raises OSError."""
        ...


def set_levels(board: Board, control: Callable[[str, str], Control]) -> None:
    """Set the controls that the board names; one that is not there is only logged.

    control: opens a control by the card's id and its name; raises OSError. Blocks.
    """
    for name, percent in board.mixer.items() if board.card else ():
        try:
            control(board.card, name).set_percent(percent)
        except OSError as error:
            log.info("the level %s of card %s stays as it is (%s)", name, board.card, error)
