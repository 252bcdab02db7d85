"""The LED rings of USB microphone arrays, by vendor control transfers.

Both listen on control endpoint 0: request 0, wValue the command, wIndex the part that takes it.
Mic Array v2: the LED control protocol in the wiki of github.com/respeaker/pixel_ring. XVF3800:
python_control/xvf_host.py of github.com/respeaker/reSpeaker_XVF3800_USB_4MIC_ARRAY.
"""

import errno
import itertools
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from firmware_app.device.board import Light
from firmware_app.device.patterns import Colours
from firmware_app.errors import DeviceError

TO_VENDOR = 0x40  # host to device, vendor's own, for the device
TIMEOUT_MS = 500

V2_LEDS = 0x1C
V2_CUSTOM = 6  # red, green, blue, 0 for each LED
V2_BRIGHTNESS, V2_MOST = 0x20, 0x1F

XVF_GPO = 20
XVF_EFFECT, XVF_RING = 12, 5  # the effect that shows XVF_RING_COLOURS
XVF_RING_COLOURS = 19  # 0xRRGGBB as a little-endian word for each LED

Transfer: TypeAlias = tuple[int, int, bytes]  # wValue, wIndex, data


class Usb(Protocol):
    """The part of usb.core.Device that is used."""

    def ctrl_transfer(
        self,
        bmRequestType: int,  # noqa: N803
        bRequest: int,  # noqa: N803
        wValue: int,  # noqa: N803
        wIndex: int,  # noqa: N803
        data_or_wLength: bytes,  # noqa: N803
        timeout: int,
    ) -> int: ...


def opening(kind: str) -> list[Transfer]:
    """What makes the ring show colours of ours."""
    if kind == "xvf3800":
        return [(XVF_EFFECT, XVF_GPO, bytes((XVF_RING,)))]
    return [(V2_BRIGHTNESS, V2_LEDS, bytes((V2_MOST,)))]


def encoded(kind: str, colours: Colours) -> Transfer:
    """What shows these colours."""
    if kind == "xvf3800":
        words = itertools.chain.from_iterable((b, g, r, 0) for r, g, b in colours)
        return XVF_RING_COLOURS, XVF_GPO, bytes(words)
    return V2_CUSTOM, V2_LEDS, bytes(itertools.chain.from_iterable((*c, 0) for c in colours))


class UsbArray:
    """Raises DeviceError where the board is gone, forbidden, or refuses."""

    def __init__(self, light: Light, find: Callable[[int, int], Usb | None] | None = None) -> None:
        self._kind = light.kind
        self._id = light.usb
        vendor, product = (int(part, 16) for part in light.usb.split(":"))
        device = (find or _find)(vendor, product)
        if device is None:
            raise DeviceError(
                "light-missing",
                f"The USB board {self._id} with the light is not plugged in.",
                "Plug it in; try another socket or cable.",
            )
        self._usb = device
        for transfer in opening(self._kind):
            self._send(transfer)

    def show(self, colours: Colours) -> None:
        self._send(encoded(self._kind, colours))

    def close(self) -> None:
        _let_go(self._usb)

    def _send(self, transfer: Transfer) -> None:
        command, part, data = transfer
        try:
            self._usb.ctrl_transfer(TO_VENDOR, 0, command, part, data, TIMEOUT_MS)
        except OSError as error:  # which pyusb's USBError is
            raise self._fault(error) from error

    def _fault(self, error: OSError) -> DeviceError:
        if error.errno in (errno.EACCES, errno.EPERM):
            return DeviceError(
                "light-forbidden",
                f"The light of the USB board {self._id} may not be controlled by this user.",
                "Run sudo ./scripts/install, whose udev rule allows it, then plug the board in "
                "again.",
            )
        if error.errno == errno.EPIPE:
            return DeviceError(
                "light-refused",
                f"The USB board {self._id} does not know the command for its light.",
                "Update the board's firmware; docs/hardware names the one that is needed.",
            )
        return DeviceError(
            "light-failed",
            f"The light of the USB board {self._id} failed ({error.strerror or error}).",
            "Unplug the board and plug it in again; try another socket or cable.",
        )


def _find(vendor: int, product: int) -> Usb | None:
    try:
        import usb.core  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        raise DeviceError(
            "light-package", "The package pyusb is not installed.", "Run ./scripts/setup."
        ) from error
    try:
        found: Usb | None = usb.core.find(idVendor=vendor, idProduct=product)
    except usb.core.NoBackendError as error:
        raise DeviceError(
            "light-package",
            "The library libusb, which reaches the board's light, is not installed.",
            "Install it: sudo apt install libusb-1.0-0",
        ) from error
    return found


def _let_go(device: Any) -> None:  # noqa: ANN401 - pyusb has no types
    try:
        import usb.util  # type: ignore[import-not-found, import-untyped, unused-ignore]

        usb.util.dispose_resources(device)
    except Exception:  # noqa: S110 - a board that is gone has nothing to let go of
        pass
