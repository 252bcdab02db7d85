"""APA102 LEDs in a chain on SPI, as on the ReSpeaker HATs.

A frame (datasheet of the APA102): 32 zero bits; for each LED 0xE0 with five bits of brightness,
then blue, green, red; and clock edges for the last LEDs, half a bit a LED. The brightness bits
stay at their most, because they dim by a slow pulse that can be seen; colours are dimmed instead.
"""

from collections.abc import Callable
from typing import Protocol

from firmware_app.device.board import Light
from firmware_app.device.gpio import Output
from firmware_app.device.patterns import Colours
from firmware_app.errors import DeviceError

SPEED_HZ = 1_000_000  # twelve LEDs take half a millisecond
FULL = 0xE0 | 31


class Spi(Protocol):
    """The part of spidev.SpiDev that is used."""

    max_speed_hz: int

    def open(self, bus: int, device: int) -> None: ...
    def writebytes2(self, data: bytes) -> None: ...
    def close(self) -> None: ...


def encoded(colours: Colours) -> bytes:
    """The frame for these colours."""
    lit = b"".join(bytes((FULL, blue, green, red)) for red, green, blue in colours)
    return bytes(4) + lit + bytes(4 + (len(colours) + 15) // 16)


class Apa102:
    """Raises DeviceError where SPI is switched off, forbidden or fails."""

    def __init__(self, light: Light, make: Callable[[], Spi] | None = None) -> None:
        bus, chip = light.spi or (0, 0)
        self._device = f"/dev/spidev{bus}.{chip}"
        self._power = Output(light.power_pin) if light.power_pin is not None else None
        try:
            self._spi = make() if make else _spi()
            self._spi.open(bus, chip)
            self._spi.max_speed_hz = SPEED_HZ
        except OSError as error:
            self._let_go_of_power()
            raise self._fault(error) from error
        except DeviceError:
            self._let_go_of_power()
            raise

    def show(self, colours: Colours) -> None:
        try:
            self._spi.writebytes2(encoded(colours))
        except OSError as error:
            raise self._fault(error) from error

    def close(self) -> None:
        self._spi.close()
        self._let_go_of_power()

    def _let_go_of_power(self) -> None:
        if self._power:
            self._power.close()

    def _fault(self, error: OSError) -> DeviceError:
        if isinstance(error, FileNotFoundError):
            return DeviceError(
                "spi-off",
                f"The light needs {self._device}, which is not there.",
                "Switch SPI on with `sudo raspi-config nonint do_spi 0` (it writes dtparam=spi=on "
                "to /boot/firmware/config.txt), then restart the box.",
            )
        if isinstance(error, PermissionError):
            return DeviceError(
                "light-forbidden",
                f"The light's {self._device} may not be used by this user.",
                "Run sudo ./scripts/install, whose udev rule gives it to the group spi, then "
                "restart; for a user of your own: sudo usermod -aG spi $USER, then log in again.",
            )
        return DeviceError(
            "light-failed",
            f"The light at {self._device} failed ({error.strerror or error}).",
            "Check that the HAT sits firmly on all its pins.",
        )


def _spi() -> Spi:
    try:
        import spidev  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        raise DeviceError(
            "light-package", "The package spidev is not installed.", "Run ./scripts/setup."
        ) from error
    made: Spi = spidev.SpiDev()
    return made
