"""The button's gestures reach the talk, each with its sound."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from firmware_app.audio.chimes import Name, chime
from firmware_app.dialogue.keeping import Keeper
from firmware_app.dialogue.talk import Talk
from firmware_app.errors import ServiceError
from firmware_app.events import Events, Saved
from firmware_app.frames import Samples
from firmware_app.gestures import ButtonGestures
from firmware_app.settings import Settings


class HeardTalk(Talk):
    """A talk of which it is noted what it says of its own."""

    def __init__(self) -> None:
        self.keeper = Keeper(Settings())
        self.open: list[bool] = []
        self.said: list[bytes] = []
        self.voice = True
        super().__init__(self.keeper, Events(), self.open.append)

    async def announce(self, text: str, sound: Samples | None = None) -> None:
        if not self.voice:
            raise ServiceError("not-awake", "Echo is still waking up.", "Try again.")
        assert text == ""
        assert sound is not None
        self.said.append(sound.tobytes())

    def made(self, *names: Name) -> bool:
        return self.said == [chime(name).tobytes() for name in names]


async def spoken() -> None:
    return


def gestures(
    talk: Talk, *, chimes: bool = True, code: Callable[[], Awaitable[None]] = spoken
) -> ButtonGestures:
    return ButtonGestures(talk, lambda: chimes, code)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_muting_falls_and_unmuting_rises() -> None:
    talk = HeardTalk()
    button = gestures(talk)
    button.holding_to_mute()
    button.toggle_mute()
    assert talk.situation.muted
    assert talk.open[-1] is False
    await settle()
    assert talk.made("mute")
    button.toggle_mute()
    assert not talk.situation.muted
    await settle()
    assert talk.made("mute", "unmute")


async def test_two_presses_leave_the_conversation_unsaved_with_a_sound() -> None:
    talk = HeardTalk()
    gestures(talk).dont_save()
    await settle()
    assert talk.situation.saved is Saved.NOT_SAVED
    assert talk.made("done")


async def test_the_longest_hold_speaks_the_code() -> None:
    codes: list[int] = []

    async def speak() -> None:
        codes.append(1)

    gestures(HeardTalk(), code=speak).speak_pairing_code()
    await settle()
    assert codes == [1]


async def test_without_chimes_the_button_is_silent() -> None:
    talk = HeardTalk()
    button = gestures(talk, chimes=False)
    button.toggle_mute()
    button.dont_save()
    await settle()
    assert talk.said == []
    assert talk.situation.muted


async def test_without_a_voice_the_button_still_works(caplog: pytest.LogCaptureFixture) -> None:
    talk = HeardTalk()
    talk.voice = False
    button = gestures(talk)
    button.press()
    button.toggle_mute()
    await settle()
    assert talk.situation.muted
