"""Pins: plain LEDs, a power switch, a button. The one place that knows gpiozero."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

from firmware_app.device.patterns import Colours
from firmware_app.errors import DeviceError


class Leds:
    """One LED, or one of three colours. Raises DeviceError where the pins cannot be used.

    factory: gpiozero's way to the pins; None takes the box's own.
    """

    def __init__(self, pins: Sequence[int], factory: Any = None) -> None:  # noqa: ANN401
        self._one = len(pins) == 1
        if self._one:
            self._led = _made("PWMLED", pins[0], pin_factory=factory)
        else:
            self._led = _made("RGBLED", *pins, pin_factory=factory)

    def show(self, colours: Colours) -> None:
        red, green, blue = (part / 255 for part in colours[0])
        try:
            self._led.value = max(red, green, blue) if self._one else (red, green, blue)
        except Exception as error:  # the back ends raise errors of their own
            raise _failed(error) from error

    def close(self) -> None:
        _close(self._led)


class Output:
    """A pin that is held high until closed. Raises DeviceError."""

    def __init__(self, pin: int, factory: Any = None) -> None:  # noqa: ANN401
        self._pin = _made("DigitalOutputDevice", pin, initial_value=True, pin_factory=factory)

    def close(self) -> None:
        _close(self._pin)


class Contact:
    """A button between a pin and ground. Raises DeviceError.

    on_change: told each edge, True for pressed, bounces and all, by a thread of gpiozero's.
    """

    def __init__(
        self,
        pin: int,
        on_change: Callable[[bool], None],
        factory: Any = None,  # noqa: ANN401
    ) -> None:
        self._button = _made("Button", pin, pin_factory=factory)
        self._button.when_pressed = lambda: on_change(True)
        self._button.when_released = lambda: on_change(False)

    def close(self) -> None:
        _close(self._button)


def _made(kind: str, *pins: int, **options: Any) -> Any:  # noqa: ANN401 - gpiozero has no types
    gpiozero = _gpiozero()
    try:
        with warnings.catch_warnings():  # of each back end that is not there
            warnings.simplefilter("ignore")
            return getattr(gpiozero, kind)(*pins, **options)
    except gpiozero.BadPinFactory as error:
        raise DeviceError(
            "gpio-missing",
            "This box has no GPIO pins that can be reached.",
            "On a Raspberry Pi install their library: sudo apt install python3-lgpio; elsewhere "
            "choose a board without pins with device.board.",
        ) from error
    except PermissionError as error:
        raise _forbidden() from error
    except Exception as error:  # the back ends raise errors of their own
        raise _failed(error) from error


def _gpiozero() -> ModuleType:
    try:
        import gpiozero  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        raise DeviceError(
            "gpio-missing", "The package gpiozero is not installed.", "Run ./scripts/setup."
        ) from error
    module: ModuleType = gpiozero
    return module


def _failed(error: Exception) -> DeviceError:
    if "ermission" in str(error) or "not allowed" in str(error):
        return _forbidden()
    return DeviceError(
        "gpio-failed",
        f"A GPIO pin cannot be used ({type(error).__name__}: {error}).",
        "End the program that uses it (`gpioinfo`, of the package gpiod, names it), check "
        "device.board, then restart Echo.",
    )


def _forbidden() -> DeviceError:
    return DeviceError(
        "gpio-forbidden",
        "The GPIO pins may not be used by this user.",
        "Run sudo ./scripts/install, whose udev rule gives them to the group gpio, then restart; "
        "for a user of your own: sudo usermod -aG gpio $USER, then log in again.",
    )


def _close(device: Any) -> None:  # noqa: ANN401
    with suppress(Exception):  # a back end that failed has nothing to let go of
        device.close()
