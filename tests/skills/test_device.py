"""Volume, light, pace and microphone by voice, and what Echo says of itself."""

from dataclasses import dataclass, field, replace
from typing import Literal

import pytest

from firmware_app.settings import Settings
from firmware_app.settings_checks import Value
from firmware_app.skills.building import World, build
from firmware_app.skills.echo import Health
from tests.skills.conftest import Speaker


@dataclass
class Device:
    """Settings that take what they are set to."""

    settings: Settings = field(
        default_factory=lambda: replace(
            Settings(), voice=replace(Settings().voice, volume=50, speed=1.0)
        )
    )
    heard: list[str] = field(default_factory=list)
    health: Health = field(default_factory=lambda: Health(12))

    async def change(self, name: str, value: Value) -> None:
        section, _, key = name.partition(".")
        changed = replace(getattr(self.settings, section), **{key: value})
        self.settings = replace(self.settings, **{section: changed})

    async def mute(self) -> None:
        self.heard.append("mute")

    async def examine(self) -> Health:
        return self.health

    def speaker(self) -> Speaker:
        world = World(
            settings=lambda: self.settings,
            change=self.change,
            mute=self.mute,
            health=self.examine,
            address=lambda: "http://echo.local",
        )
        return Speaker(build(world))


@pytest.mark.parametrize(
    ("language", "said", "answer", "volume"),
    [
        ("en", "Turn it up.", "Volume 60 percent.", 60),
        ("en", "A bit quieter, please.", "Volume 40 percent.", 40),
        ("en", "Volume seven.", "Volume 70 percent.", 70),
        ("en", "Set the volume to 35 percent.", "Volume 35 percent.", 35),
        ("en", "As loud as possible.", "Volume 100 percent.", 100),
        ("en", "Mute.", "The sound is off.", 0),
        ("en", "Set the volume to 300 percent.", "The volume goes from 0 to 100 percent.", 50),
        ("es", "Sube el volumen.", "Volumen al 60 por ciento.", 60),
        ("es", "Baja la voz.", "Volumen al 40 por ciento.", 40),
        ("es", "Pon el volumen al máximo.", "Volumen al 100 por ciento.", 100),
    ],
)
async def test_the_volume_follows_what_is_said(
    language: Literal["en", "es"], said: str, answer: str, volume: int
) -> None:
    device = Device()
    device.settings = replace(device.settings, language=language)
    assert await device.speaker()(said) == answer
    assert device.settings.voice.volume == volume


async def test_sound_comes_back_as_loud_as_it_was() -> None:
    device = Device()
    say = device.speaker()
    await say("Mute the sound.")
    assert await say("Turn the sound back on.") == "Volume 50 percent."


async def test_where_the_recogniser_is_unsure_only_what_is_undone_by_a_word_is_done() -> None:
    device = Device()
    say = device.speaker()
    assert await say("Louder.", 0.3) == "Volume 60 percent."
    assert await say("Turn off the microphone.", 0.3) == "Did you say microphone off?"
    assert device.heard == []
    await say("Yes.")
    assert device.heard == ["mute"]


async def test_pace_and_light_change_within_their_bounds() -> None:
    device = Device()
    say = device.speaker()
    assert await say("Could you talk a bit slower please?") == "All right, I speak slower."
    assert device.settings.voice.speed == 0.85
    assert await say("Speak at normal speed.") == "All right, I speak at my normal pace."
    await say("Set the brightness to 40 percent.")
    assert await say("Make the light brighter.") == "Brightness 60 percent."


async def test_echo_says_how_it_is_what_it_can_do_and_where_its_page_is() -> None:
    device = Device()
    say = device.speaker()
    assert await say("How are you?") == "I am well: 12 checks passed."
    device.health = Health(11, failed=["The microphone is not there."])
    assert await say("Are you okay?") == "I have a problem: The microphone is not there."
    assert "sets, lists, cancels and snoozes timers" in await say("What can you do?")
    assert await say("What is your address?") == "My page is at http://echo.local."
