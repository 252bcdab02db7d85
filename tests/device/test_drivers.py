"""What goes over the wires, byte for byte."""

import errno
import io

import pytest
from gpiozero.pins.mock import (  # type: ignore[import-untyped, unused-ignore]
    MockFactory,
    MockPWMPin,
)

from firmware_app.device.board import Light, boards
from firmware_app.device.drivers.apa102 import SPEED_HZ, Apa102, encoded
from firmware_app.device.drivers.terminal import Terminal
from firmware_app.device.drivers.usb_array import UsbArray
from firmware_app.device.gpio import Contact, Leds, Output
from firmware_app.errors import DeviceError
from tests.device.fakes import FakeSpi, FakeUsb

THREE = ((255, 0, 1), (2, 3, 4), (0, 0, 0))


def light(board: str) -> Light:
    found = boards()[board].light
    assert found
    return found


# --- APA102 on SPI


def test_an_apa102_frame_byte_for_byte() -> None:
    assert encoded(THREE) == bytes.fromhex(
        "00000000"  # start
        "ff0100ff"  # full, blue, green, red
        "ff040302"
        "ff000000"
        "00000000 00"  # latch, and half a clock a LED
    )
    assert len(encoded(((0, 0, 0),) * 12)) == 4 + 48 + 4 + 1


def test_a_hats_leds_are_written_to_its_chip_select() -> None:
    spi = FakeSpi()
    ring = Apa102(light("respeaker-2mic"), lambda: spi)
    ring.show(THREE)
    assert spi.opened == (0, 0)
    assert spi.max_speed_hz == SPEED_HZ
    assert spi.written == [encoded(THREE)]
    ring.close()
    assert spi.closed


@pytest.mark.parametrize(
    ("error", "code", "mend"),
    [
        (FileNotFoundError(2, "No such file or directory"), "spi-off", "raspi-config"),
        (PermissionError(13, "Permission denied"), "light-forbidden", "usermod -aG spi"),
        (OSError(5, "Input/output error"), "light-failed", "firmly"),
    ],
)
def test_spi_that_cannot_be_used_names_its_mend(error: OSError, code: str, mend: str) -> None:
    with pytest.raises(DeviceError) as refused:
        Apa102(light("respeaker-2mic"), lambda: FakeSpi(error))
    assert refused.value.code == code
    assert mend in refused.value.mend


# --- USB boards


def test_the_v2_array_takes_red_green_blue_and_a_zero() -> None:
    usb = FakeUsb()
    asked = []

    def find(vendor: int, product: int) -> FakeUsb:
        asked.append((vendor, product))
        return usb

    ring = UsbArray(light("usb-mic-array-v2"), find)
    ring.show(THREE)
    assert asked == [(0x2886, 0x0018)]
    assert usb.transfers == [
        (0x40, 0, 0x20, 0x1C, b"\x1f"),
        (0x40, 0, 6, 0x1C, bytes.fromhex("ff000100 02030400 00000000")),
    ]
    ring.close()


def test_the_xvf3800_takes_little_endian_words() -> None:
    usb = FakeUsb()
    UsbArray(light("xvf3800"), lambda vendor, product: usb).show(THREE)
    assert usb.transfers == [
        (0x40, 0, 12, 20, b"\x05"),
        (0x40, 0, 19, 20, bytes.fromhex("0100ff00 04030200 00000000")),
    ]


@pytest.mark.parametrize(
    ("number", "code", "mend"),
    [
        (errno.EACCES, "light-forbidden", "udev"),
        (errno.EPIPE, "light-refused", "firmware"),
        (errno.ENODEV, "light-failed", "plug it in again"),
        (errno.ETIMEDOUT, "light-failed", "plug it in again"),
    ],
)
def test_a_usb_board_that_refuses_names_its_mend(number: int, code: str, mend: str) -> None:
    with pytest.raises(DeviceError) as refused:
        UsbArray(light("xvf3800"), lambda vendor, product: FakeUsb(number))
    assert refused.value.code == code
    assert mend in refused.value.mend


def test_a_usb_board_that_is_not_there_is_an_error() -> None:
    with pytest.raises(DeviceError) as refused:
        UsbArray(light("xvf3800"), lambda vendor, product: None)
    assert refused.value.code == "light-missing"


# --- pins


def test_one_led_shows_brightness_and_three_show_colour() -> None:
    factory = MockFactory(pin_class=MockPWMPin)
    one = Leds((18,), factory)
    one.show(((51, 0, 255),))
    assert factory.pin(18).state == pytest.approx(1.0)
    three = Leds((22, 23, 24), factory)
    three.show(((51, 0, 255),))
    assert [factory.pin(pin).state for pin in (22, 23, 24)] == pytest.approx([0.2, 0, 1])
    one.close()
    three.close()


def test_a_power_pin_is_high_until_it_is_let_go() -> None:
    factory = MockFactory()
    power = Output(5, factory)
    assert factory.pin(5).state == 1
    power.close()
    power.close()


def test_a_contact_tells_each_edge() -> None:
    factory = MockFactory()
    told: list[bool] = []
    contact = Contact(17, told.append, factory)
    pin = factory.pin(17)
    pin.drive_low()
    pin.drive_high()
    assert told == [True, False]
    contact.close()


def test_a_pin_that_is_taken_is_an_error() -> None:
    factory = MockFactory()
    held = Output(5, factory)
    with pytest.raises(DeviceError) as refused:
        Output(5, factory)
    assert refused.value.code == "gpio-failed"
    held.close()


def test_a_box_without_pins_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpiozero import (  # type: ignore[import-untyped, unused-ignore]
        BadPinFactory,
        Device,
    )

    def none_at_all() -> None:
        raise BadPinFactory("Unable to load any default pin factory!")

    monkeypatch.setattr(Device, "pin_factory", None)
    monkeypatch.setattr(Device, "_default_pin_factory", staticmethod(none_at_all))
    with pytest.raises(DeviceError) as refused:
        Contact(17, lambda pressed: None)
    assert refused.value.code == "gpio-missing"


# --- the terminal


def test_the_terminals_light_leaves_the_cursor_where_it_was() -> None:
    out = io.StringIO()
    Terminal(out).show(((255, 0, 0), (0, 0, 0)))
    drawn = out.getvalue()
    assert drawn.startswith("\x1b7")
    assert drawn.endswith("\x1b8")
    assert "\x1b[38;2;255;0;0m" in drawn
    assert drawn.count("\N{BLACK CIRCLE}") == 2
