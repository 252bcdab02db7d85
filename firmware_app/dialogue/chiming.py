"""When the wake chime sounds: for people who wait for an answer, not for those who go on."""

from firmware_app.dialogue.ear import Heard
from firmware_app.dialogue.endpoint import STAY
from firmware_app.frames import SAMPLE_RATE

WAIT = SAMPLE_RATE * 300 // 1000  # samples after the wake-up in which people go on who will
TAIL = SAMPLE_RATE * 140 // 1000  # of them that the wake phrase itself may still fill


class WakeChime:
    """Hears along after a wake-up that ended at this sample."""

    def __init__(self, ended: int) -> None:
        self._due = ended + WAIT
        self._quiet_since = 0
        self._decided = False

    def due(self, heard: Heard) -> bool:
        """Whether to chime now; once at most."""
        if heard.speech >= STAY:
            self._quiet_since = heard.frame.end
        if self._decided or heard.frame.end < self._due:
            return False
        self._decided = True
        return self._quiet_since <= self._due - WAIT + TAIL
