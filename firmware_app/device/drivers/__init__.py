"""How LEDs are reached: one driver a file, all behind one small contract."""

from typing import Protocol

from firmware_app.device.board import Light
from firmware_app.device.patterns import Colours


class Driver(Protocol):
    """Blocks, for some milliseconds at most; called by one thread at a time."""

    def show(self, colours: Colours) -> None:
        """One colour a LED. Raises DeviceError."""
        ...

    def close(self) -> None:
        """Let go of the device; the LEDs stay as they are. Never raises."""
        ...


def open_light(light: Light) -> Driver:
    """The driver of this light, opened. Raises DeviceError."""
    match light.kind:
        case "led" | "rgb":
            from firmware_app.device.gpio import Leds

            return Leds(light.pins)
        case "apa102":
            from firmware_app.device.drivers.apa102 import Apa102

            return Apa102(light)
        case "usb-mic-array-v2" | "xvf3800":
            from firmware_app.device.drivers.usb_array import UsbArray

            return UsbArray(light)
