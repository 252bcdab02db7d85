"""What the button does: its gestures, passed on to the talk and the page, with their sounds."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from firmware_app.audio.chimes import Name, chime
from firmware_app.dialogue.talk import Talk
from firmware_app.errors import EchoError

log = logging.getLogger(__name__)


class ButtonGestures:
    """Implements `device.hardware.Gestures`.

    chimes: whether sounds are wanted. speak_code: says the pairing code aloud.
    """

    def __init__(
        self, talk: Talk, chimes: Callable[[], bool], speak_code: Callable[[], Awaitable[None]]
    ) -> None:
        self._talk = talk
        self._chimes = chimes
        self._speak_code = speak_code
        self._speaking: set[asyncio.Task[None]] = set()

    def press(self) -> None:
        self._talk.press()

    def dont_save(self) -> None:
        self._talk.dont_save()
        self._sound("done")

    def holding_to_mute(self) -> None:
        self._talk.cancel_listening()

    def toggle_mute(self) -> None:
        self._talk.toggle_mute()
        self._sound("unmute" if self._talk.listens else "mute")

    def speak_pairing_code(self) -> None:
        self._begin(self._speak_code())

    def _sound(self, name: Name) -> None:
        if self._chimes():
            self._begin(self._talk.announce("", chime(name)))

    def _begin(self, speaking: Awaitable[None]) -> None:
        task = asyncio.ensure_future(_without_fail(speaking))
        self._speaking.add(task)
        task.add_done_callback(self._speaking.discard)


async def _without_fail(speaking: Awaitable[None]) -> None:
    """A button has nobody to tell that there is no voice; the light says it already."""
    try:
        await speaking
    except EchoError as error:
        log.info("the button made no sound: %s", error)
