"""A board at work: mock pins, a fake light, and whoever obeys the button."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from gpiozero.pins.mock import MockFactory  # type: ignore[import-untyped, unused-ignore]

from firmware_app.device.board import boards
from firmware_app.device.button import SETTLES
from firmware_app.device.hardware import Hardware
from firmware_app.device.mixer import set_levels
from firmware_app.device.patterns import LOOKS, Shape, draw
from firmware_app.errors import DeviceError
from firmware_app.events import Events, State, StateChanged
from firmware_app.settings import LightSettings
from tests.conftest import PATIENCE, until
from tests.device.fakes import FakeLight

FULL = LightSettings(brightness=100, night_hours="")


@dataclass
class Obeyed:
    done: list[str] = field(default_factory=list)

    def press(self) -> None:
        self.done.append("press")

    def dont_save(self) -> None:
        self.done.append("dont save")

    def holding_to_mute(self) -> None:
        self.done.append("holding")

    def toggle_mute(self) -> None:
        self.done.append("mute")

    def speak_pairing_code(self) -> None:
        self.done.append("pair")


class FakeMixer:
    """A card that has these controls and no others."""

    def __init__(self, *controls: str) -> None:
        self.levels = dict.fromkeys(controls, 0)

    def control(self, card: str, name: str) -> "FakeControl":
        if name not in self.levels:
            raise OSError(f"Unable to find mixer control {name},0 [{card}]")
        return FakeControl(self, name)


@dataclass
class FakeControl:
    mixer: FakeMixer
    name: str

    def set_percent(self, percent: int) -> None:
        self.mixer.levels[self.name] = percent


@dataclass
class Shelf:
    hardware: Hardware
    events: Events
    light: FakeLight
    obeyed: Obeyed
    factory: MockFactory
    mixer: FakeMixer
    box: Path
    found: list[str] = field(default_factory=list)  # boards that appeared later

    async def push(self) -> None:
        self.hold()
        await asyncio.sleep(2 * SETTLES)
        self.let_go()
        await asyncio.sleep(2 * SETTLES)

    def hold(self) -> None:
        self.factory.pin(17).drive_low()

    def let_go(self) -> None:
        self.factory.pin(17).drive_high()

    async def until_obeyed(self, *orders: str) -> None:
        await until(lambda: len(self.obeyed.done) >= len(orders))
        assert self.obeyed.done == list(orders)

    async def until_shown(self, name: str) -> None:
        wanted = draw(LOOKS[name], 0.0, Shape(3))[0]  # type: ignore[index]
        await until(lambda: bool(self.light.frames) and self.light.now == wanted)


def plug_in(box: Path) -> None:
    """The card of the 2-Mic HAT."""
    card = box / "proc" / "asound" / "card1"
    (card / "pcm0p").mkdir(parents=True)
    (card / "pcm0c").mkdir()
    (card / "id").write_text("seeed2micvoicec\n")


MakeShelf = Callable[..., AbstractAsyncContextManager[Shelf]]


@pytest.fixture
def shelf(tmp_path: Path) -> MakeShelf:
    """shelf(name="auto", plugged=True) runs the hardware for the length of a block."""

    @asynccontextmanager
    async def make(name: str = "auto", *, plugged: bool = True) -> AsyncIterator[Shelf]:
        light, events, obeyed, factory = FakeLight(), Events(), Obeyed(), MockFactory()
        mixer = FakeMixer("Speaker", "Capture", "Loopback")
        if plugged:
            plug_in(tmp_path)
        found: list[str] = []
        hardware = Hardware(
            name,
            events,
            FULL,
            obeyed,
            lambda: found.append(hardware.board.name),
            mixer.control,
            root=tmp_path,
            open_driver=light.open,
            factory=factory,
        )
        running = asyncio.create_task(hardware.run())
        await asyncio.sleep(0.03)
        try:
            yield Shelf(hardware, events, light, obeyed, factory, mixer, tmp_path, found)
        finally:
            running.cancel()
            await asyncio.wait([running])
            factory.reset()
            if not running.cancelled():
                running.result()

    return make


async def test_a_push_reaches_whoever_obeys_from_the_pins_own_thread(shelf: MakeShelf) -> None:
    async with shelf() as s:
        await asyncio.to_thread(s.hold)
        await s.until_obeyed("press")


async def test_two_pushes_say_dont_save_and_show_it(
    shelf: MakeShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firmware_app.device.button.DOUBLE", PATIENCE)
    monkeypatch.setattr("firmware_app.device.button.HOLD", PATIENCE)
    async with shelf() as s:
        s.events.publish(StateChanged(State.IDLE))
        await s.until_shown("idle")
        await s.push()
        await s.push()
        await s.until_obeyed("press", "dont save")
        await s.until_shown("not this one")


async def test_a_long_push_shows_that_it_will_mute_and_mutes_when_let_go(
    shelf: MakeShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firmware_app.device.button.HOLD", 0.1)
    async with shelf() as s:
        s.events.publish(StateChanged(State.IDLE))
        await s.until_shown("idle")
        s.hold()
        await s.until_shown("holding")
        await s.until_obeyed("press", "holding")
        s.let_go()
        await s.until_obeyed("press", "holding", "mute")
        await s.until_shown("idle")  # until the microphone reports that it is closed


async def test_the_longest_push_speaks_the_pairing_code(
    shelf: MakeShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firmware_app.device.button.HOLD", 0.05)
    monkeypatch.setattr("firmware_app.device.button.LONG_HOLD", 0.1)
    async with shelf() as s:
        s.hold()
        await s.until_obeyed("press", "holding", "pair")
        s.let_go()
        assert s.hardware.lights
        assert s.hardware.lights.look == "pairing"


async def test_status_says_what_there_is(shelf: MakeShelf) -> None:
    async with shelf() as s:
        assert s.hardware.status == {
            "board": "ReSpeaker 2-Mic HAT",
            "light": "3 LEDs",
            "button": "GPIO17",
        }


async def test_a_box_without_pins_goes_on_without_a_button(
    shelf: MakeShelf, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_contact(*args: object) -> None:
        raise DeviceError("gpio-missing", "This box has no GPIO pins.", "Choose another board.")

    monkeypatch.setattr("firmware_app.device.hardware.Contact", no_contact)
    async with shelf() as s:
        s.events.publish(StateChanged(State.LISTENING))
        await s.until_shown("listening")
        assert "no GPIO pins" in s.hardware.status["button"]
    assert "no button: This box has no GPIO pins" in caplog.text


async def test_no_board_has_no_light_and_no_button_and_lasts(shelf: MakeShelf) -> None:
    async with shelf("none") as s:
        assert s.hardware.status == {"board": "No board", "light": "none", "button": "none"}
        s.hardware.apply(FULL)
        assert s.hardware.lights is None
        assert not s.light.opened


async def test_a_board_that_is_plugged_in_later_is_taken_in(
    shelf: MakeShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firmware_app.device.hardware.LOOK_AGAIN", 0.02)
    async with shelf(plugged=False) as s:
        assert s.hardware.status["board"] == "No board"
        plug_in(s.box)
        await s.until_shown("boot")
        assert s.found == ["respeaker-2mic"]
        assert s.hardware.board.card == "seeed2micvoicec"
        assert s.mixer.levels["Speaker"] == s.hardware.board.mixer["Speaker"]
        s.events.publish(StateChanged(State.LISTENING))
        await s.until_shown("listening")


async def test_a_named_board_that_is_not_there_says_so_and_shows_what_it_can(
    shelf: MakeShelf,
) -> None:
    async with shelf("respeaker-2mic", plugged=False) as s:
        assert s.hardware.status["board"] == "ReSpeaker 2-Mic HAT (not found)"
        await s.until_shown("boot")  # the LEDs of a HAT need no sound driver


async def test_an_unknown_board_is_logged_and_none(
    shelf: MakeShelf, caplog: pytest.LogCaptureFixture
) -> None:
    async with shelf("respeaker-9mic") as s:
        assert s.hardware.status["board"] == "No board"
    assert "There is no board respeaker-9mic" in caplog.text


async def test_the_cards_levels_are_set_at_the_start(shelf: MakeShelf) -> None:
    """One that is not there is passed over."""
    async with shelf() as s:
        mixer = s.hardware.board.mixer
        assert s.mixer.levels == {
            "Speaker": mixer["Speaker"],
            "Capture": mixer["Capture"],
            "Loopback": 0,
        }


def test_a_board_that_is_not_there_has_no_levels_to_set() -> None:
    mixer = FakeMixer("Speaker")
    set_levels(boards()["respeaker-2mic"], mixer.control)
    assert mixer.levels == {"Speaker": 0}
