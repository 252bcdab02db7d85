"""The board at work: its light and its button, from the start of the service to its end."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from firmware_app.device.board import NONE, Board, chosen
from firmware_app.device.button import Button, Gesture
from firmware_app.device.drivers import Driver, open_light
from firmware_app.device.gpio import Contact
from firmware_app.device.lights import Lights
from firmware_app.device.mixer import Control, set_levels
from firmware_app.device.patterns import Shape
from firmware_app.errors import DeviceError, SettingsError
from firmware_app.events import Events
from firmware_app.settings import LightSettings

log = logging.getLogger(__name__)

PAIRING_SECONDS = 20.0  # for which the light says that the code is spoken
LOOK_AGAIN = 5.0  # seconds between looks for a board that is not there
SHORT = 1.0  # seconds for which the light answers a press that changes nothing else


class Gestures(Protocol):
    """What the button does. None of these blocks or raises."""

    def press(self) -> None:
        """Listen without the wake word, or stop what is said or rung."""
        ...

    def dont_save(self) -> None:
        """Do not save this conversation."""
        ...

    def holding_to_mute(self) -> None:
        """Held for 2 s: cancel the listening that the press began."""
        ...

    def toggle_mute(self) -> None:
        """Let go between 2 and 6 s: mute, or unmute."""
        ...

    def speak_pairing_code(self) -> None:
        """Held for 6 s."""
        ...


class Hardware:
    """The board that there is. `run` it as long as Echo lives; `status` tells how its parts are.

    name: as in the setting device.board. on_board: called when a board was found only later, as
    one on USB that was plugged in. control: opens a mixer's control, by the card's id and its name.
    root, open_driver, factory: for tests, in place of the real box, LEDs and pins.
    """

    def __init__(
        self,
        name: str,
        events: Events,
        settings: LightSettings,
        gestures: Gestures,
        on_board: Callable[[], None],
        control: Callable[[str, str], Control],
        *,
        root: Path = Path("/"),
        open_driver: Callable[[], Driver] | None = None,
        factory: Any = None,  # noqa: ANN401 - gpiozero has no types
    ) -> None:
        self._name = name
        self._events = events
        self._settings = settings
        self._gestures = gestures
        self._on_board = on_board
        self._control = control
        self._root = root
        self._open_driver = open_driver
        self._factory = factory
        self._button_fault: DeviceError | None = None
        self.lights: Lights | None = None
        try:
            self.board = chosen(name, root)
        except SettingsError as error:
            log.error("no board: %s", error)
            self._name = NONE
            self.board = chosen(NONE, root)

    async def run(self) -> None:
        """Show and obey until cancelled; a board that appears meanwhile is taken in."""
        while True:
            at_work = asyncio.create_task(self._work())
            appeared = asyncio.create_task(self._appeared())
            try:
                await asyncio.wait([at_work, appeared], return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (at_work, appeared):
                    task.cancel()
                await asyncio.wait([at_work, appeared])
            if not at_work.cancelled():  # a fault of the program must not cost the voice
                log.error("the light failed, and begins anew", exc_info=at_work.exception())
                await asyncio.sleep(LOOK_AGAIN)
                continue
            self.board = appeared.result()
            log.info("found the board %s", self.board.title)
            self._on_board()

    def apply(self, settings: LightSettings) -> None:
        self._settings = settings
        if self.lights:
            self.lights.apply(settings)

    @property
    def faults(self) -> dict[str, DeviceError]:
        """Why the light or the button does not work, where one does not."""
        found = {"light": self.lights and self.lights.fault, "button": self._button_fault}
        return {part: fault for part, fault in found.items() if fault}

    @property
    def status(self) -> dict[str, str]:
        """For `hey-echo status` and doctor: the board, its light and its button, in words."""
        light, button, faults = self.board.light, self.board.button, self.faults
        lit = pressed = "none"
        if light:
            lit = str(faults.get("light", f"{light.leds} LEDs" if light.leds > 1 else "one LED"))
        if button:
            pressed = str(faults.get("button", f"GPIO{button.pin}"))
        found = bool(self.board.card) or self.board.name == NONE
        title = self.board.title if found else f"{self.board.title} (not found)"
        return {"board": title, "light": lit, "button": pressed}

    async def _appeared(self) -> Board:
        """Wait for a board that was not there; for ever where one is, or none is wanted."""
        while not self.board.card and self._name != NONE:
            await asyncio.sleep(LOOK_AGAIN)
            board = await asyncio.to_thread(chosen, self._name, self._root)
            if board.card:
                return board
        never: asyncio.Future[Board] = asyncio.get_running_loop().create_future()
        return await never

    async def _work(self) -> None:
        """The light and the button of this board."""
        loop = asyncio.get_running_loop()
        await asyncio.to_thread(set_levels, self.board, self._control)
        button = Button(self._obey, loop.call_later, loop.time)
        contact = self._open_button(button, loop)
        try:
            if light := self.board.light:
                shape = Shape(light.leds, light.ring, light.coloured)
                driver = self._open_driver or (lambda: open_light(light))
                self.lights = Lights(driver, shape, self._events, self._settings)
                await self.lights.run()
            else:
                await loop.create_future()
        finally:
            self.lights = None
            button.close()
            if contact:
                contact.close()

    def _open_button(self, button: Button, loop: asyncio.AbstractEventLoop) -> Contact | None:
        self._button_fault = None
        if self.board.button is None:
            return None

        def on_change(pressed: bool) -> None:  # by a thread of gpiozero's
            loop.call_soon_threadsafe(button.edge, pressed)

        try:
            return Contact(self.board.button.pin, on_change, self._factory)
        except DeviceError as error:
            self._button_fault = error
            log.warning("no button: %s", error)
            return None

    def _obey(self, gesture: Gesture) -> None:
        """The light answers first: it must not wait for what the gesture sets going."""
        gestures, lights = self._gestures, self.lights
        match gesture:
            case Gesture.PRESS:
                gestures.press()
            case Gesture.DONT_SAVE:
                if lights:
                    lights.show("not this one", SHORT)
                gestures.dont_save()
            case Gesture.HOLDING:
                if lights:
                    lights.show("holding")
                gestures.holding_to_mute()
            case Gesture.MUTE:
                if lights:
                    lights.show_state()
                gestures.toggle_mute()
            case Gesture.PAIR:
                if lights:
                    lights.show("pairing", PAIRING_SECONDS)
                gestures.speak_pairing_code()
